from __future__ import annotations

import json

import pytest
from huggingface_hub import ModelCard
from tiny_encoders import write_average
from tiny_training import rows_of, sides, tokenizer, trainer_of

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.hub.publishing import check_redistribution, plan_push


@pytest.fixture
def saved(tmp_path):
    """Trains an encoder from Python for an epoch and saves it; returns the trainer and the folder."""

    def make(evaluator=None):
        data = tokenizer(), encode_pairs(rows_of(*sides(6)), tokenizer())
        options = {"num_train_epochs": 1, "per_device_train_batch_size": 3, "seed": 7, "hub_token": "hf_secret"}
        trainer = trainer_of(tmp_path / "run", data, evaluator=evaluator, **options)
        trainer.train()
        trainer.save_model(str(tmp_path / "my_encoder"))
        return trainer, tmp_path / "my_encoder"

    return make


def test_card_and_record_of_what_a_trainer_saves_say_what_is_known_and_no_secret(saved):
    _, folder = saved(evaluator=lambda encoder: {"dev_mean": 12.5})
    card = ModelCard.load(folder / "README.md")
    assert card.data.license == "unknown" and card.data.library_name == "sentence-transformers"
    assert "8 components per sentence" in card.text and "Before you publish it, describe them here" in card.text
    text = (folder / "provenance.json").read_text()
    record = json.loads(text)
    assert "from Python" in record["command"] and record["seed"] == 7 and record["results"]["updates"] == 2
    assert record["settings"]["per_device_train_batch_size"] == 3 and len(record["results"]["dev_scores"]) == 2
    assert "hf_secret" not in text and str(folder.parent) not in text
    plan = plan_push(folder, "name/my_encoder")
    check_redistribution(plan)
    (content,) = (file.content.decode() for file in plan.files if file.name == "README.md")
    assert 'SentenceEncoder.from_pretrained("name/my_encoder")' in content


def test_a_card_that_is_there_is_kept_with_its_record_and_a_warning(saved, caplog):
    trainer, folder = saved()
    assert "are not changed" not in caplog.text
    (folder / "README.md").write_text("mine\n")
    record = (folder / "provenance.json").read_bytes()
    trainer.state.global_step = 99
    trainer.save_model(str(folder))
    assert (folder / "README.md").read_text() == "mine\n" and (folder / "provenance.json").read_bytes() == record
    assert "are not changed" in caplog.text
    (folder / "README.md").unlink()
    trainer.save_model(str(folder))
    assert json.loads((folder / "provenance.json").read_text())["results"]["updates"] == 99


def test_the_card_and_the_record_of_a_copy_and_of_its_copy_name_the_source(tmp_path):
    folder = write_average(tmp_path / "model")
    head = "license: mit\nlanguage: en\nbase_model: org/base\n"
    (folder / "README.md").write_text(f"---\n{head}---\n# x\n\n## Training\n\nOn pairs.\n")
    (folder / "provenance.json").write_text('{"command": "hf-paraphrase train-encoder"}\n')
    assert SentenceEncoder.from_pretrained(folder).save_pretrained(tmp_path / "copy") == tmp_path / "copy"
    card = ModelCard.load(tmp_path / "copy" / "README.md", ignore_metadata_errors=False)
    assert card.data.license == "mit" and card.data.base_model == "org/base"
    assert "**model**" in card.text and "### Training\n\nOn pairs." in card.text
    record = json.loads((tmp_path / "copy" / "provenance.json").read_text())
    assert record["inputs"][0]["name"] == "model"
    # A copy of the copy still has the record of the training.
    SentenceEncoder.from_pretrained(tmp_path / "copy").save_pretrained(tmp_path / "again")
    record = json.loads((tmp_path / "again" / "source_provenance.json").read_text())
    assert record["source"]["command"] == "hf-paraphrase train-encoder"
