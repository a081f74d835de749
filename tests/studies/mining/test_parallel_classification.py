from __future__ import annotations

import shutil

import numpy as np
import pytest
import torch
from transformers import AutoModel, AutoTokenizer

from hf_paraphrase.errors import ModelError
from hf_paraphrase.models.configuration_parallel_bigru import ParallelBiGruConfig
from hf_paraphrase.models.modeling_parallel_bigru import ParallelBiGruModel
from hf_paraphrase.studies.mining.parallel_classification import ParallelClassifier
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

FRENCH = ["Un chat", "un deux trois", "", "chat un deux un 1982 trois deux", "deux"]
ENGLISH = ["a cat", "one", "two cat one one a", "ONE 1982!", "unknown words"]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    torch.manual_seed(0)
    path = tmp_path_factory.mktemp("classifier") / "bigru"
    source = build_word_level_tokenizer(["un", "deux", "trois", "chat", "0000"], contractions=False, digits="zero")
    target = build_word_level_tokenizer(["one", "two", "a", "cat"], contractions=False, digits="remove")
    sizes = {"source_vocab_size": len(source), "target_vocab_size": len(target)}
    config = ParallelBiGruConfig(**sizes, embedding_size=5, hidden_size=3, initializer_range=1.0)
    ParallelBiGruModel(config).save_pretrained(path)
    save_tokenizer(source, path / "source_tokenizer")
    save_tokenizer(target, path / "target_tokenizer")
    return path


@torch.no_grad()
def test_vectors_and_probabilities_are_those_of_the_auto_classes_one_text_at_a_time(folder):
    classifier = ParallelClassifier.from_pretrained(folder)
    model = AutoModel.from_pretrained(folder)
    tokenizers = [
        AutoTokenizer.from_pretrained(folder, subfolder=f"{side}_tokenizer") for side in ("source", "target")
    ]
    sources, targets = classifier.encode_source(FRENCH), classifier.encode_target(ENGLISH)
    assert sources.dtype == np.float32 and sources.shape == (5, 6)
    for row, (french, english) in enumerate(zip(FRENCH, ENGLISH, strict=True)):
        left = torch.tensor([tokenizers[0](french)["input_ids"]], dtype=torch.long)
        right = torch.tensor([tokenizers[1](english)["input_ids"]], dtype=torch.long)
        output = model(left, None, right)
        np.testing.assert_allclose(sources[row], output.source_vectors[0], atol=1e-6)
        np.testing.assert_allclose(targets[row], output.target_vectors[0], atol=1e-6)
        probability = classifier.probabilities([french], [english])[0]
        assert probability == pytest.approx(output.logits.sigmoid().item(), abs=1e-6)
    assert not sources[2].any()


def test_a_folder_that_is_no_whole_classifier_is_refused(folder, tmp_path):
    shutil.copytree(folder, tmp_path / "copy")
    (tmp_path / "copy/target_tokenizer/tokenizer.json").write_text("{}")
    with pytest.raises(ModelError, match="cannot be opened"):
        ParallelClassifier.from_pretrained(tmp_path / "copy")
