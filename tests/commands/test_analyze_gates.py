from __future__ import annotations

import dataclasses
import json
import re

import pytest
import torch

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError, ModelError, UsageError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.studies.gates.gate_report import measure_gates
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat", "."]
SENTENCES = [
    "The cat sat on the mat.",
    "A dog ran.",
    "the dog sat on a mat",
    "a cat ran $1 $2",
    "The cat sat on the mat.",
]


def run(*words):
    return main([str(word) for word in words])


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("gates")
    tokenizer = build_word_level_tokenizer(WORDS)
    size = {"vocab_size": len(tokenizer), "hidden_size": 4}
    torch.manual_seed(0)
    models = {
        "gran": GranModel(GranConfig(**size, initializer_range=0.5)),
        "both": GranModel(GranConfig(**size, cell="gru", bidirectional=True, initializer_range=0.5)),
        "avg": AvgModel(AvgConfig(**size)),
    }
    for name, model in models.items():
        model.save_pretrained(root / name)
        save_tokenizer(tokenizer, root / name)
    (root / "text.txt").write_text("\n".join(SENTENCES) + "\n")
    (root / "tagged.txt").write_text("the/DT cat/NN sat/VBD on/IN a/DT mat/NN\na/DT dog/NN ran/VBD to/TO it/PRP\n")
    (root / "tags.txt").write_text(
        "DT NN VBD IN DT NN\nDT NN VBD\nDT NN VBD IN DT NN\nDT NN VBD CD CD\nDT NN VBD IN DT NN\n"
    )
    return root


def test_tagged_text_gives_tables_pictures_and_a_comparison(folder, tmp_path, capsys):
    output = tmp_path / "report"
    words = ["--tagged", folder / "tagged.txt", "--output", output, "--min-count", 1, "--bootstrap", 10]
    assert run("analyze", "gates", "--model", folder / "gran", *words) == 0
    out, err = capsys.readouterr()
    assert out == "" and "part of speech: highest" in err
    report = (output / "README.md").read_text()
    assert (output / "report.html").read_text().count('<img src="data:') == report.count("![")
    assert "By part of speech" in report and "of all pairs" in report.lower() and "in 2 distinct sentences" in report
    for path in ("tag", "kinds", "words", "positions", "sentence_1", "sentence_2"):
        assert (output / "plots" / f"{path}.png").read_bytes().startswith(b"\x89PNG")
        assert f"plots/{path}.png" in report
    rows = (output / "tables/tag.tsv").read_text().splitlines()
    assert rows[0] == "name\twords\tgate\tlow\thigh" and len(rows) == 1 + 6
    numbers = json.loads((output / "gates.json").read_text())
    assert numbers["words"] == 11 and numbers["paper"]["tag"]["high"] == 1 and numbers["paper"]["tag"]["low"] == 4
    record = json.loads((output / "provenance.json").read_text())
    assert [item["name"] for item in record["inputs"]] == ["gran", "tagged.txt"] and "tables" not in record["results"]


@pytest.mark.usefixtures("plots_undrawn")
def test_a_tagger_gives_plain_text_its_parts_of_speech(folder, tmp_path, capsys):
    pytest.importorskip("denckring_en_pos")
    output = tmp_path / "report"
    words = ["--model", folder / "gran", "--text", folder / "text.txt", "--min-count", 1, "--bootstrap", 5]
    assert run("analyze", "gates", *words, "--tagger", "--output", output) == 0
    assert "part of speech: highest" in capsys.readouterr().err
    rows = [line.split("\t") for line in (output / "tables/tag.tsv").read_text().splitlines()[1:]]
    found = {name: int(count) for name, count, *_ in rows}
    assert found["DET"] == 6 and found["PUNCT"] == 4 and found["ADP"] == 2 and found["VERB"] == 4
    for more in (["--tagged", folder / "tagged.txt"], ["--text", folder / "text.txt", "--tags", folder / "tags.txt"]):
        words = ["--model", folder / "gran", *more, "--tagger", "--output", tmp_path / "out"]
        assert run("analyze", "gates", *words) == 2
        assert re.search("--tagger and --tag(s|ged) exclude each other", capsys.readouterr().err)


@pytest.mark.usefixtures("plots_undrawn")
def test_plain_text_gives_kinds_of_words_and_each_distinct_sentence_counts_once(folder, tmp_path, capsys):
    output = tmp_path / "report"
    words = ["--text", folder / "text.txt", "--output", output, "--min-count", 2, "--bootstrap", 5]
    assert run("analyze", "gates", "--model", folder / "both", *words) == 0
    report = (output / "README.md").read_text()
    assert "By kind of word" in report and "By part of speech" not in report and "in 4 distinct sentences" in report
    assert "in both directions" in report and "kinds of words: highest" in capsys.readouterr().err
    # A dollar sign is a letter like any other in a picture.
    assert "$1 $2" in report and (output / "plots/sentence_3.png").is_file()


@pytest.mark.usefixtures("plots_undrawn")
def test_chosen_sentences_are_drawn_and_tags_can_lie_in_a_file_of_their_own(folder, tmp_path):
    (tmp_path / "text.txt").write_text((folder / "text.txt").read_text().replace(".", ""))
    words = ["--text", tmp_path / "text.txt", "--tags", folder / "tags.txt", "--output", tmp_path / "report"]
    words += ["--sentences", "a mat ran on the cat", "dog", "--min-count", 1, "--bootstrap", 5]
    assert run("analyze", "gates", "--model", folder / "gran", *words) == 0
    names = {path.name for path in (tmp_path / "report/plots").iterdir()}
    assert {"sentence_1.png", "sentence_2.png", "tag.png"} <= names and "sentence_3.png" not in names
    assert "a mat ran on the cat" in (tmp_path / "report/README.md").read_text()


@pytest.mark.usefixtures("plots_undrawn")
@pytest.mark.parametrize("tagged", [False, True])
def test_the_function_finds_what_the_verb_writes(folder, tmp_path, tagged):
    lines = (folder / "text.txt").read_text().replace(".", "").splitlines()
    (tmp_path / "text.txt").write_text("\n".join(lines))
    words = ["--text", tmp_path / "text.txt", "--output", tmp_path / "report", "--min-count", 1, "--bootstrap", 5]
    words += ["--tags", folder / "tags.txt"] if tagged else []
    assert run("analyze", "gates", "--model", folder / "gran", *words) == 0
    tags = [line.split() for line in (folder / "tags.txt").read_text().splitlines()]
    encoder = SentenceEncoder.from_pretrained(folder / "gran")
    found = measure_gates(encoder, lines, tags if tagged else None, min_count=1, replicates=5)
    numbers = json.loads((tmp_path / "report/gates.json").read_text())
    assert {name: [dataclasses.asdict(item) for item in groups] for name, groups in found.tables.items()} == numbers[
        "tables"
    ]
    assert ("tag" in found.tables) == tagged and numbers["words"] == len(found.words)
    assert numbers["mean_gate"] == found.report.mean and numbers["sentences"] == len(found.sentences) == 4


def test_the_function_refuses_tags_that_do_not_fit(folder):
    encoder = SentenceEncoder.from_pretrained(folder / "gran")
    with pytest.raises(UsageError, match="1 lists of tags for 2 texts"):
        measure_gates(encoder, ["a cat", "a dog"], [["DT", "NN"]])
    with pytest.raises(UsageError, match="1 tags for the 2 words of text 0"):
        measure_gates(encoder, ["a cat"], [["DT"]])
    with pytest.raises(InputError, match="the model knows no word of the text"):
        measure_gates(encoder, ["kissa istui"], known_only=True)
    with pytest.raises(ModelError, match="`avg` has no gates"):
        measure_gates(SentenceEncoder.from_pretrained(folder / "avg"), ["a cat"])


@pytest.mark.usefixtures("plots_undrawn")
def test_a_picture_that_has_not_all_words_of_its_sentence_says_so(folder, tmp_path):
    words = [
        "--text",
        folder / "text.txt",
        "--sentences",
        "a cat " * 23,
        "a dog " * 20,
        "--output",
        tmp_path / "report",
    ]
    assert run("analyze", "gates", "--model", folder / "gran", *words, "--bootstrap", 5) == 0
    report = (tmp_path / "report/README.md").read_text()
    assert report.count("(the picture has the first 40 of its 46 words)") == report.count("the picture has") == 1


def test_the_same_command_gives_the_same_bytes(folder, tmp_path):
    for name in ("one", "two"):
        words = ["--text", folder / "text.txt", "--output", tmp_path / name, "--min-count", 1, "--bootstrap", 5]
        words += ["--pictures", 1]
        assert run("analyze", "gates", "--model", folder / "gran", *words) == 0
    for path in (tmp_path / "one").rglob("*.*"):
        if path.is_file() and path.name != "provenance.json":
            assert path.read_bytes() == (tmp_path / "two" / path.relative_to(tmp_path / "one")).read_bytes(), path


@pytest.mark.usefixtures("plots_undrawn")
def test_a_language_that_the_model_does_not_know_is_said(folder, tmp_path, capsys):
    (tmp_path / "fi.txt").write_text("kissa istui\nkoira juoksi\n")
    words = ["--model", folder / "gran", "--text", tmp_path / "fi.txt", "--output", tmp_path / "report"]
    assert run("analyze", "gates", *words, "--bootstrap", 5) == 0
    assert "the model knows none of these words" in capsys.readouterr().err
    assert "100.0 % of the words are unknown" in (tmp_path / "report/README.md").read_text()
    assert run("analyze", "gates", *words[:-1], tmp_path / "other", "--known-only") == 2
    assert "the model knows no word of the text" in capsys.readouterr().err and not (tmp_path / "other").exists()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--model", "avg", "--text", "text.txt"], "a model of type `avg` has no gates"),
        (["--model", "absent", "--text", "text.txt"], "no such model folder"),
        (["--model", "gran"], "give either --text or --tagged"),
        (["--model", "gran", "--text", "text.txt", "--tagged", "tagged.txt"], "give either --text or --tagged"),
        (["--model", "gran", "--tagged", "tagged.txt", "--tags", "tags.txt"], "--tags belongs to one file of --text"),
        (["--model", "gran", "--text", "absent.txt"], "no such file"),
        (["--model", "gran", "--text", "empty.txt"], "the file is empty"),
        (["--model", "gran", "--text", "blank.txt"], "there are no words in it"),
        (["--model", "gran", "--tagged", "text.txt"], "neither words nor tags"),
        (["--model", "gran", "--text", "text.txt", "--tags", "tagged.txt"], "lines, but"),
        (["--model", "gran", "--text", "text.txt", "--min-count", "0"], "--min-count must be at least 1, not 0"),
        (["--model", "gran", "--text", "text.txt", "--bootstrap", "1"], "--bootstrap must be at least 2, not 1"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind(folder, tmp_path, monkeypatch, capsys, words, expected):
    monkeypatch.chdir(folder)
    (folder / "empty.txt").write_text("")
    (folder / "blank.txt").write_text("\n \n")
    assert run("analyze", "gates", *words, "--output", tmp_path / "report") == 2
    error = [line for line in capsys.readouterr().err.splitlines() if "error" in line]
    assert len(error) == 1 and expected in error[0] and list(tmp_path.iterdir()) == []
