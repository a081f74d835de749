from __future__ import annotations

import json

import numpy as np
import pytest
from huggingface_hub import ModelCard
from transformers import AutoModel

import hf_paraphrase
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.errors import OutputError
from hf_paraphrase.models.registry import config_class, model_class
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

TEXTS = ["The cat sat.", "a zebra", "", "cat " * 30]


def model_folder(folder, model_type="avg", **settings):
    tokenizer = build_word_level_tokenizer(["the", "cat", "sat", "down", "."])
    given = {"vocab_size": len(tokenizer), "hidden_size": 6, "initializer_range": 0.5, **settings}
    model_class(model_type)(config_class(model_type)(**given)).save_pretrained(folder)
    save_tokenizer(tokenizer, folder)
    (folder / "README.md").write_text(
        "---\nlicense: mit\nlanguage: en\nbase_model: org/base\n---\n# x\n\n## Training\n\nOn pairs.\n"
    )
    (folder / "provenance.json").write_text('{"command": "hf-paraphrase train-encoder"}\n')
    return folder


@pytest.mark.parametrize("model_type", ["avg", "gran"])
def test_a_saved_encoder_opens_everywhere_with_the_same_vectors(tmp_path, model_type):
    encoder = SentenceEncoder.from_pretrained(model_folder(tmp_path / "model", model_type))
    assert encoder.save_pretrained(tmp_path / "copy") == tmp_path / "copy"
    expected = encoder.encode(TEXTS)
    np.testing.assert_array_equal(SentenceEncoder.from_pretrained(tmp_path / "copy").encode(TEXTS), expected)
    assert AutoModel.from_pretrained(tmp_path / "copy").config.model_type == model_type
    card = ModelCard.load(tmp_path / "copy" / "README.md", ignore_metadata_errors=False)
    assert card.data.license == "mit" and card.data.base_model == "org/base"
    assert "**model**" in card.text and "### Training\n\nOn pairs." in card.text
    record = json.loads((tmp_path / "copy" / "provenance.json").read_text())
    assert record["inputs"][0]["name"] == "model" and (tmp_path / "copy" / "source_provenance.json").is_file()


def test_an_int8_folder_becomes_one_that_transformers_and_sentence_transformers_open(tmp_path):
    folder = model_folder(tmp_path / "model")
    hf_paraphrase.export_encoder(model=folder, output=tmp_path / "int8", format="safetensors", weights="int8")
    encoder = SentenceEncoder.from_pretrained(tmp_path / "int8")
    encoder.save_pretrained(tmp_path / "float")
    model = AutoModel.from_pretrained(tmp_path / "float")
    np.testing.assert_array_equal(model.embeddings.detach().numpy(), encoder.model.embeddings.detach().numpy())
    transformer = pytest.importorskip("sentence_transformers").SentenceTransformer(str(tmp_path / "float"))
    np.testing.assert_allclose(transformer.encode(TEXTS), encoder.encode(TEXTS), atol=1e-6)


def test_what_is_there_is_kept_unless_it_may_be_replaced(tmp_path):
    folder = model_folder(tmp_path / "model")
    encoder = SentenceEncoder.from_pretrained(folder)
    before = (folder / "model.safetensors").read_bytes()
    with pytest.raises(OutputError, match="not empty"):
        encoder.save_pretrained(folder)
    with pytest.raises(OutputError, match="the output is the model"):
        encoder.save_pretrained(folder, overwrite=True)
    assert (folder / "model.safetensors").read_bytes() == before
    encoder.save_pretrained(tmp_path / "copy")
    encoder.save_pretrained(tmp_path / "copy", overwrite=True)
