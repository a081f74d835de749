from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from hf_paraphrase.artefacts.card_heads import split_card
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

TINY = ["--hidden-size", "12", "--embedding-size", "6", "--max-steps", "12", "--batch-size", "8", "--dev-size", "10"]
TINY += ["--evaluations", "3", "--precision", "fp32", "--learning-rate", "0.01"]


def run(*words):
    return main([str(word) for word in words])


def texts_of(count):
    generator = np.random.default_rng(0)
    vocabulary = [f"{letter}{number}" for letter in "abc" for number in range(8)]
    return [" ".join(generator.choice(vocabulary, generator.integers(3, 9))) for _ in range(count)]


@pytest.fixture(scope="module")
def text(tmp_path_factory):
    path = tmp_path_factory.mktemp("text") / "lines.txt"
    path.write_text("\n".join([*texts_of(80), "", "a1", "a1 b1", "a1 b1"]) + "\n")
    return path


def state_of(folder):
    return AutoModel.from_pretrained(folder).state_dict()


def test_what_comes_out_is_a_whole_encoder_folder_without_decoder(text, tmp_path, capsys):
    folder = tmp_path / "sdae"
    assert run("train-sdae", "--text", text, "--output", folder, *TINY) == 0
    out, err = capsys.readouterr()
    assert out == "" and "step 12: dev loss" in err
    assert "71 sentences to train on" in err and "10 held out" in err
    assert "3 left out: repeated" in err
    vectors = SentenceEncoder.from_pretrained(folder).encode(["a1 b1 c1", "c1 b1 a1", ""])
    assert vectors.shape == (3, 12) and np.abs(vectors[0] - vectors[1]).max() > 1e-3 and not vectors[2].any()
    model = AutoModel.from_pretrained(folder)
    assert model.config.model_type == "sdae" and model.decoder is None
    batch = AutoTokenizer.from_pretrained(folder)(["a1 b1 c1"], return_tensors="pt")
    np.testing.assert_allclose(model(**batch).pooler_output[0].detach(), vectors[0], atol=1e-6)
    record = json.loads((folder / "provenance.json").read_text())
    assert record["command"] == "hf-paraphrase train-sdae" and record["settings"]["drop"] == 0.1
    results = record["results"]
    assert results["steps"] == 12 and [entry["step"] for entry in results["dev_scores"]] == [4, 8, 12]
    assert results["dev_loss"] == results["dev_scores"][-1]["loss"] and results["sentences"] == 71
    assert results["parameters"] < results["parameters_in_training"]
    card = (folder / "README.md").read_text()
    assert "The decoder was left out" in card and f"| 12 | {results['dev_loss']:.3f} |" in card
    names = {path.name for path in folder.iterdir()}
    assert {"model.safetensors", "modeling_sdae.py", "recurrent_layers.py", "modules.json"} <= names
    assert not {"checkpoints", "job.json"} & names


def test_initial_vectors_are_those_of_the_file_and_stay_if_they_are_fixed(text, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a1 1 2 3\nb1 4 5 6\nzebra 7 8 9\n")
    words = [
        "--text",
        text,
        "--initial-vectors",
        vectors,
        *[word for word in TINY if word not in ("--embedding-size", "6")],
    ]
    moved = {}
    for name, flags in (("fixed", ["--fixed-vectors"]), ("trained", [])):
        assert run("train-sdae", *words, "--output", tmp_path / name, *flags) == 0
        model = AutoModel.from_pretrained(tmp_path / name)
        ids = AutoTokenizer.from_pretrained(tmp_path / name).convert_tokens_to_ids(["a1", "zebra"])
        moved[name] = (model.embeddings[ids] - torch.tensor([[1.0, 2, 3], [7, 8, 9]])).abs().amax(1).tolist()
    assert moved["fixed"] == [0, 0] and moved["trained"][0] > 0.001
    assert "fixed" in (tmp_path / "fixed" / "README.md").read_text()


@pytest.mark.parametrize("use", ["noise", "regulariser"])
def test_expansion_changes_what_is_learned(tmp_path, tiny_wordnet, use):
    subjects, verbs = ("boy", "dog", "teacher", "painter"), ("start", "sleep", "think", "go", "march")
    lines = [f"The {one} saw the {other} {verb} ." for one in subjects for other in subjects for verb in verbs]
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    words = ["train-sdae", "--text", tmp_path / "lines.txt", *TINY]
    assert run(*words, "--output", tmp_path / "plain") == 0
    flags = ["--expansion", tiny_wordnet, "--expansion-use", use]
    flags += ["--expansion-weight", "3"] if use == "regulariser" else []
    assert run(*words, "--output", tmp_path / use, *flags) == 0
    plain, expanded = state_of(tmp_path / "plain"), state_of(tmp_path / use)
    assert any(not torch.equal(plain[name], expanded[name]) for name in plain)
    card = (tmp_path / use / "README.md").read_text()
    assert f"as a {use}" in card and ("of weight 3" in card) == (use == "regulariser")


def test_the_card_names_the_language_of_the_text_where_it_is_known(text, tmp_path, tiny_wordnet):
    columns = {"source": texts_of(30), "target": texts_of(30), "source_lang": ["de"] * 30, "target_lang": ["fr"] * 30}
    plain = {"sentence1": texts_of(30), "sentence2": texts_of(30)}
    for name, table in (("bitext", pa.table(columns)), ("unknown", pa.table(plain)), ("finnish", pa.table(plain))):
        write_split(tmp_path / name, "train", [table], table.schema)
    (tmp_path / "finnish/README.md").write_text("---\nlanguage: [fi]\n---\n")
    (tmp_path / "lines.txt").write_text(
        "\n".join(f"The boy saw {one} {other} ." for one in "abcde" for other in "abcde")
    )
    cases = {
        "text": (["--text", text], None),
        "german": (["--pairs", tmp_path / "bitext", "--columns", "source"], ["de"]),
        "both": (["--pairs", tmp_path / "bitext", "--columns", "source,target"], ["de", "fr"]),
        "finnish pairs": (["--pairs", tmp_path / "finnish"], ["fi"]),
        "pairs": (["--pairs", tmp_path / "unknown"], None),
        "expanded": (["--text", tmp_path / "lines.txt", "--expansion", tiny_wordnet], ["en"]),
    }
    for name, (words, expected) in cases.items():
        assert run("train-sdae", *words, "--output", tmp_path / name, *TINY, "--max-steps", 1) == 0
        assert split_card((tmp_path / name / "README.md").read_text())[0].get("language") == expected, name
