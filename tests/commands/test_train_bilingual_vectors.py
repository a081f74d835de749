from __future__ import annotations

import json

import numpy as np
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.evaluation.translation_retrieval import translation_retrieval

TINY = ["--dimension", "12", "--epochs", "4", "--subsampling", "0", "--aligned-weight", "10", "--batch-size", "16"]
TINY += ["--learning-rate", "0.02"]


def run(*words):
    return main(["train-bilingual-vectors", *map(str, words)])


@pytest.fixture(scope="module")
def bitext(tmp_path_factory, write_bitext, number_pairs):
    folder = tmp_path_factory.mktemp("bilingual") / "numbers"
    return write_bitext(folder, train=number_pairs(200, 100), validation=number_pairs(16, 20))


def test_the_output_holds_two_encoders_in_one_space_with_the_retrieval_that_its_card_names(bitext, tmp_path, capsys):
    folder = tmp_path / "vectors"
    assert run("--bitext", bitext, "--output", folder, *TINY) == 0
    out, err = capsys.readouterr()
    assert out == "" and "% of the translations among 16" in err
    encoders = [SentenceEncoder.from_pretrained(folder / side) for side in ("source", "target")]
    assert encoders[0].dimension == 12
    near = encoders[0].similarity(["trois"], ["trois"])
    assert near[0, 0] == pytest.approx(1.0)
    vectors = [
        encoder.encode(texts, normalize=True)
        for encoder, texts in zip(encoders, (["un", "trois", "huit"], ["one", "three", "eight"]), strict=True)
    ]
    assert (vectors[0] @ vectors[1].T).argmax(1).tolist() == [0, 1, 2]
    table = DataFolder(bitext).table("validation")
    texts = [table[side].to_pylist() for side in ("source", "target")]
    found = translation_retrieval(
        *texts, *(encoder.encode(side) for encoder, side in zip(encoders, texts, strict=True))
    )
    results = json.loads((folder / "provenance.json").read_text())["results"]
    assert results["retrieval"]["mean"] == pytest.approx(found.mean) and results["pairs"] == 200
    for place, languages in (("", "- fr\n- en\n"), ("source", "- fr\n"), ("target", "- en\n")):
        card = (folder / place / "README.md").read_text()
        assert card.startswith(f"---\nlanguage:\n{languages}library_name") and f"{found.mean:.2f}" in card
    assert not {"checkpoints", "job.json"} & {path.name for path in folder.iterdir()}


def test_a_sentence_vector_is_the_normalised_sum_of_its_known_words(bitext, tmp_path):
    assert run("--bitext", bitext, "--output", tmp_path / "v", *TINY, "--epochs", "1") == 0
    encoder = SentenceEncoder.from_pretrained(tmp_path / "v" / "source")
    single = encoder.encode(["un", "deux"])
    expected = (2 * single[0] + single[1]) / np.linalg.norm(2 * single[0] + single[1])
    np.testing.assert_allclose(encoder.encode(["Un inconnu deux un"], normalize=True)[0], expected, atol=1e-6)
    assert not encoder.encode(["inconnu"]).any()


def test_sentence_transformers_files_lie_in_both_folders(bitext, tmp_path):
    assert run("--bitext", bitext, "--output", tmp_path / "v", *TINY, "--epochs", "1") == 0
    for side in ("source", "target"):
        names = {path.name for path in (tmp_path / "v" / side).iterdir()}
        assert {"modules.json", "model.safetensors", "tokenizer.json", "modeling_avg.py", "provenance.json"} <= names


def test_an_interrupted_run_continues_from_its_last_whole_epoch_with_the_same_vectors(
    bitext, tmp_path, capsys, monkeypatch
):
    from hf_paraphrase.studies.mining.bilingual_vectors import BilingualTraining

    whole, made = tmp_path / "whole", tmp_path / "made"
    words = ["--bitext", bitext, *TINY]
    assert run(*words, "--output", whole) == 0
    step, count = BilingualTraining.step, []

    def stop(self, *rest):
        count.append(1)
        if len(count) == 30:
            raise KeyboardInterrupt
        return step(self, *rest)

    monkeypatch.setattr(BilingualTraining, "step", stop)
    assert run(*words, "--output", made) == 130
    monkeypatch.setattr(BilingualTraining, "step", step)
    capsys.readouterr()
    assert run(*words, "--output", made) == 2
    assert "an unfinished run for this output exists" in capsys.readouterr().err
    assert run(*words, "--output", made, "--resume", "--window", "2") == 2
    assert "other settings: window" in capsys.readouterr().err
    assert run(*words, "--output", made, "--resume") == 0
    assert "resuming after epoch 2" in capsys.readouterr().err
    for side in ("source", "target"):
        pair = [(folder / side / "model.safetensors").read_bytes() for folder in (whole, made)]
        assert pair[0] == pair[1]


def test_a_damaged_checkpoint_is_named_and_not_lost(bitext, tmp_path, capsys, monkeypatch):
    from hf_paraphrase.studies.mining import bilingual_training

    made = tmp_path / "made"

    def stop(*rest):
        raise KeyboardInterrupt

    with monkeypatch.context() as patch:
        patch.setattr(bilingual_training, "_write", stop)
        assert run("--bitext", bitext, *TINY, "--output", made) == 130
    (path,) = (tmp_path / ".made.partial" / "checkpoints").glob("*.safetensors")
    path.write_bytes(path.read_bytes()[:100])
    capsys.readouterr()
    assert run("--bitext", bitext, *TINY, "--output", made, "--resume") == 2
    assert "the checkpoint of the unfinished run is damaged" in capsys.readouterr().err and path.is_file()


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        (["--digits", "drop"], "invalid choice: 'drop'"),
        (["--dimension", "0"], "--dimension must be above 0, not 0"),
        (["--subsampling", "-1"], "--subsampling must be at least 0, not -1"),
        (["--max-pairs", "0"], "--max-pairs must be above 0"),
        (["--min-frequency", "1000000"], "the vocabulary has no words"),
    ],
)
def test_bad_requests_are_one_line_and_leave_nothing_behind_for_vectors(bitext, tmp_path, capsys, words, expected):
    assert run("--bitext", bitext, "--output", tmp_path / "made", *words) == 2
    error = capsys.readouterr().err.strip().splitlines()[-1]
    assert expected in error and list(tmp_path.iterdir()) == []


def test_a_bitext_without_validation_part_says_nothing_of_quality(tmp_path, write_bitext, number_pairs):
    folder = write_bitext(tmp_path / "b", train=number_pairs(20, 100))
    assert run("--bitext", folder, "--output", tmp_path / "v", *TINY, "--epochs", "1") == 0
    assert "nothing is known about the quality" in (tmp_path / "v" / "README.md").read_text()
