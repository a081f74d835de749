from __future__ import annotations

import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from huggingface_hub import ModelCard
from safetensors.numpy import load_file
from transformers import AutoModel, AutoTokenizer

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

GRADED = pa.schema([*PAIRS, ("score", pa.float64())])


def sentences(letter, seed, count):
    generator = np.random.default_rng(seed)
    return [
        " ".join(f"{letter}{x}" for x in generator.integers(30, size=generator.integers(2, 7))) for _ in range(count)
    ]


@pytest.fixture(scope="module")
def pairs(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "pairs"
    table = pa.table({"sentence1": [*sentences("a", 0, 120), ""], "sentence2": [*sentences("b", 0, 120), "b1"]})
    write_split(folder, "train", [table], PAIRS)
    return folder


@pytest.fixture(scope="module")
def dev(tmp_path_factory):
    folder = tmp_path_factory.mktemp("data") / "dev"
    table = pa.table(
        {
            "sentence1": sentences("a", 1, 40) * 2,
            "sentence2": [*sentences("b", 1, 40), *sentences("b", 2, 40)],
            "score": [5.0] * 40 + [0.0] * 40,
        }
    )
    write_split(folder, "validation", [table], GRADED)
    return folder


@pytest.fixture(scope="module")
def vectors(tmp_path_factory):
    path = tmp_path_factory.mktemp("data") / "vectors.txt"
    generator = np.random.default_rng(0)
    words = [*(f"a{x}" for x in range(30)), *(f"b{x}" for x in range(25)), "elsewhere", "Cased"]
    path.write_text("".join(f"{word} {' '.join(f'{x:.4f}' for x in generator.normal(size=6))}\n" for word in words))
    return path


def run(pairs, output, *flags):
    return main(["train-encoder", "--pairs", str(pairs), "--output", str(output), *map(str, flags)])


FAST = ("--epochs", 3, "--batch-size", 20, "--learning-rate", 0.02, "--hidden-size", 8, "--seed", 1)


KINDS = [
    ("gran", "--cell", "gru", "--bidirectional", "true", "--variational-dropout", 0.1),
    ("trigram", "--skip-unknown", "true", "--initial-distribution", "uniform"),
    ("word-trigram",),
]


@pytest.mark.parametrize("kind", KINDS)
def test_leaves_a_complete_folder_with_scores_card_and_provenance(pairs, dev, tmp_path, capsys, kind):
    output = tmp_path / "model"
    assert run(pairs, output, "--model-type", *kind, "--dev-data", dev, *FAST) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "untrained: dev score" in captured.err and "1 pairs with an empty side left out" in captured.err
    assert "kept: epoch " in captured.err and "SentenceEncoder.from_pretrained" in captured.err

    record = json.loads((output / "provenance.json").read_text())
    scores = record["results"]["dev_scores"]
    assert [entry["epoch"] for entry in scores] == [0, 1, 2, 3]
    assert record["results"]["dev_best"] == max(entry["dev_mean"] for entry in scores[1:]) > scores[0]["dev_mean"] + 5
    assert record["results"]["pairs"] == 120 and record["settings"]["margin"] == 0.4 and record["seed"] == 1

    encoder = SentenceEncoder.from_pretrained(output)
    ids = AutoTokenizer.from_pretrained(output)(["a1 a2 zzz"], return_tensors="pt")
    vector = AutoModel.from_pretrained(output)(**ids).pooler_output.detach().numpy()
    np.testing.assert_allclose(vector[0], encoder.encode("a1 a2 zzz"), atol=1e-6)
    assert f"{record['results']['dev_best']:.2f} (kept)" in (output / "README.md").read_text()
    model_type = {"trigram": "avg", "word-trigram": "concatenation"}.get(kind[0], kind[0])
    assert {f"modeling_{model_type}.py", "modules.json"} <= {path.name for path in output.iterdir()}
    assert [path.name for path in tmp_path.iterdir()] == ["model"]


def test_no_epochs_keep_the_initial_vectors_and_report_their_dev_score(pairs, dev, vectors, tmp_path, capsys):
    output = tmp_path / "untrained"
    assert run(pairs, output, "--epochs", 0, "--initial-vectors", vectors, "--dev-data", dev, "--seed", 1) == 0
    assert "56 of 61 words have a vector" in capsys.readouterr().err
    vocabulary = AutoTokenizer.from_pretrained(output).get_vocab()
    embeddings = load_file(output / "model.safetensors")["embeddings"]
    assert embeddings.shape == (63, 6) and "Cased" not in vocabulary
    lines = dict(line.split(" ", 1) for line in vectors.read_text().splitlines())
    for word in ("a3", "b7", "elsewhere"):
        np.testing.assert_allclose(embeddings[vocabulary[word]], np.array(lines[word].split(), float), atol=1e-5)
    results = json.loads((output / "provenance.json").read_text())["results"]
    assert results["steps"] == 0 and results["dev_best"] is None and np.isfinite(results["dev_untrained"])
    card = (output / "README.md").read_text()
    assert "| training | none: 0 epochs |" in card and "margin loss" not in card


def test_labelled_pairs_train_with_the_contrastive_loss_and_its_own_margin(tmp_path, dev, capsys):
    folder = tmp_path / "pairs"
    first, second = sentences("a", 0, 60), sentences("b", 0, 60)
    table = pa.table(
        {
            "sentence1": first * 2,
            "sentence2": [*second, *second[7:], *second[:7]],
            "label": pa.array([1] * 60 + [0] * 60, pa.int8()),
        }
    )
    write_split(folder, "train", [table], table.schema)
    flags = (*FAST, "--dev-data", dev, "--loss", "contrastive", "--epochs", 6)
    assert run(folder, tmp_path / "m", *flags) == 0
    record = json.loads((tmp_path / "m" / "provenance.json").read_text())
    assert record["results"]["pairs"] == 120 and record["settings"]["margin"] == 0.5
    assert record["results"]["dev_best"] > record["results"]["dev_untrained"] + 5
    card = (tmp_path / "m" / "README.md").read_text()
    assert "contrastive margin loss on labelled pairs (Sjöblom" in card and "| negatives |" not in card
    assert run(folder, tmp_path / "margin", *FAST) == 0
    assert "60 pairs labelled 0, no paraphrases, left out" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        (["--model-type", "gran", "--initial-distribution", "uniform"], "--initial-distribution is not for"),
        (["--loss", "contrastive"], "no column `label`"),
        (["--model-type", "recurrent", "--bidirectional", "true", "--hidden-size", 7], "hidden_size must be even"),
        (["--model-type", "trigram", "--word-list", "words"], "--word-list is for words"),
        (["--min-frequency", 10**6], "the vocabulary has no words"),
    ],
)
def test_senseless_arguments_are_one_line_and_leave_nothing(pairs, tmp_path, capsys, flags, message):
    assert run(pairs, tmp_path / "m", *flags) == 2
    error = capsys.readouterr().err.splitlines()[-1]
    assert error.startswith("hf-paraphrase: error: ") and message in error
    assert not list(tmp_path.iterdir())


def test_from_python_it_returns_the_encoder_with_what_was_measured(pairs, dev, tmp_path):
    settings = {"epochs": 2, "batch_size": 20, "hidden_size": 8, "seed": 1, "dev_data": dev}
    encoder = hf_paraphrase.train_encoder(pairs=pairs, output=tmp_path / "a", **settings)
    assert encoder.results["steps"] == 12 and len(encoder.results["dev_scores"]) == 3
    expected = SentenceEncoder.from_pretrained(tmp_path / "a").encode(["a1 b2"])
    np.testing.assert_array_equal(encoder.encode(["a1 b2"]), expected)


def test_an_encoder_of_two_languages_is_trained_on_a_bitext_and_chosen_by_retrieval(
    tmp_path, write_bitext, number_pairs, capsys
):
    folder = write_bitext(tmp_path / "bitext", train=number_pairs(80, 100), validation=number_pairs(12, 20))
    bpe = {"kind": "bpe", "pairs": folder, "vocabulary_size": 80, "output": tmp_path / "bpe"}
    hf_paraphrase.train_tokenizer(**bpe)
    words = [*FAST, "--tokenizer", tmp_path / "bpe", "--negatives-from", "opposite", "--dev-data"]
    assert run(folder, tmp_path / "joint", *words, folder) == 0
    record = json.loads((tmp_path / "joint" / "provenance.json").read_text())
    scores = record["results"]["dev_scores"]
    assert {"source_to_target", "target_to_source"} <= set(scores[0])
    assert record["results"]["dev_best"] > record["results"]["dev_untrained"]
    card = (tmp_path / "joint" / "README.md").read_text()
    assert "the pairs are sentences and their translations" in card and "Finding translations" in card
    assert "precision at 1 (%" in card and "Pearson" not in card
    assert run(folder, tmp_path / "x", *words, write_bitext(tmp_path / "b", train=[("a", "b")])) == 2
    assert "a split `validation` to tune on" in capsys.readouterr().err


CONTINUED = {"avg": [], "word-trigram": []}
CONTINUED_TEXTS = ["a1 a2", "b3", "", "a1 zebra b29"]
BATCHES = ("--batch-size", 20, "--learning-rate", 0.02)


def write_pairs(folder, seed, first, second):
    table = pa.table({"sentence1": sentences(first, seed, 80), "sentence2": sentences(second, seed, 80)})
    write_split(folder, "train", [table], PAIRS)
    return folder


@pytest.fixture(scope="module")
def models(pairs, tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    for kind, flags in CONTINUED.items():
        flags = ["--model-type", kind, "--hidden-size", 8, "--epochs", 1, "--seed", 1, *flags]
        assert run(pairs, root / kind, *BATCHES, *flags) == 0
    return root


@pytest.mark.parametrize("kind", CONTINUED)
def test_without_an_epoch_it_is_the_same_and_with_one_another_encoder(models, tmp_path, kind, capsys):
    # Other words than the first ones: the vocabulary stays.
    others = write_pairs(tmp_path / "others", 5, "a", "c")
    before = SentenceEncoder.from_pretrained(models / kind).encode(CONTINUED_TEXTS)
    for epochs in (0, 1):
        output = tmp_path / f"after{epochs}"
        assert run(others, output, *BATCHES, "--initial-model", models / kind, "--epochs", epochs) == 0
        after = SentenceEncoder.from_pretrained(output).encode(CONTINUED_TEXTS)
        if epochs:
            assert np.abs(after - before).max() > 1e-3
        else:
            np.testing.assert_array_equal(after, before)
        tokenizer = "tokenizers.json" if kind == "word-trigram" else "tokenizer.json"
        assert (output / tokenizer).read_bytes() == (models / kind / tokenizer).read_bytes()
        record = json.loads((output / "provenance.json").read_text())
        assert record["settings"]["model_type"] == kind
        assert f"| went on from | {kind}: its tokenizer and all" in (output / "README.md").read_text()


def test_the_result_has_the_licence_and_base_of_its_start_unless_a_licence_is_given(models, pairs, tmp_path):
    start = shutil.copytree(models / "avg", tmp_path / "start")
    (start / "README.md").write_text("---\nlicense: cc-by-sa-4.0\nbase_model: org/base\n---\n")
    heads = []
    for name, flags in enumerate(
        (["--initial-model"], ["--initial-vectors"], ["--license", "mit", "--initial-model"])
    ):
        assert run(pairs, tmp_path / str(name), "--epochs", 0, *flags, start) == 0
        heads.append(ModelCard.load(tmp_path / str(name) / "README.md").data)
    assert [head.license for head in heads] == ["cc-by-sa-4.0", "cc-by-sa-4.0", "mit"]
    assert {head.base_model for head in heads} == {"org/base"}


def test_smaller_weights_go_on_in_float32(models, pairs, tmp_path):
    made = tmp_path / "float16"
    hf_paraphrase.export_encoder(model=models / "avg", output=made, format="safetensors", weights="float16")
    encoder = hf_paraphrase.train_encoder(pairs=pairs, initial_model=made, epochs=0, output=tmp_path / "on")
    assert str(encoder.model.dtype) == "torch.float32"
    expected = SentenceEncoder.from_pretrained(made).encode(CONTINUED_TEXTS)
    np.testing.assert_allclose(encoder.encode(CONTINUED_TEXTS), expected, atol=1e-3)
