from __future__ import annotations

import json
import sys
from functools import partial

import pytest

SMALL = ["--sentences", "30", "--vocabulary", "200", "--dimension", "6", "--rounds", "1", "--gran-sentences", "4"]


@pytest.fixture
def bench(run_script, monkeypatch):
    monkeypatch.setenv("TOKENIZERS_PARALLELISM", "false")
    return partial(run_script, "benchmarks/encode")


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text"
    path.write_text("A cat sat.\n\nIt isn't a dog\n", encoding="utf-8")
    return path


def test_the_last_line_is_a_json_object_of_ratios_and_absent_peers_are_named(bench, text, monkeypatch, capsys):
    monkeypatch.setitem(sys.modules, "model2vec", None)
    monkeypatch.setitem(sys.modules, "sentence_transformers", None)
    assert bench("--text", text, *SMALL) == 0
    lines = capsys.readouterr().out.splitlines()
    ratios = json.loads(lines[-1])
    assert list(ratios) == ["gran_encode_vs_bare_lstm"] and ratios["gran_encode_vs_bare_lstm"] >= 0
    assert any("model2vec is left out" in line for line in lines)
    assert any("sentence-transformers is left out" in line for line in lines)
    assert "30 sentences of 4.5 tokens (100.00% known), 200 x 6 vectors" in lines[0]


def test_installed_peers_give_equal_vectors_and_a_ratio_each(bench, text, capsys):
    pytest.importorskip("model2vec")
    pytest.importorskip("sentence_transformers")
    assert bench("--text", text, *SMALL, "--gran-sentences", "0") == 0
    output = capsys.readouterr().out
    assert set(json.loads(output.splitlines()[-1])) == {
        "avg_encode_vs_model2vec",
        "avg_encode_vs_sentence_transformers",
    }
    assert "all vectors of 30 sentences" in output


def test_each_kind_of_tokenizer_and_calls_of_few_sentences_have_ratios_of_their_own(bench, text, capsys):
    pytest.importorskip("model2vec")
    words = ["--text", text, *SMALL, "--vocabulary", "400", "--gran-sentences", "0", "--peers", "model2vec"]
    assert bench(*words, "--tokenizers", "words", "byte-level") == 0
    output = capsys.readouterr().out
    kinds = ["", "_byte_level"]
    calls = ["", "_calls_of_1", "_calls_of_10", "_calls_of_100"]
    expected = [f"avg_encode_vs_model2vec{kind}{call}" for kind in kinds for call in calls]
    assert list(json.loads(output.splitlines()[-1])) == expected
    assert output.count("all vectors of 30 sentences") == len(kinds)


@pytest.mark.parametrize("words", [["--rounds", "0"], ["--vocabulary", "2"], ["--text", "absent.txt"]])
def test_bad_arguments_are_one_line(bench, capsys, words):
    assert bench(*words) == 2
    assert len(capsys.readouterr().err.splitlines()) == 1


@pytest.mark.parametrize("kind", ["words", "word-level", "wordpiece", "byte-level", "unigram"])
def test_tokenizers_of_all_kinds_are_learnt_and_looked_up_run_by_run(load_script, kind):
    from hf_paraphrase.tokenization.token_lookup import lookup_for

    sentences = ["A cat sat.", "It isn't a dog", "cats and dogs"] * 9
    tokenizer = load_script("benchmarks/encode").learnt_tokenizer(kind, sentences, 400)
    found = lookup_for(tokenizer.backend_tokenizer)(sentences)
    assert tokenizer.unk_token_id not in found.ids
    assert found.ids.tolist() == [number for text in sentences for number in tokenizer(text)["input_ids"]]
