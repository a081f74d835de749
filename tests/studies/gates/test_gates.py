from __future__ import annotations

import numpy as np
import pytest
import torch

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError, ModelError
from hf_paraphrase.evaluation.verdicts import Interval
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_gran import GranModel
from hf_paraphrase.studies.gates.gate_report import compare, gate_report
from hf_paraphrase.studies.gates.gates import check_gran, component_gates, word_gates, words_of_texts
from hf_paraphrase.studies.gates.grouped_means import GroupMean
from hf_paraphrase.studies.gates.word_labels import DEPENDENCY, TAG, LabelledSentence, kind_of_word
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer

VOCABULARY = ["the", "cat", "sat", "do", "n't", "café", "."]
TEXTS = ["The cat don't sat.", "café", "", "zzz the cat sat the cat sat", "the"]
SETTINGS = [
    {"cell": "lstm"},
    {"cell": "gru"},
    {"bidirectional": True},
    {"bidirectional": True, "direction_merge": "sum"},
]


def make(tokenizer=None, **settings):
    tokenizer = tokenizer or build_word_level_tokenizer(VOCABULARY)
    torch.manual_seed(5)
    model = GranModel(GranConfig(vocab_size=len(tokenizer), hidden_size=6, initializer_range=0.7, **settings)).eval()
    with torch.no_grad():
        for parameter in model.parameters():
            parameter.normal_(std=0.7)
    return SentenceEncoder(model, tokenizer)


def alone(encoder, text):
    """The gates of one text as the model gives them, and its token vectors."""
    batch = encoder.tokenizer([text], return_tensors="pt")
    with torch.no_grad():
        output = encoder.model(batch["input_ids"], output_gates=True)
    return output.gates[0].double().numpy(), output.last_hidden_state[0].double().numpy()


@pytest.mark.parametrize("settings", SETTINGS)
def test_the_gates_of_words_are_those_of_each_sentence_alone(settings):
    encoder = make(**settings)
    sentences = words_of_texts(encoder, TEXTS)
    assert [item.words for item in sentences] == [
        ["The", "cat", "do", "n't", "sat", "."],
        ["café"],
        ["zzz", "the", "cat", "sat", "the", "cat", "sat"],
        ["the"],
    ]
    found = word_gates(encoder, sentences)
    expected = [alone(encoder, item.text) for item in sentences]
    np.testing.assert_allclose(found.gates, np.concatenate([gates.mean(1) for gates, _ in expected]), atol=1e-6)
    np.testing.assert_allclose(
        found.gated_norms, np.concatenate([np.linalg.norm(vectors, axis=1) for _, vectors in expected]), rtol=1e-5
    )
    assert found.positions.tolist() == [*range(6), 0, *range(7), 0] and found.without_tokens == 0
    assert found.lengths.tolist() == [6] * 6 + [1] + [7] * 7 + [1]
    assert [found.words[row] for row in np.flatnonzero(~found.known)] == ["zzz"]
    turned = word_gates(encoder, sentences[::-1])
    np.testing.assert_allclose(turned.gates[-6:], found.gates[:6], atol=1e-6)


@pytest.mark.parametrize("settings", SETTINGS[:2])
def test_a_word_in_pieces_has_the_mean_of_its_pieces(settings):
    texts = ["the cat sat there", "a catastrophe sat", "the cat"] * 5
    encoder = make(train_bpe_tokenizer(texts, 24), **settings)
    sentence = LabelledSentence.of_words(["the", "catastrophe", "sat"], {TAG: ["DT", "NN", "VBD"]})
    found = word_gates(encoder, [sentence])
    encoded = encoder.tokenizer.backend_tokenizer.encode(sentence.text)
    gates, _ = alone(encoder, sentence.text)
    assert len(encoded.ids) > 3 and found.words == ["the", "catastrophe", "sat"]
    for word, (start, end) in enumerate(sentence.spans):
        pieces = [row for row, (_, last) in enumerate(encoded.offsets) if start < last <= end]
        assert found.gates[word] == pytest.approx(gates[pieces].mean(), abs=1e-6)
    assert found.labels[TAG] == ["DT", "NN", "VBD"]
    words, components = component_gates(encoder, sentence)
    assert words == found.words
    np.testing.assert_allclose(components.mean(1), found.gates, atol=1e-6)


def test_tagged_words_that_the_tokenizer_cuts_differently_keep_their_tags():
    encoder = make()
    sentence = LabelledSentence.of_words(["don't", "\u200b", "sat."], {TAG: ["VB", "X", "VBD"]})
    found = word_gates(encoder, [sentence])
    gates, _ = alone(encoder, sentence.text)
    assert found.words[0] == "don't" and found.labels[TAG][0] == "VB" and found.labels[TAG][-1] == "VBD"
    assert found.gates[0] == pytest.approx(gates[:2].mean(), abs=1e-6)


def test_skipped_unknown_words_are_counted_and_left_out():
    encoder = make(skip_unknown=True)
    found = word_gates(encoder, words_of_texts(encoder, ["zzz the cat", "zzz"]))
    # Alone an unknown word counts, for there is no other.
    assert found.words == ["the", "cat", "zzz"] and found.without_tokens == 1
    words, _ = component_gates(encoder, words_of_texts(encoder, ["zzz the cat"])[0])
    assert words == ["the", "cat"]


def test_no_word_at_all_is_an_error():
    with pytest.raises(InputError, match="no word of the text has a token"):
        word_gates(make(), [LabelledSentence("", ())])


def test_a_sentence_without_words_has_a_picture_of_nothing():
    words, gates = component_gates(make(), LabelledSentence("", ()))
    assert words == [] and gates.shape == (0, 6)


def test_a_model_without_gates_is_refused():
    tokenizer = build_word_level_tokenizer(VOCABULARY)
    encoder = SentenceEncoder(AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=4)), tokenizer)
    with pytest.raises(ModelError, match="`avg` has no gates"):
        check_gran(encoder, "folder")
    check_gran(make(), "folder")


def test_the_report_sees_a_gate_that_depends_on_the_tag():
    encoder = make()
    with torch.no_grad():
        for name, parameter in encoder.model.named_parameters():
            if name.startswith("gate"):
                parameter.zero_()
        encoder.model.gate_input.weight[:, 0] = 5.0
        encoder.model.embeddings.zero_()
        encoder.model.embeddings[[2, 8], 0] = -1.0  # the, .
        encoder.model.embeddings[[3, 4], 0] = 1.0  # cat, sat
    sentence = LabelledSentence.of_words(
        ["the", "cat", "sat"], {TAG: ["DT", "NN", "VBD"], DEPENDENCY: ["det", "nn", "root"]}
    )
    report = gate_report(word_gates(encoder, [sentence] * 5), min_count=2, replicates=10)
    means = {item.name: item.mean.value for item in report.labels[TAG]}
    high, low = 1 / (1 + np.exp(-5.0)), 1 / (1 + np.exp(5.0))
    assert means == pytest.approx({"NN": high, "VBD": high, "DT": low}, abs=1e-6)
    assert [item.name for item in report.words] == ["cat", "sat", "the"]
    assert report.explained == pytest.approx(1.0) and report.unknown == 0
    for comparison in report.paper.values():
        assert comparison.in_order == 100 and comparison.verdict == "holds" and comparison.high == comparison.low == 1
    # Nothing is left of the position once the words are taken into account.
    assert all(abs(item.mean.value) < 1e-6 for item in report.adjusted_from_start)
    assert [item.name for item in report.from_start] == ["1", "2", "3"]
    plain, gated, shift = report.details[TAG]["DT"]
    assert (
        plain == pytest.approx(1.0) and gated == pytest.approx(low, abs=1e-6) and shift == pytest.approx(0, abs=1e-6)
    )
    rare = gate_report(word_gates(encoder, [sentence]), min_count=2, replicates=10)
    assert rare.words == [] and rare.labels[TAG] == [] and rare.paper == {}


def test_the_comparison_with_the_paper_can_fail_too():
    def group(name, value):
        return GroupMean(name, 1, Interval(value, value, value))

    norms = {"NN": 2.0, "DT": 1.0}
    opposite = compare(TAG, [group("NN", 0.1), group("DT", 0.9)], norms)
    assert opposite.verdict == "does not" and opposite.in_order_by_norm == 100
    partly = compare(
        TAG,
        [group("NN", 0.5), group("JJ", 0.1), group("DT", 0.4), group("TO", 0.3), group("IN", 0.05)],
        dict.fromkeys(["NN", "JJ", "DT", "TO", "IN"], 1.0),
    )
    assert (
        partly.in_order_by_norm == 50
        and partly.in_order == pytest.approx(100 * 4 / 6)
        and partly.verdict == "cannot tell"
    )
    assert compare(TAG, [group("NN", 0.1)], {"NN": 1.0}) is None and compare(TAG, [group("foo", 0.1)], {}) is None


@pytest.mark.parametrize(
    ("word", "kind"),
    [
        ("The", "articles"),
        ("I", "personal pronouns"),
        ("to", "to"),
        ("n\u2019t", "negation"),
        ("3,000", "numbers"),
        ("...", "punctuation"),
        ("chat", "other words"),
        ("\u732b", "other words"),
    ],
)
def test_the_kind_of_a_word(word, kind):
    assert kind_of_word(word) == kind


def test_todays_names_of_dependency_labels_count_as_those_of_the_paper():
    def group(name, value):
        return GroupMean(name, 1, Interval(value, value, value))

    found = compare(
        DEPENDENCY,
        [group("compound", 0.5), group("nummod", 0.4), group("aux:pass", 0.1)],
        {"compound": 1.0, "nummod": 1.0, "aux:pass": 2.0},
    )
    assert found.in_order_by_norm == 0
    assert (found.high, found.low, found.in_order) == (2, 1, 100.0)


def test_universal_tags_are_compared_too():
    def group(name, value):
        return GroupMean(name, 1, Interval(value, value, value))

    found = compare(TAG, [group("NOUN", 0.5), group("ADP", 0.1), group("VERB", 0.9)], {"NOUN": 1.0, "ADP": 0.5})
    assert (found.high, found.low, found.in_order, found.in_order_by_norm) == (1, 1, 100.0, 100.0)
