from __future__ import annotations

import math
import unicodedata

import numpy as np
import pytest
import torch
from small_runs import pairs_table
from tiny_encoders import write_average, write_reference_classifier
from tiny_transformers import write_cross_encoder, write_transformer
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from hf_paraphrase.classification.classifier import ReferenceScorer
from hf_paraphrase.classification.references import write_seen
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError, ModelError, UsageError
from hf_paraphrase.filtering.language_model import train_language_model
from hf_paraphrase.filtering.measuring import Measures, add_measures


def scored(table, name, **settings):
    return add_measures(table, [name], measures=Measures(**settings)).to_pydict()


@pytest.fixture(scope="module")
def language_model(tmp_path_factory):
    path = tmp_path_factory.mktemp("model") / "model.arpa"
    train_language_model([["The cat sat.", "the dog sat.", ""], ["A dog barked."]], path, source="text")
    return path


def test_perplexity_is_that_of_the_lowered_translation_and_undefined_for_an_empty_one(language_model):
    kenlm = pytest.importorskip("kenlm", reason="kenlm is not installed")
    texts = ["The cat sat .", "the CAT barked.", "zebra", "", None]
    table = scored(pairs_table([("x", text) for text in texts]), "perplexity", language_model=str(language_model))
    model = kenlm.Model(str(language_model))
    expected = [model.perplexity(text) for text in ("the cat sat .", "the cat barked .", "zebra")]
    assert table["perplexity"][:3] == pytest.approx(expected, rel=1e-4)
    assert all(map(math.isnan, table["perplexity"][3:]))


def test_perplexity_does_not_depend_on_the_form_of_accents(tmp_path):
    pytest.importorskip("kenlm", reason="kenlm is not installed")
    one, other = (unicodedata.normalize(form, "Un caf\u00e9 d\u00e9j\u00e0 ferm\u00e9.") for form in ("NFC", "NFD"))
    for text in (one, other):
        train_language_model([[text, "un chat"]], tmp_path / "model.arpa", source="text")
        table = scored(
            pairs_table([("x", one), ("x", other)]), "perplexity", language_model=str(tmp_path / "model.arpa")
        )
        first, second = table["perplexity"]
        assert first == second < 5


def test_a_file_that_is_no_language_model_is_named(language_model, tmp_path):
    pytest.importorskip("kenlm", reason="kenlm is not installed")
    (tmp_path / "damaged.arpa").write_text(language_model.read_text()[:50])
    with pytest.raises(InputError) as caught:
        scored(pairs_table([("x", "y")]), "perplexity", language_model=str(tmp_path / "damaged.arpa"))
    assert caught.value.path == str(tmp_path / "damaged.arpa")


@pytest.fixture(scope="module")
def encoder(tmp_path_factory):
    return write_average(tmp_path_factory.mktemp("encoder"), ["a", "b", "c", "d"])


def test_similarity_is_the_cosine_of_the_embeddings(encoder):
    pairs = [("a b", "b a"), ("a c", "d"), ("", "a"), ("", "")]
    found = scored(pairs_table(pairs), "similarity", encoder=str(encoder))["similarity"]
    opened = SentenceEncoder.from_pretrained(encoder)
    expected = []
    for first, second in pairs:
        one, two = (opened.encode(text).astype(np.float64) for text in (first, second))
        norms = np.linalg.norm(one) * np.linalg.norm(two)
        expected.append(one @ two / norms if norms else 0.0)
    assert found == pytest.approx(expected, abs=1e-6) and found[0] == pytest.approx(1.0, abs=1e-6)


def test_a_classifier_gives_its_probabilities_of_the_translations_and_marks_what_it_has_seen(encoder, tmp_path):
    write_reference_classifier(tmp_path, ["a", "b", "c"])
    write_seen(tmp_path, {"train": ["B c."], "test": ["c"]})
    pairs = [("a", "a b"), ("b C", None), (None, "zzz"), ("c!", "c c a")]
    found = scored(pairs_table(pairs), "reference_probability", classifier=str(tmp_path))
    expected = ReferenceScorer.from_pretrained(tmp_path).probabilities(["a b", "", "zzz", "c c a"])
    assert found["reference_probability"] == expected.tolist() and len(set(expected)) == 4
    assert all(0 < value < 1 for value in expected) and found["classifier_seen"] == [0, 1, 0, 1]
    with pytest.raises(ModelError, match="`avg` is not a reference classifier"):
        ReferenceScorer.from_pretrained(encoder)


def test_the_language_is_identified_and_the_expected_one_has_its_probability():
    pytest.importorskip("py3langid", reason="py3langid is not installed")
    texts = [
        "The quick brown fox jumps over the lazy dog while the children are watching.",
        "Le renard brun saute par-dessus le chien paresseux pendant que les enfants regardent.",
        "12 % !",
        "",
    ]
    table = pairs_table([("x", text) for text in texts])
    found = scored(table, "language")
    assert found["language"] == ["en", "fr", "und", "und"]
    assert found["language_probability"][0] > 0.5 > found["language_probability"][1] >= 0
    assert all(map(math.isnan, found["language_probability"][2:]))
    french = scored(table, "language", language="fr")
    assert french["language_probability"][1] > 0.5
    with pytest.raises(UsageError, match="`klingon` is not a language"):
        scored(table.slice(0, 0), "language", language="klingon")


@pytest.mark.parametrize("labels", [("score",), ("contradiction", "ENTAILMENT", "neutral")])
def test_a_cross_encoder_reads_pairs_in_both_orders(labels, tmp_path, monkeypatch):
    folder = str(write_cross_encoder(tmp_path / "model", labels))
    monkeypatch.setattr("hf_paraphrase.classification.classifier._PAIRS_PER_BATCH", 3)
    pairs = [("the cat sat", "a doctor sat"), ("the car", "the car"), ("in paris", None), ("a " * 30, "the " * 30)]
    options = {"label": "entailment"} if len(labels) > 1 else {}
    found = scored(pairs_table(pairs), "cross_encoder", cross_encoder=folder, **options)["cross_encoder"]
    model, tokenizer = (kind.from_pretrained(folder) for kind in (AutoModelForSequenceClassification, AutoTokenizer))

    def score(one, two):
        with torch.no_grad():
            # Of one pair with an empty text, the tokenizer would make a single text.
            logits = model(**tokenizer([one], [two], truncation=True, max_length=24, return_tensors="pt")).logits[0]
        return (logits.softmax(0)[1] if len(labels) > 1 else logits.sigmoid()[0]).item()

    expected = [(score(one, two or "") + score(two or "", one)) / 2 for one, two in pairs]
    assert found == pytest.approx(expected, abs=2e-6) and len(set(found)) == 4


def test_a_model_that_is_no_cross_encoder_and_an_unclear_label_are_refused(encoder, tmp_path):
    several = str(write_cross_encoder(tmp_path / "several", ("entailment", "neutral")))
    for folder, label, problem in (
        (several, None, r"the model has 2 labels, not one score \(name the label .*: entailment, neutral"),
        (several, "entailmen", "the model has no label `entailmen` .*entailment"),
        (str(encoder), None, "a model of type `avg` is not a cross-encoder"),
        (str(write_transformer(tmp_path / "bert")), None, "the weights do not fit .* missing classifier"),
    ):
        with pytest.raises(ModelError, match=problem):
            scored(pairs_table([("x", "y")]), "cross_encoder", cross_encoder=folder, label=label)
