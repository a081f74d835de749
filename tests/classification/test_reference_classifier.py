from __future__ import annotations

import hashlib
import json

import numpy as np
import pytest
import torch
from safetensors.torch import save_file
from small_runs import write_rows
from tiny_encoders import new_model
from tiny_training import on_cpu
from torch import nn

from hf_paraphrase.classification.classifier import (
    ClassifierInputs,
    ReferenceScorer,
    compute_reference_probabilities,
    tokenize,
)
from hf_paraphrase.classification.references import (
    Reference,
    draw_references,
    is_seen,
    read_seen,
    write_seen,
)
from hf_paraphrase.classification.trainer import (
    ClassifierTrainer,
    ClassifierTrainingArguments,
    ReferenceExamples,
    ReferenceLists,
)
from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

WORDS = [f"w{i}" for i in range(12)]


@pytest.fixture(scope="module")
def tokenizer():
    return build_word_level_tokenizer(WORDS)


ENCODERS = {"avg": {"model_type": "avg"}, "lstm": {"model_type": "recurrent", "peepholes": False}}


def classifier(body="avg", seed=0):
    encoder = {**ENCODERS[body], "vocab_size": 14, "hidden_size": 5, "initializer_range": 1.0}
    labels = {0: "translation", 1: "reference"}
    return new_model("sentence_classifier", seed=seed, sentence_encoder=encoder, id2label=labels).eval()


def text_probabilities(model, tokenizer, texts):
    return compute_reference_probabilities(model, tokenize(tokenizer, texts))


def lists(seed=0, count=12, most=4):
    """References begin with w0 to w4, translations with w5 to w9."""
    generator = np.random.default_rng(seed)

    def sentence(low, high):
        words = generator.integers(low, high, size=generator.integers(1, 6))
        return " ".join(f"w{i}" for i in [*words, *generator.integers(10, 12, size=2)])

    texts = [sentence(0, 5) for _ in range(count)]
    sizes = generator.integers(1, most + 1, size=count)
    return [Reference(texts[i], [sentence(5, 10) for _ in range(size)]) for i, size in enumerate(sizes)]


@pytest.mark.parametrize("body", ["avg", "lstm"])
def test_probabilities_are_those_of_each_sentence_alone(tokenizer, body, monkeypatch):
    texts = ["w1 w2 w3", "", "w9", "unknown w4 w4", " ".join(WORDS * 9), "w2 w1"]
    model = classifier(body)
    ids = tokenize(tokenizer, texts).first
    monkeypatch.setattr("hf_paraphrase.classification.classifier._TOKENS_PER_BATCH", 7)
    rows = np.array([5, 0, 3, 1, 4, 2, 0])
    found = compute_reference_probabilities(model, ClassifierInputs(ids.take(rows)))
    for row, value in zip(rows, found, strict=True):
        ids = tokenizer(texts[row], return_tensors="pt")["input_ids"].long().reshape(1, -1)
        assert value == pytest.approx(model(ids).logits.softmax(-1)[0, 1].item(), abs=2e-6)
    assert len(text_probabilities(model, tokenizer, [])) == 0
    # A single text is no list of letters.
    assert text_probabilities(model, tokenizer, texts[0]).tolist() == pytest.approx([found[1]], abs=1e-6)


def test_hardest_takes_from_every_list_what_looks_most_human(tokenizer):
    source, model = lists(), classifier()
    examples = ReferenceLists.encode(source, tokenizer)
    chosen = examples.choose([0, 1], model)
    start = len(source)
    for row, reference in zip(chosen, source, strict=True):
        assert row - start == int(np.argmax(text_probabilities(model, tokenizer, reference.translations)))
        start += len(reference.translations)


def test_accuracy_equals_counting(tokenizer):
    source, model = lists(1, 30, most=1), classifier(seed=3)
    examples = ReferenceLists.encode(source, tokenizer)
    found = examples.test(model, 0)
    human = text_probabilities(model, tokenizer, [item.text for item in source]) > 0.5
    machine = text_probabilities(model, tokenizer, [item.translations[0] for item in source]) <= 0.5
    assert found["references"] == pytest.approx(100 * human.mean())
    assert found["translations"] == pytest.approx(100 * machine.mean())
    assert found["accuracy"] == pytest.approx(50 * (human.mean() + machine.mean())) and found["sentences"] == 60


def trainer(tokenizer, folder, hardest=False, **options):
    args = on_cpu(ClassifierTrainingArguments, folder, per_device_train_batch_size=5, **options)
    train, dev = (ReferenceLists.encode(lists(seed), tokenizer) for seed in (0, 1))
    return ClassifierTrainer(classifier(seed=5), args, ReferenceExamples(train, dev, hardest=hardest))


@pytest.mark.parametrize("hardest", [False, True])
def test_every_epoch_sees_each_reference_once_and_one_of_its_translations(tokenizer, tmp_path, hardest):
    made = trainer(tokenizer, tmp_path, hardest=hardest)
    seen = set()
    for epoch in (0, 1, 2):
        made.begin_epoch(epoch)
        rows = [number for batch in made.batches for _, number in batch]
        assert sorted(rows) == list(range(24))
        assert (made.examples.chosen >= made.examples.references.lists[:-1]).all() and (
            made.examples.chosen < made.examples.references.lists[1:]
        ).all()
        seen.add(tuple(made.examples.chosen))
        labels = torch.cat([made._collate(batch)["labels"] for batch in made.batches])
        assert labels.sum() == 12 and len(labels) == 24
    # Without training in between, the model's choice stays the same.
    assert len(seen) == (2 if hardest else 3)


def test_the_penalty_pulls_the_word_vectors_towards_zero(tokenizer, tmp_path):
    made = trainer(tokenizer, tmp_path, embedding_penalty=0.5)
    batch = made.examples.references.inputs.batch(np.array([0, 13]), 0)
    plain = made.model(**batch).loss
    embeddings = made.model.encoder.embeddings
    torch.testing.assert_close(made.compute_loss(made.model, batch), plain + 0.25 * (embeddings**2).sum())


# ----- references


def write(folder, rows):
    return write_rows(folder, "train", "id sentence1 sentence2", rows)


def n_best(count, translations=2):
    return [(f"n{i}", f"Reference {i}.", f"translation {i} {j}") for i in range(count) for j in range(translations)]


def everything(drawn):
    return [reference for part in drawn.values() for reference in part]


def test_the_parts_are_disjoint_of_the_sizes_asked_for_and_hold_whole_lists(tmp_path):
    folder = write(tmp_path, n_best(40, 3))
    drawn = draw_references(folder, (20, 5, 4))
    assert [len(part) for part in drawn.values()] == [20, 5, 4]
    assert len({item.text for item in everything(drawn)}) == 29
    for reference in everything(drawn):
        number = reference.text.removeprefix("Reference ").removesuffix(".")
        assert reference.translations == [f"translation {number} {j}" for j in range(3)]
    again, other = (everything(draw_references(folder, (20, 5, 4), seed=seed)) for seed in (0, 1))
    assert everything(drawn) == again != other
    fewer = draw_references(folder, (60, 10, 10))
    assert [len(part) for part in fewer.values()] == [30, 5, 5]


def test_the_same_text_under_two_ids_is_one_reference(tmp_path):
    rows = [*n_best(12), ("twin", "REFERENCE 3", "another wording")]
    drawn = draw_references(write(tmp_path, rows), (8, 2, 2))
    (twice,) = [item for item in everything(drawn) if item.text == "Reference 3."]
    assert len(everything(drawn)) == 12 and twice.translations[2:] == ["another wording"]


def test_translations_that_equal_their_reference_are_left_out(tmp_path):
    rows = [*n_best(15), ("n15", "Same  Words", "same words"), ("n16", "Half", "half"), ("n16", "Half", "a half")]
    drawn = draw_references(write(tmp_path, rows), (11, 3, 3))
    translations = {item.text: item.translations for item in everything(drawn)}
    assert "Same  Words" not in translations and translations["Half"] == ["a half"]


@pytest.mark.parametrize(
    ("rows", "expected"),
    [
        (n_best(9), "only 9 references"),
        ([(f"n{i}", f"Reference {i}.", f"reference {i}.") for i in range(20)], "no translation of its"),
        ([("n", None, "x"), ("m", "  ", "y")] * 20, "only 0 references"),
    ],
)
def test_too_little_to_learn_from_is_an_error(tmp_path, rows, expected):
    with pytest.raises(InputError, match=expected):
        draw_references(write(tmp_path, rows), (8, 1, 1))


def test_the_list_of_seen_references_is_found_again(tmp_path):
    write_seen(tmp_path, {"train": ["Plain words."], "dev": ["Mr Ω"], "test": ["ok"]})
    texts, seen = ["plain words", "other", None, "OK!"], [True, False, False, True]
    assert is_seen(texts, read_seen(tmp_path)).tolist() == seen
    (path,) = tmp_path.iterdir()
    assert f"train\t{hashlib.sha256(b'plain words').hexdigest()[:16]}\n" in path.read_text()
    # That of version 0.1 has ids.
    path.write_text("\n".join("\tid 7\t".join(line.split("\t")) for line in path.read_text().splitlines()) + "\n")
    assert is_seen(texts, read_seen(tmp_path)).tolist() == seen


@pytest.mark.parametrize("content", [None, "part\tid\tfingerprint\ntrain\tn1\n", "part\tid\tfingerprint\na\tb\txyz\n"])
def test_a_damaged_list_of_seen_references_is_an_error(tmp_path, content):
    if content is not None:
        (tmp_path / "references.tsv").write_text(content)
    with pytest.raises(ModelError, match=r"references\.tsv"):
        read_seen(tmp_path)


@pytest.mark.parametrize("body", ["avg", "lstm"])
def test_a_folder_of_version_02_opens(tokenizer, tmp_path, body):
    torch.manual_seed(0)
    lstm, classifier, table = nn.LSTM(5, 3), nn.Linear(3 if body == "lstm" else 5, 2), torch.randn(14, 5)
    weights = {"embeddings": table, **{f"classifier.{name}": value for name, value in classifier.state_dict().items()}}
    vectors = table[tokenizer("w1 w2")["input_ids"]]
    sentence = vectors.mean(0)
    if body == "lstm":
        weights |= {f"lstm.{name}": value for name, value in lstm.state_dict().items()}
        sentence = lstm(vectors)[0][-1]
    tokenizer.save_pretrained(tmp_path)
    save_file(weights, tmp_path / "model.safetensors")
    (tmp_path / "config.json").write_text(json.dumps({"model_type": "reference_classifier", "pad_token_id": 0}))
    found = ReferenceScorer.from_pretrained(tmp_path).probabilities(["w1 w2"])
    assert found.tolist() == pytest.approx([classifier(sentence).softmax(-1)[1].item()], abs=2e-6)
