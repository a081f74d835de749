"""What `EncoderTrainer` takes: data sets, losses, evaluators, callbacks, optimizers and models of the user."""

from __future__ import annotations

import json

import numpy as np
import pytest
import torch
from datasets import Dataset
from torch import nn

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders import EncoderTrainer, EncoderTrainingArguments, MarginLoss, SentenceEncoder, encode_pairs
from hf_paraphrase.encoders.negatives import NONE
from hf_paraphrase.errors import InputError, ModelError, UsageError
from hf_paraphrase.export.run import export_encoder
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

WORDS = [f"{letter}{number}" for letter in "ab" for number in range(20)]


@pytest.fixture(scope="module")
def rows():
    generator = np.random.default_rng(0)
    drawn = [generator.integers(20, size=4) for _ in range(47)]
    return [
        {"sentence1": " ".join(f"a{x}" for x in row), "sentence2": " ".join(f"b{x}" for x in row)} for row in drawn
    ]


@pytest.fixture(scope="module")
def tokenizer():
    return build_word_level_tokenizer(WORDS)


def model_of(tokenizer, kind=AvgModel):
    torch.manual_seed(0)
    return kind(kind.config_class(vocab_size=len(tokenizer), hidden_size=8, initializer_range=0.5))


def arguments(folder, **settings):
    options = {"num_train_epochs": 2, "per_device_train_batch_size": 10, "learning_rate": 0.02, "use_cpu": True}
    options |= {"report_to": "none", "disable_tqdm": True, "seed": 5, **settings}
    return EncoderTrainingArguments(output_dir=str(folder), **options)


def train(folder, model, pairs, *given, settings=None, **options):
    trainer = EncoderTrainer(model, arguments(folder, **(settings or {})), pairs, *given, **options)
    trainer.train()
    return trainer


def test_every_source_gives_the_same_pairs(tmp_path, rows, tokenizer):
    table = Dataset.from_list(rows)
    write_split(tmp_path / "pairs", "train", [table.data.table], PAIRS)
    folder = tmp_path / "pairs"
    sources = [
        encode_pairs(folder, tokenizer),
        table.add_column("more", list(range(len(rows)))).with_format("torch"),
        table.to_iterable_dataset(),
        rows,
        iter(rows),
        str(folder),
    ]
    found = []
    for source in sources:
        trainer = EncoderTrainer(model_of(tokenizer), arguments(tmp_path), source, tokenizer)
        found.append(trainer.objective.collator.pairs.tokens.tolist())
    assert all(found[0] == other for other in found[1:]) and len(found[0]) == 8 * len(rows)


def test_an_only_score_chooses_whatever_its_name_and_one_of_several_must_be_named(tmp_path, rows, tokenizer):
    with pytest.raises(UsageError, match="the scores are x, y, and `dev_mean` shall choose"):
        train(tmp_path / "b", model_of(tokenizer), rows, tokenizer, evaluator=lambda encoder: {"x": 1, "y": 2})
    only = train(tmp_path / "c", model_of(tokenizer), rows, tokenizer, evaluator=lambda encoder: {"x": 1.0})
    assert len(only.scores()) == 3


class InBatch(nn.Module):
    """The softmax over the other pairs' second sentences, with a temperature that is learned."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, vectors):
        first, second = nn.functional.normalize(vectors, dim=1).chunk(2)
        return nn.functional.cross_entropy(self.scale * first @ second.T, torch.arange(len(first)))


class Everything(nn.Module):
    """Asks for all that there is."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, vectors, negatives, labels, unused=None):
        self.seen.append((vectors.detach(), negatives, labels))
        return MarginLoss(0.4)(vectors, negatives)


def test_any_module_is_a_loss_and_its_own_weights_are_trained_and_resumed(tmp_path, rows, tokenizer):
    loss = InBatch()
    options = {"settings": {"num_train_epochs": 4}, "evaluator": lambda encoder: 1.0}
    trainer = train(tmp_path / "a", model_of(tokenizer), rows, tokenizer, loss, **options)
    assert loss.scale.item() != 10.0
    trainer.save_model(str(tmp_path / "saved"))
    assert "| loss | InBatch |" in (tmp_path / "saved" / "README.md").read_text()
    assert "scale" not in dict(trainer.model.named_parameters())
    resumed = InBatch()
    again = EncoderTrainer(
        model_of(tokenizer),
        arguments(tmp_path / "a", num_train_epochs=4),
        rows,
        tokenizer,
        resumed,
        lambda encoder: 1.0,
    )
    first = min((tmp_path / "a").glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    again.train(resume_from_checkpoint=str(first))
    assert torch.equal(resumed.scale, loss.scale)


def test_a_loss_is_given_what_its_forward_names(tmp_path, rows, tokenizer):
    labelled = [{**row, "label": number % 2} for number, row in enumerate(rows)]
    loss = Everything()
    trainer = train(tmp_path / "a", model_of(tokenizer), labelled, tokenizer, loss, settings={"num_train_epochs": 1})
    assert len(trainer.objective.collator.pairs) == 47
    vectors, negatives, labels = loss.seen[0]
    assert vectors.shape == (20, 8) and negatives.shape == (20,) and labels.shape == (10,)
    assert set(labels.tolist()) == {0, 1} and ((negatives >= 0) | (negatives == NONE)).all()
    pooled = Everything()
    settings = {"num_train_epochs": 1, "mega_batch_size": 3}
    train(tmp_path / "b", model_of(tokenizer), labelled, tokenizer, pooled, settings=settings)
    vectors, negatives, labels = pooled.seen[0]
    assert len(vectors) >= 20 == len(negatives) and len(labels) == 10
    with pytest.raises(InputError, match="no column `label`"):
        EncoderTrainer(model_of(tokenizer), arguments(tmp_path), rows, tokenizer, Everything())
    with pytest.raises(UsageError, match="mega_batch_size must be 1"):
        EncoderTrainer(model_of(tokenizer), arguments(tmp_path, mega_batch_size=2), rows, tokenizer, InBatch())


def test_an_encoder_may_be_named_and_gets_the_words_of_the_pairs(tmp_path, rows, tokenizer):
    trainer = train(tmp_path / "a", "avg", Dataset.from_list(rows), settings={"num_train_epochs": 1})
    assert isinstance(trainer.model, AvgModel) and "a3" in trainer.tokenizer.get_vocab()
    with pytest.raises(UsageError, match="not words alone"):
        EncoderTrainer("trigram", arguments(tmp_path), rows)
    with pytest.raises(UsageError, match="comes with its tokenizer"):
        EncoderTrainer(model_of(tokenizer), arguments(tmp_path), rows)


def test_a_class_that_takes_the_configuration_of_another_is_refused(tmp_path, rows, tokenizer):
    class Unnamed(AvgModel):
        """Has the configuration of another class."""

    with pytest.raises(UsageError, match="Unnamed has the model type `avg` of AvgModel"):
        EncoderTrainer(model_of(tokenizer, Unnamed), arguments(tmp_path), rows, tokenizer)


def test_a_folder_of_a_subclass_that_transformers_saved_does_not_open_as_the_base(tmp_path, tokenizer):
    """As `model.save_pretrained` writes it: the model type of the base, and code of its own, even of the same name."""
    for name in ("Doubled", "AvgModel"):
        model_of(tokenizer).save_pretrained(tmp_path / name)
        save_tokenizer(tokenizer, tmp_path / name)
        config = json.loads((tmp_path / name / "config.json").read_text())
        config["auto_map"]["AutoModel"] = f"mine.{name}"
        (tmp_path / name / "config.json").write_text(json.dumps(config))
        with pytest.raises(ModelError, match=f"of a class of its own, `(mine.)?{name}`"):
            SentenceEncoder.from_pretrained(tmp_path / name)
        with pytest.raises(ModelError, match=f"of a class of its own, `mine.{name}`"):
            export_encoder(model=tmp_path / name, output=tmp_path / "exported", format="safetensors")
