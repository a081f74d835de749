from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from huggingface_hub import ModelCard
from transformers import AutoModel

import hf_paraphrase
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.hub.publishing import check_licence, plan_push
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.registry import config_class, model_class
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = ["dog", "cat", "bites", "man", "hound", "gnaws"]


@pytest.fixture
def saved(tmp_path):
    """Trains an encoder from Python for an epoch and saves it; returns the trainer and the folder."""

    def make(evaluator=None):
        rows = [" ".join(np.roll(WORDS, turn)[:3]) for turn in range(6)]
        write_split(tmp_path / "pairs", "train", [pa.table({"sentence1": rows, "sentence2": rows[::-1]})], PAIRS)
        tokenizer = build_word_level_tokenizer(WORDS)
        model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=4))
        arguments = EncoderTrainingArguments(
            str(tmp_path / "run"),
            num_train_epochs=1,
            per_device_train_batch_size=3,
            report_to="none",
            use_cpu=True,
            disable_tqdm=True,
            seed=7,
            hub_token="hf_secret",
        )
        trainer = EncoderTrainer(
            model, arguments, encode_pairs(tmp_path / "pairs", tokenizer), tokenizer, evaluator=evaluator
        )
        trainer.train()
        trainer.save_model(str(tmp_path / "my_encoder"))
        return trainer, tmp_path / "my_encoder"

    return make


def test_the_card_says_what_the_trainer_knows_and_what_it_does_not(saved):
    _, folder = saved(evaluator=lambda encoder: {"dev_mean": 12.5})
    card = ModelCard.load(folder / "README.md")
    assert card.data.license == "unknown" and card.data.library_name == "sentence-transformers"
    rows = ["pairs | 6", "margin | 0.4", "negatives from | both", "updates | 2", "batch size | 3", "untrained | 12.50"]
    for row in (*rows, "loss | two-sided margin loss with the negatives searched in the batch"):
        assert f"| {row} |" in card.text
    assert "4 numbers a sentence" in card.text and "whoever made it should write that here" in card.text
    text = (folder / "provenance.json").read_text()
    record = json.loads(text)
    assert "from Python" in record["command"] and record["seed"] == 7 and record["results"]["updates"] == 2
    assert record["settings"]["per_device_train_batch_size"] == 3
    assert "hf_secret" not in text and str(folder.parent) not in text
    plan = plan_push(folder, "name/my_encoder")
    check_licence(plan)
    (content,) = (file.content.decode() for file in plan.files if file.name == "README.md")
    assert 'SentenceEncoder.from_pretrained("name/my_encoder")' in content


def test_a_card_that_is_there_is_kept_with_its_record_and_a_warning(saved, caplog):
    trainer, folder = saved()
    assert "stay as they were" not in caplog.text
    (folder / "README.md").write_text("mine\n")
    record = (folder / "provenance.json").read_bytes()
    trainer.state.global_step = 99
    trainer.save_model(str(folder))
    assert (folder / "README.md").read_text() == "mine\n" and (folder / "provenance.json").read_bytes() == record
    assert "stay as they were" in caplog.text
    (folder / "README.md").unlink()
    trainer.save_model(str(folder))
    assert "| updates | 99 " in (folder / "README.md").read_text()
    assert json.loads((folder / "provenance.json").read_text())["results"]["updates"] == 99


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
