from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from small_runs import write
from transformers import AutoModel, AutoTokenizer

from hf_paraphrase.artefacts.card_heads import split_card
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.studies.sdae.training import SdaeSettings, _languages

TINY = ["--hidden-size", 12, "--max-steps", 12, "--batch-size", 8, "--dev-size", 10, "--evaluations", 3]
TINY += ["--precision", "fp32", "--learning-rate", 0.01]


def run(*words):
    return main(["train-sdae", *map(str, words), *map(str, TINY)])


def texts_of(count):
    generator = np.random.default_rng(0)
    vocabulary = [f"{letter}{number}" for letter in "abc" for number in range(8)]
    return [" ".join(generator.choice(vocabulary, generator.integers(3, 9))) for _ in range(count)]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join([*texts_of(80), "", "a1", "a1 b1", "a1 b1"]) + "\n")
    return path


def test_what_comes_out_is_a_whole_encoder_folder_without_decoder(text, tmp_path, capsys):
    folder = tmp_path / "sdae"
    assert run("--text", text, "--output", folder, "--embedding-size", 6) == 0
    out, err = capsys.readouterr()
    assert out == "" and "step 12: dev loss" in err
    assert "71 sentences to train on" in err and "10 held out" in err and "3 left out: repeated" in err
    vectors = SentenceEncoder.from_pretrained(folder).encode(["a1 b1 c1", "c1 b1 a1", ""])
    assert vectors.shape == (3, 12) and np.abs(vectors[0] - vectors[1]).max() > 1e-3 and not vectors[2].any()
    model = AutoModel.from_pretrained(folder)
    assert model.config.model_type == "sdae" and model.decoder is None
    batch = AutoTokenizer.from_pretrained(folder)(["a1 b1 c1"], return_tensors="pt")
    np.testing.assert_allclose(model(**batch).pooler_output[0].detach(), vectors[0], atol=1e-6)
    results = json.loads((folder / "provenance.json").read_text())["results"]
    assert [entry["step"] for entry in results["dev_scores"]] == [4, 8, 12] and results["sentences"] == 71
    assert results["parameters"] < results["parameters_in_training"]
    assert f"| 12 | {results['dev_loss']:.3f} |" in (folder / "README.md").read_text()


def test_initial_vectors_are_those_of_the_file_and_stay_if_they_are_fixed(text, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a1 1 2 3\nb1 4 5 6\nzebra 7 8 9\n")
    moved = {}
    for name, flags in (("fixed", ["--fixed-vectors"]), ("trained", [])):
        assert run("--text", text, "--initial-vectors", vectors, "--output", tmp_path / name, *flags) == 0
        model = AutoModel.from_pretrained(tmp_path / name)
        ids = AutoTokenizer.from_pretrained(tmp_path / name).convert_tokens_to_ids(["a1", "zebra"])
        moved[name] = (model.embeddings[ids] - torch.tensor([[1.0, 2, 3], [7, 8, 9]])).abs().amax(1).tolist()
    assert moved["fixed"] == [0, 0] and moved["trained"][0] > 0.001


def test_expansion_changes_what_is_learned_in_each_use(tmp_path, tiny_wordnet):
    subjects, verbs = ("boy", "dog", "teacher", "painter"), ("start", "sleep", "think", "go", "march")
    lines = [f"The {one} saw the {other} {verb} ." for one in subjects for other in subjects for verb in verbs]
    (tmp_path / "lines.txt").write_text("\n".join(lines))
    states = {}
    for use in ("plain", "noise", "regulariser"):
        flags = [] if use == "plain" else ["--expansion", tiny_wordnet, "--expansion-use", use]
        flags += ["--expansion-weight", "3"] if use == "regulariser" else []
        assert run("--text", tmp_path / "lines.txt", "--output", tmp_path / use, *flags) == 0
        states[use] = AutoModel.from_pretrained(tmp_path / use).state_dict()
        head, card = split_card((tmp_path / use / "README.md").read_text())
        # Of the text alone the language is unknown; definitions are English.
        assert head.get("language") == (["en"] if flags else None)
        assert (f"as a {use}" in card) == bool(flags) and ("of weight 3" in card) == (use == "regulariser")
    for use in ("noise", "regulariser"):
        assert any(not torch.equal(states["plain"][name], states[use][name]) for name in states["plain"])


def test_the_card_names_the_language_of_the_columns_or_of_the_pairs_where_it_is_known(tmp_path):
    columns = {"source": texts_of(30), "target": texts_of(30), "source_lang": ["de"] * 30, "target_lang": ["fr"] * 30}
    plain = {"sentence1": texts_of(30), "sentence2": texts_of(30)}
    write(tmp_path / "bitext", **columns)
    write(tmp_path / "finnish", **plain)
    (tmp_path / "finnish/README.md").write_text("---\nlanguage: [fi]\n---\n")
    bitext, finnish = [str(tmp_path / "bitext")], [str(tmp_path / "finnish")]
    assert _languages(SdaeSettings(pairs=bitext, columns=["source"], output="o")) == ["de"]
    assert _languages(SdaeSettings(pairs=finnish, output="o")) == ["fi"]
