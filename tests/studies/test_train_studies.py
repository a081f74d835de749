from __future__ import annotations

import itertools
import json

import numpy as np
import onnxruntime
import pytest
import torch
from datasets import load_dataset
from scipy.special import softmax
from small_runs import lettered, record, run, write
from tiny_encoders import write_average
from tiny_transformers import write_transformer
from transformers import AutoModel, AutoModelForSequenceClassification, AutoTokenizer, pipeline

from hf_paraphrase.artefacts.card_metadata import split_card
from hf_paraphrase.classification.classifier import SentenceClassifierModel
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.studies.sdae.training import SdaeSettings, _languages

SMALL = ["--hidden-size", 12, "--max-steps", 12, "--batch-size", 8, "--dev-size", 10, "--evaluations", 3]
SMALL += ["--precision", "fp32", "--learning-rate", 0.01]


def train(*words):
    return run("train-sdae", *words, *SMALL)


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "lines.txt"
    path.write_text("\n".join([*lettered("a", 0, 80), "", "a1", "a1 a2", "a1 a2"]) + "\n")
    return path


def test_what_comes_out_is_a_whole_encoder_folder_without_decoder(text, tmp_path, capsys):
    folder = tmp_path / "sdae"
    assert train("--text", text, "--output", folder, "--embedding-size", 6) == 0
    out, err = capsys.readouterr()
    assert out == "" and "step 12: dev loss" in err
    assert "71 sentences to train on" in err and "10 held out" in err and "3 left out: repeated" in err
    vectors = SentenceEncoder.from_pretrained(folder).encode(["a1 a2 a3", "a3 a2 a1", ""])
    assert vectors.shape == (3, 12) and np.abs(vectors[0] - vectors[1]).max() > 1e-3 and not vectors[2].any()
    model = AutoModel.from_pretrained(folder)
    assert model.config.model_type == "sdae" and model.decoder is None
    batch = AutoTokenizer.from_pretrained(folder)(["a1 a2 a3"], return_tensors="pt")
    np.testing.assert_allclose(model(**batch).pooler_output[0].detach(), vectors[0], atol=1e-6)
    results = json.loads((folder / "provenance.json").read_text())["results"]
    assert [entry["step"] for entry in results["dev_scores"]] == [4, 8, 12] and results["sentences"] == 71
    assert results["parameters"] < results["parameters_in_training"]
    assert f"| 12 | {results['dev_loss']:.3f} |" in (folder / "README.md").read_text()


def test_initial_vectors_are_those_of_the_file_and_stay_if_they_are_fixed(text, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("a1 1 2 3\na2 4 5 6\nzebra 7 8 9\n")
    moved = {}
    for name, flags in (("fixed", ["--fixed-vectors"]), ("trained", [])):
        assert train("--text", text, "--initial-vectors", vectors, "--output", tmp_path / name, *flags) == 0
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
        assert train("--text", tmp_path / "lines.txt", "--output", tmp_path / use, *flags) == 0
        states[use] = AutoModel.from_pretrained(tmp_path / use).state_dict()
        head, card = split_card((tmp_path / use / "README.md").read_text())
        # The language of plain text is unknown; definitions are English.
        assert head.get("language") == (["en"] if flags else None)
        assert (f"as a {use}" in card) == bool(flags) and ("of weight 3" in card) == (use == "regulariser")
    for use in ("noise", "regulariser"):
        assert any(not torch.equal(states["plain"][name], states[use][name]) for name in states["plain"])


def test_definitions_near_to_evaluation_sentences_do_not_expand_what_is_trained_on(tmp_path, tiny_wordnet, capsys):
    lines = [f"The boy {' '.join(one)}\n" for one in itertools.permutations(["and", "his", "four", "nobody"])]
    (tmp_path / "lines.txt").write_text("".join(lines))
    (tmp_path / "sts.txt").write_text("Some youthful male person\n")
    words = ["--text", tmp_path / "lines.txt", "--expansion", tiny_wordnet]
    words += ["--expansion-decontaminate", tmp_path / "sts.txt"]
    assert train(*words, "--output", tmp_path / "exact") == 0
    assert "decontaminated against `sts.txt`" in (tmp_path / "exact" / "README.md").read_text()
    assert train(*words, "--decontaminate-similarity", 0.8, "--output", tmp_path / "near") == 2
    assert "no word of the dev sentences can be expanded" in capsys.readouterr().err


def test_the_card_names_the_language_of_the_columns_or_of_the_pairs_where_it_is_known(tmp_path):
    texts = lettered("a", 0, 30)
    columns = {"source": texts, "target": texts, "source_lang": ["de"] * 30, "target_lang": ["fr"] * 30}
    write(tmp_path / "bitext", **columns)
    write(tmp_path / "finnish", sentence1=texts, sentence2=texts)
    (tmp_path / "finnish/README.md").write_text("---\nlanguage: [fi]\n---\n")
    bitext, finnish = [str(tmp_path / "bitext")], [str(tmp_path / "finnish")]
    assert _languages(SdaeSettings(pairs=bitext, columns=["source"], output="o")) == ["de"]
    assert _languages(SdaeSettings(pairs=finnish, output="o")) == ["fi"]


WORDS = [f"w{number}" for number in range(20)]
TINY = ["--epochs", 3, "--batch-size", 8, "--learning-rate", 0.05]


def draw(generator):
    return " ".join(generator.choice(WORDS[1:], size=5))


@pytest.fixture(scope="module")
def root(tmp_path_factory):
    folder = tmp_path_factory.mktemp("supervised")
    size = {"hidden_size": 6, "initializer_range": 0.3}
    write_average(folder / "avg", WORDS, **size)
    write_average(folder / "gran", WORDS, seed=1, classes="gran", **size)
    (folder / "avg/README.md").write_text("---\nlicense: cc-by-sa-4.0\n---\n")
    generator = np.random.default_rng(0)
    # One word tells the class.
    texts = [draw(generator) + (" w0" if row % 2 else "") for row in range(120)]
    write(folder / "sentences", "train", text=texts[:100], label=[row % 2 for row in range(100)])
    write(folder / "sentences", "test", text=texts[100:], label=[row % 2 for row in range(20)])
    write(folder / "unlabelled", "test", text=texts[100:])
    words = ["--model", folder / "avg", "--data", folder / "sentences", "--test-split", "test", *TINY, "--epochs", 8]
    assert run("train-supervised", *words, "--output", folder / "classes") == 0
    return folder


def test_a_classifier_of_sentences_is_a_whole_model_folder(root):
    results = record(root / "classes")["results"]
    assert results["test"]["accuracy"] > 60 and results["test"]["baseline"] == 50.0
    assert results["rows"] == {"train": 90, "test": 20, "dev": 10}
    head, _ = split_card((root / "classes/README.md").read_text())
    assert head["license"] == "cc-by-sa-4.0", "that of the encoder"
    index = head["model-index"][0]["results"]
    found = {item["dataset"]["split"]: [metric["name"] for metric in item["metrics"]] for item in index}
    # The dev part was drawn from the training split, and the card says so.
    drawn = "; 10% of train, drawn; it chose the epoch"
    assert found["test"] == ["accuracy (%)", "macro F1 × 100"]
    assert found["train"] == [f"accuracy (%{drawn})", f"macro F1 × 100{drawn}"]
    classify = pipeline("text-classification", model=str(root / "classes"))
    assert [item["label"] for item in classify(["w3 w0 w4", "w3 w4"])] == ["1", "0"]


@pytest.mark.parametrize("task", ["similarity", "entailment"])
def test_pairs_are_scored_and_classified(root, tmp_path, task):
    generator = np.random.default_rng(0)
    kinds = np.arange(90) % 3
    first = [draw(generator) for _ in kinds]
    # Shared words tell the score.
    second = [
        " ".join([*one.split()[: (5, 2, 0)[kind]], draw(generator) if kind else ""])
        for one, kind in zip(first, kinds, strict=True)
    ]
    columns = {"sentence1": first, "sentence2": second, "score": list(5.0 - 2 * kinds)}
    columns["entailment"] = [("SAME", "PART", "OTHER")[kind] for kind in kinds]
    for split, part in (("train", slice(0, 60)), ("validation", slice(60, 75)), ("test", slice(75, 90))):
        write(tmp_path / "pairs", split, **{name: values[part] for name, values in columns.items()})
    words = ["--model", root / "gran", "--data", tmp_path / "pairs", "--test-split", "test", *TINY]
    kind = ["--target-column", "entailment"] if task == "entailment" else ["--task", task]
    assert run("train-supervised", *words, *kind, "--lambda-c", 1e-4, "--output", tmp_path / "model") == 0
    results = record(tmp_path / "model")["results"]["test"]
    judge = SentenceClassifierModel.from_pretrained(tmp_path / "model")
    pair = ["w1 w2 w3 w4 w5"], ["w1 w2 w3 w4 w5"]
    if task == "entailment":
        assert judge.classes(*pair)[0][0] in {"SAME", "PART", "OTHER"} and results["accuracy"] > 40
    else:
        assert judge.scores(*pair).shape == (1,) and results["pearson"] > 30 and "accuracy" not in results
    index = (tmp_path / "model/README.md").read_text().split("---")[1]
    assert "split: validation" in index and "split: dev" not in index


def test_from_scratch_a_frozen_encoder_and_initial_vectors_start_where_they_say(root, tmp_path):
    vectors = tmp_path / "vectors.txt"
    vectors.write_text("w1 1 2 3 4 5 6\nw2 6 5 4 3 2 1\n")
    common = ["train-supervised", "--model", root / "gran", "--data", root / "sentences"]
    slow = ["--learning-rate", 1e-12, "--epochs", 1]
    assert run(*common, *slow, "--from-scratch", "--initial-vectors", vectors, "--output", tmp_path / "a") == 0
    assert run(*common, "--freeze-encoder", "--output", tmp_path / "b") == 0
    given = GranModel.from_pretrained(root / "gran").state_dict()
    scratch, frozen = (AutoModelForSequenceClassification.from_pretrained(tmp_path / name).encoder for name in "ab")
    number = AutoTokenizer.from_pretrained(tmp_path / "a").convert_tokens_to_ids("w1")
    assert scratch.embeddings[number].tolist() == pytest.approx([1, 2, 3, 4, 5, 6])
    assert not torch.allclose(scratch.gate_input.weight, given["gate_input.weight"], atol=1e-3)
    assert all(torch.equal(value, given[name]) for name, value in frozen.state_dict().items())


ELSEWHERE = """
import json, sys
from transformers import pipeline
judge = pipeline("text-classification", model="trained", trust_remote_code=True, top_k=None)
found = [{item["label"]: item["score"] for item in row} for row in judge(["the cat sat", "paris"])]
assert "hf_paraphrase" not in sys.modules
print(json.dumps(found))
"""


@pytest.mark.parametrize("kind", ["bert", "roberta", "mpnet"])
def test_a_transformer_is_trained_on_the_mean_of_its_tokens_and_opens_elsewhere(tmp_path, root, kind, run_python):
    encoder = write_transformer(tmp_path / "encoder", kind)
    words = ["train-supervised", "--model", encoder, "--data", root / "sentences", "--output"]
    assert run(*words, tmp_path / "frozen", "--freeze-encoder") == 0
    assert run(*words, tmp_path / "trained", "--epochs", 1) == 0
    frozen, trained = (SentenceClassifierModel.from_pretrained(tmp_path / name) for name in ("frozen", "trained"))
    texts = ["the cat sat", "paris", "doctor " * 60]
    vectors = SentenceEncoder.from_pretrained(encoder).encode(texts)
    head = {name: value.numpy() for name, value in frozen.model.classifier.state_dict().items()}
    np.testing.assert_allclose(frozen.logits(texts), vectors @ head["weight"].T + head["bias"], atol=1e-5)
    weights = (model.encoder.get_input_embeddings().weight for model in (frozen.model, trained.model))
    assert not torch.equal(*weights)
    result = run_python(ELSEWHERE, folder=tmp_path)
    assert result.returncode == 0, result.stderr
    found = [[row[name] for name in trained.class_names] for row in json.loads(result.stdout.splitlines()[-1])]
    np.testing.assert_allclose(found, softmax(trained.logits(texts[:2]), axis=1), atol=1e-5)
    assert run("export", "--model", tmp_path / "frozen", "--format", "json", "--output", tmp_path / "json") == 0
    exported = json.loads((tmp_path / "json/classifier.json").read_text())
    assert exported["labels"] == frozen.class_names and exported["activation"] == "softmax"
    logits = vectors @ np.array(exported["weight"]).T + exported["bias"]
    np.testing.assert_allclose(logits, frozen.logits(texts), atol=1e-5)


def test_only_the_mean_of_token_vectors_is_trained(tmp_path, root, capsys):
    encoder = SentenceEncoder.from_pretrained(write_transformer(tmp_path / "encoder"))
    encoder.model.poolings = ["cls"]
    encoder.save_pretrained(tmp_path / "cls")
    words = ["train-supervised", "--data", root / "sentences", "--output", tmp_path / "out", "--model"]
    capsys.readouterr()
    assert run(*words, tmp_path / "cls") == 2
    assert "only the mean of a transformer's token vectors" in capsys.readouterr().err
    assert run(*words, tmp_path / "encoder", "--from-scratch", "--initial-vectors", "builtin") == 2
    assert "--initial-vectors are for encoders of words" in capsys.readouterr().err


def test_predictions_are_a_data_folder_and_measured(root, tmp_path, capsys, artefacts):
    words = ["predict", "--model", root / "classes", "--split", "test"]
    assert run(*words, "--data", root / "sentences", "--output", tmp_path / "found") == 0
    out, err = capsys.readouterr()
    assert "| test |" in out and "accuracy (%)" in out and "20 predictions saved to" in err
    table = load_dataset(str(tmp_path / "found"), split="test", cache_dir=str(tmp_path / "cache"))
    assert table.column_names == ["text", "label", "prediction", "probability"] and len(table) == 20
    right = sum(row["prediction"] == str(row["label"]) for row in table)
    assert f" {100 * right / 20:.1f} |" in out and record(tmp_path / "found")["results"]["rows"] == 20
    assert run(*words, "--data", root / "unlabelled", "--output", tmp_path / "other") == 0
    assert capsys.readouterr().out == ""
    assert "Pearson × 100" in artefacts.run_of("predict").stdout


@pytest.fixture(scope="module")
def topics(tmp_path_factory):
    """Texts with none, one or two labels as CSV, the words that `train-supervised` reads them by, and its model."""
    folder = tmp_path_factory.mktemp("topics")
    lines = ["review,topics"]
    for row in range(80):
        given = [name for name, place in (("battery", 1), ("screen", 2)) if row & place]
        lines.append(f"the {' and '.join(given) or 'price'} of {row},{'|'.join(given)}")
    (folder / "reviews.csv").write_text("\n".join(lines))
    reading = ["--data", folder / "reviews.csv", "--text-column", "review", "--label-column", "topics"]
    common = ["train-supervised", *reading, "--label-separator", "|"]
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("HF_DATASETS_CACHE", str(folder / "cache"))
        assert run(*common, "--freeze-encoder", "--output", folder / "judge") == 0
        found = folder / "found"
        words = ["--model", folder / "judge", *reading, "--label-separator", "|", "--split", "train"]
        assert run("predict", *words, "--output", found) == 0
        assert run("predict", *words, "--output", folder / "all", "--threshold", 1e-9) == 0
    return folder, load_dataset(str(found), split="train", cache_dir=str(folder / "cache"))


def test_a_text_may_have_several_labels_or_none(topics):
    folder, table = topics
    results = record(folder / "judge")["results"]
    assert results["dev"]["micro_f1"] > 90 and set(results["dev"]["f1"]) == {"battery", "screen"}
    judge = SentenceClassifierModel.from_pretrained(folder / "judge")
    for method in (judge.classes, judge.scores):
        with pytest.raises(UsageError, match=r"the objective multi_label [(]call label_probabilities[)]"):
            method(["the battery"])
    assert judge.model.config.problem_type == "multi_label_classification"
    for row in table:
        likely = [name for name, value in zip(("battery", "screen"), row["probability"], strict=True) if value >= 0.5]
        assert row["prediction"] == likely
    right = [row["prediction"] == (row["topics"] or "").split("|") or not row["topics"] for row in table]
    assert np.mean(right) > 0.9 and {len(row["prediction"]) for row in table} == {0, 1, 2}
    rows = load_dataset(str(folder / "all"), split="train", cache_dir=str(folder / "cache"))
    assert all(row["prediction"] == ["battery", "screen"] for row in rows), "the threshold is applied"
    classify = pipeline("text-classification", model=str(folder / "judge"), top_k=None)
    (found,) = classify([table[3]["review"]])
    assert {item["label"]: pytest.approx(item["score"], abs=1e-5) for item in found} == dict(
        zip(("battery", "screen"), table[3]["probability"], strict=True)
    )
    assert "micro F1" in (folder / "judge/README.md").read_text()


def graph_of(judge, folder, texts):
    """The logits and probabilities that the graph in a folder gives."""
    inputs = judge.tokenizer(texts, padding=True, return_tensors="np")
    session = onnxruntime.InferenceSession(folder / "onnx/model.onnx")
    feed = {name: inputs[name].astype(np.int64) for name in ("input_ids", "attention_mask")}
    return session.run(["logits", "probabilities"], feed)


def test_an_exported_classifier_gives_the_probabilities_of_predict(topics, root, tmp_path, capsys):
    folder, table = topics
    texts, expected = table["review"], np.array(table["probability"])
    common = ["export", "--output", tmp_path / "json", "--format", "json", "--model"]
    assert run(*common, folder / "judge") == 0
    head = json.loads((tmp_path / "json/classifier.json").read_text())
    assert head["labels"] == ["battery", "screen"] and head["activation"] == "sigmoid"
    made_with = record(folder / "judge")["inputs"][0]
    assert head["encoder"] == {name: made_with[name] for name in ("name", "sha256")}
    logits = SentenceEncoder.from_pretrained("builtin").encode(list(texts)) @ np.array(head["weight"]).T + head["bias"]
    np.testing.assert_allclose(1 / (1 + np.exp(-logits)), expected, atol=1e-5)
    assert run("export", "--model", folder / "judge", "--output", tmp_path / "sigmoid") == 0
    _, probabilities = graph_of(
        SentenceClassifierModel.from_pretrained(folder / "judge"), tmp_path / "sigmoid", list(texts)
    )
    np.testing.assert_allclose(probabilities, expected, atol=1e-5)
    classes = ["export", "--output", tmp_path / "softmax", "--model", root / "classes"]
    assert run(*classes) == 0
    judge = SentenceClassifierModel.from_pretrained(root / "classes")
    logits, probabilities = graph_of(judge, tmp_path / "softmax", ["w3 w0 w4", "w3"])
    np.testing.assert_allclose(logits, judge.logits(["w3 w0 w4", "w3"]), atol=1e-5)
    np.testing.assert_allclose(probabilities.max(1), judge.classes(["w3 w0 w4", "w3"])[1], atol=1e-5)
    assert AutoTokenizer.from_pretrained(tmp_path / "softmax").vocab_size
    capsys.readouterr()
    predict = ["predict", "--data", root / "sentences", "--output", tmp_path / "found", "--model"]
    for words, problem in (
        ([*predict, folder / "judge"], "the model gives several labels per text, but the column label has one class"),
        ([*predict, root / "classes", "--threshold", 0.4], "--threshold need a model of several labels"),
        ([*common, root / "classes", "--overwrite"], "for a classifier on a frozen encoder (train it with"),
        ([*common, root / "avg", "--overwrite"], "--format json is for classifiers, without --weights"),
        ([*classes, "--overwrite", "--format", "safetensors"], "--format safetensors are for encoders (use --format"),
    ):
        assert run(*words) == 2
        (line,) = capsys.readouterr().err.splitlines()
        assert problem in line
