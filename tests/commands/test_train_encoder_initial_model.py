from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest

import hf_paraphrase
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.artefacts.provenance import fingerprint
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS

KINDS = {
    "avg": [],
    "trigram": ["--skip-unknown", "true"],
    "gran": ["--cell", "gru", "--bidirectional", "true"],
    "recurrent": ["--pooling", "mean"],
    "word-trigram": [],
}
TEXTS = ["a1 a2", "b3", "", "a1 zebra b29"]
FAST = ["--batch-size", "20", "--learning-rate", "0.02"]


def sentences(letter, seed, count):
    generator = np.random.default_rng(seed)
    return [
        " ".join(f"{letter}{x}" for x in generator.integers(30, size=generator.integers(2, 7))) for _ in range(count)
    ]


def write_pairs(folder, seed, first="a", second="b"):
    table = pa.table({"sentence1": sentences(first, seed, 80), "sentence2": sentences(second, seed, 80)})
    write_split(folder, "train", [table], PAIRS)
    return folder


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    return write_pairs(tmp_path_factory.mktemp("data") / "pairs", 0)


def run(pairs, output, *flags):
    return main(["train-encoder", "--pairs", str(pairs), "--output", str(output), *FAST, *map(str, flags)])


@pytest.fixture(scope="module")
def models(pairs, tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for kind, flags in KINDS.items():
        flags = ["--model-type", kind, "--hidden-size", 8, "--epochs", 1, "--seed", 1, *flags]
        assert run(pairs, root / kind, *flags) == 0
    return root


def table_of(folder):
    return SentenceEncoder.from_pretrained(folder).model.embeddings.detach().numpy()


@pytest.mark.parametrize("kind", KINDS)
def test_without_an_epoch_it_is_the_same_and_with_one_another_encoder(models, tmp_path, kind, capsys):
    # Other words than the first ones: the vocabulary stays.
    others = write_pairs(tmp_path / "others", 5, "a", "c")
    before = SentenceEncoder.from_pretrained(models / kind).encode(TEXTS)
    for epochs in (0, 1):
        output = tmp_path / f"after{epochs}"
        assert run(others, output, "--initial-model", models / kind, "--epochs", epochs) == 0
        after = SentenceEncoder.from_pretrained(output).encode(TEXTS)
        if epochs:
            assert np.abs(after - before).max() > 1e-3
        else:
            np.testing.assert_array_equal(after, before)
        tokenizer = "tokenizers.json" if kind == "word-trigram" else "tokenizer.json"
        assert (output / tokenizer).read_bytes() == (models / kind / tokenizer).read_bytes()
        config, first = (json.loads((folder / "config.json").read_text()) for folder in (output, models / kind))
        assert config == first
        record = json.loads((output / "provenance.json").read_text())
        assert record["settings"]["model_type"] == kind and record["settings"]["min_frequency"] is None
        found = next(item for item in record["inputs"] if item["name"] == kind)
        assert found["sha256"] == fingerprint(models / kind)
        card = (output / "README.md").read_text()
        assert f"| went on from | {kind}: its tokenizer and all its weights |" in card and "initial word" not in card
    assert "went on from" not in (models / kind / "README.md").read_text()


@pytest.mark.parametrize("kind", ["avg", "gran", "word-trigram"])
def test_lambda_w_draws_the_word_vectors_back_to_those_of_the_initial_model(models, pairs, tmp_path, kind):
    start, distances = table_of(models / kind), []
    for weight in (0.0, 100.0):
        output = tmp_path / f"held{weight}"
        words = ["--initial-model", models / kind, "--epochs", 8, "--lambda-w", weight, "--seed", 2]
        assert run(pairs, output, *words) == 0
        distances.append(float(np.linalg.norm(table_of(output) - start)))
    assert distances[0] > 1.5 * distances[1] > 0
    assert "drawn back there with a weight of 100 |" in (output / "README.md").read_text()


def test_smaller_weights_go_on_in_float32(models, pairs, tmp_path):
    for weights in ("float16", "int8"):
        made = tmp_path / weights
        hf_paraphrase.export_encoder(model=models / "avg", output=made, format="safetensors", weights=weights)
        settings = {"pairs": pairs, "initial_model": made, "epochs": 0, "output": tmp_path / f"{weights}_on"}
        encoder = hf_paraphrase.train_encoder(**settings)
        assert str(encoder.model.dtype) == "torch.float32"
        expected = SentenceEncoder.from_pretrained(made).encode(TEXTS)
        np.testing.assert_allclose(encoder.encode(TEXTS), expected, atol=1e-3 if weights == "float16" else 0)
