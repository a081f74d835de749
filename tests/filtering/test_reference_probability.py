from __future__ import annotations

import pyarrow as pa
import pytest
import torch

from hf_paraphrase.errors import ModelError
from hf_paraphrase.filtering.measuring import Measures, add_measures
from hf_paraphrase.filtering.reference_classifier.reference_classification import ReferenceScorer
from hf_paraphrase.filtering.reference_classifier.references import write_seen
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_reference_classifier import ReferenceClassifierConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_reference_classifier import ReferenceClassifier
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer


@pytest.fixture(scope="module")
def classifier(tmp_path_factory):
    folder = tmp_path_factory.mktemp("models") / "classifier"
    torch.manual_seed(0)
    tokenizer = build_word_level_tokenizer(["a", "b", "c"])
    size = {"vocab_size": len(tokenizer), "embedding_size": 4, "initializer_range": 1.0}
    ReferenceClassifier(ReferenceClassifierConfig(**size)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    write_seen(folder, {"train": ["B c."], "test": ["c"]})
    return folder


def measured(table, folder):
    measures = Measures(classifier=str(folder))
    return add_measures(table, ["reference_probability"], measures=measures)


def test_the_columns_are_the_classifiers_probabilities_of_the_translations_and_what_it_has_seen(classifier):
    table = pa.table({"sentence1": ["a", "b C", None, "c!"], "sentence2": ["a b", None, "zzz", "c c a"]})
    scored = measured(table, classifier)
    expected = ReferenceScorer.from_pretrained(classifier).probabilities(["a b", "", "zzz", "c c a"])
    assert scored.column("reference_probability").to_pylist() == expected.tolist()
    assert scored.column("classifier_seen").to_pylist() == [0, 1, 0, 1]
    assert all(0 < value < 1 for value in expected) and len(set(expected)) == 4


def test_a_model_of_another_type_is_refused(tmp_path):
    AvgModel(AvgConfig(vocab_size=5, hidden_size=2)).save_pretrained(tmp_path)
    with pytest.raises(ModelError, match="`avg` is not a reference classifier"):
        ReferenceScorer.from_pretrained(tmp_path)


def test_a_classifier_without_its_list_is_refused(classifier, tmp_path):
    import shutil

    shutil.copytree(classifier, tmp_path / "copy")
    (tmp_path / "copy/references.tsv").unlink()
    with pytest.raises(ModelError, match="list of the references"):
        measured(pa.table({"sentence1": ["a"], "sentence2": ["b"]}), tmp_path / "copy")
