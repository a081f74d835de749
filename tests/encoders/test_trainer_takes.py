"""Arguments of `EncoderTrainer`: data sets, losses, evaluators, callbacks, optimizers and models of the user."""

from __future__ import annotations

import pytest
import tiny_training
import torch
from datasets import Dataset
from tiny_training import arguments, make, rows_of, sides
from torch import nn
from transformers import TrainingArguments
from transformers.trainer_utils import HPSearchBackend

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders import EncoderTrainer, EncoderTrainingArguments, MarginLoss, encode_pairs
from hf_paraphrase.encoders.negatives import NO_NEGATIVE
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.encoders.train import make_trainer_arguments
from hf_paraphrase.encoders.train_settings import EncoderSettings
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer


@pytest.fixture(scope="module")
def rows():
    return rows_of(*sides(47))


@pytest.fixture(scope="module")
def tokenizer():
    return tiny_training.tokenizer()


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
        trainer = EncoderTrainer(make(), arguments(tmp_path), source, tokenizer)
        found.append(trainer.training_objective.collator.pairs.tokens.tolist())
    assert all(found[0] == other for other in found[1:])


def test_the_score_that_chooses_must_be_among_those_of_the_evaluator(tmp_path, rows, tokenizer):
    with pytest.raises(UsageError, match="chosen by `dev_mean`, but the scores are x, y"):
        train(tmp_path / "b", make(), rows, tokenizer, evaluator=lambda encoder: {"x": 1, "y": 2})


class InBatch(nn.Module):
    """Cross-entropy over the second sentences of the batch, with a learned temperature."""

    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.tensor(10.0))

    def forward(self, vectors):
        first, second = nn.functional.normalize(vectors, dim=1).chunk(2)
        return nn.functional.cross_entropy(self.scale * first @ second.T, torch.arange(len(first)))


class Everything(nn.Module):
    """A loss with every parameter."""

    def __init__(self):
        super().__init__()
        self.seen = []

    def forward(self, vectors, negatives, labels, unused=None):
        self.seen.append((vectors.detach(), negatives, labels))
        return MarginLoss(0.4)(vectors, negatives)


def test_any_module_is_a_loss_and_its_own_weights_are_trained_and_resumed(tmp_path, rows, tokenizer):
    loss = InBatch()
    options = {"settings": {"num_train_epochs": 4}, "evaluator": lambda encoder: 1.0}
    trainer = train(tmp_path / "a", make(), rows, tokenizer, loss, **options)
    assert loss.scale.item() != 10.0
    assert "scale" not in dict(trainer.model.named_parameters())
    resumed, again = InBatch(), arguments(tmp_path / "a", num_train_epochs=4)
    again = EncoderTrainer(make(), again, rows, tokenizer, resumed, options["evaluator"])
    first = min((tmp_path / "a").glob("checkpoint-*"), key=lambda path: int(path.name.rpartition("-")[2]))
    again.train(resume_from_checkpoint=str(first))
    assert torch.equal(resumed.scale, loss.scale)


def test_a_loss_is_given_what_its_forward_names(tmp_path, rows, tokenizer):
    labelled = [{**row, "label": number % 2} for number, row in enumerate(rows)]
    for mega in (1, 3):
        loss, settings = Everything(), {"num_train_epochs": 1, "mega_batch_size": mega}
        trainer = train(tmp_path / str(mega), make(), labelled, tokenizer, loss, settings=settings)
        assert len(trainer.training_objective.collator.pairs) == 47
        vectors, negatives, labels = loss.seen[0]
        assert len(vectors) >= 20 == len(negatives) and labels.shape == (10,) and (mega > 1 or len(vectors) == 20)
        assert set(labels.tolist()) == {0, 1} and ((negatives >= 0) | (negatives == NO_NEGATIVE)).all()
    with pytest.raises(InputError, match="no column `label`"):
        EncoderTrainer(make(), arguments(tmp_path), rows, tokenizer, Everything())
    with pytest.raises(UsageError, match="mega_batch_size must be 1"):
        EncoderTrainer(make(), arguments(tmp_path, mega_batch_size=2), rows, tokenizer, InBatch())


def test_an_encoder_may_be_named_and_gets_the_words_of_the_pairs(tmp_path, rows, tokenizer):
    trainer = train(tmp_path / "a", "avg", Dataset.from_list(rows), settings={"num_train_epochs": 1})
    assert isinstance(trainer.model, AvgModel) and "a3" in trainer.tokenizer.get_vocab()
    with pytest.raises(UsageError, match="not words alone"):
        EncoderTrainer("trigram", arguments(tmp_path), rows)


def test_a_class_that_takes_the_configuration_of_another_is_refused(tmp_path, rows, tokenizer):
    class Unnamed(AvgModel):
        """A class with the configuration of another class."""

    with pytest.raises(UsageError, match="Unnamed has the model type `avg` of AvgModel"):
        EncoderTrainer(Unnamed(make().config), arguments(tmp_path), rows, tokenizer)


@pytest.mark.parametrize("loss", ["symmetric-ranking", "cosent", "triplet"])
def test_losses_by_name_train_with_truncated_vectors_and_named_evaluation_sets(tmp_path, rows, tokenizer, loss):
    extra = {"cosent": {"score": 0.5}, "triplet": {"negative": "a9 a8"}}.get(loss, {})
    given = [{**row, **extra} for row in rows]
    graded = [{**row, "score": number / len(rows)} for number, row in enumerate(rows)]
    seen = []
    trainer = EncoderTrainer(
        make(),
        arguments(tmp_path, num_train_epochs=1, loss=loss, matryoshka=[2]),
        given,
        tokenizer,
        eval_dataset={"one": graded, "other": [*graded[:5], {**graded[5], "score": None}]},
        compute_metrics=lambda found: seen.append(found) or {"pairs": float(len(found.predictions))},
    )
    trainer.train()
    scores = trainer.scores()[-1]
    assert scores["one_pairs"] == len(graded) and scores["other_pairs"] == 5
    assert scores["dev_mean"] == pytest.approx((scores["one_dev_mean"] + scores["other_dev_mean"]) / 2)
    with pytest.raises(InputError, match="no pair of eval_dataset has a score"):
        trainer.evaluate([{**graded[0], "score": None}])


def test_schedule_and_steps_of_train_encoder_reach_the_trainer(tmp_path):
    options = {"warmup": 0.1, "weight_decay": 0.01, "logging_steps": 2, "eval_steps": 5, "dev_data": "dev"}
    for scheduler, expected in (("linear", "linear"), ("constant", "constant_with_warmup")):
        settings = EncoderSettings(pairs="pairs", output=str(tmp_path), lr_scheduler=scheduler, **options)
        settings.check()
        args = EncoderTrainingArguments(output_dir=str(tmp_path), use_cpu=True, **make_trainer_arguments(settings))
        assert args.lr_scheduler_type == expected and args.get_warmup_steps(100) == 10 and args.weight_decay == 0.01
        assert (args.logging_steps, args.eval_steps, args.save_steps) == (2, 5, 5)
        assert {args.logging_strategy, args.eval_strategy, args.save_strategy} == {"steps"}


# ----- model_init and data_collator


def weights_of(trainer):
    return {name: value.clone() for name, value in trainer.model.state_dict().items()}


def assert_equal(first, second):
    assert first.keys() == second.keys()
    for name, value in first.items():
        torch.testing.assert_close(value, second[name], atol=0, rtol=0)


def graded_of(rows):
    return [{**row, "score": float(number % 4)} for number, row in enumerate(rows[:12])]


@pytest.mark.parametrize("kind", ["avg", "gru"])
def test_model_init_trains_each_time_as_a_plain_trainer_trains_once(tmp_path, rows, tokenizer, kind):
    dev = {"eval_dataset": graded_of(rows)}
    plain = train(tmp_path / "plain", make(kind), rows, tokenizer, **dev)
    trainer = EncoderTrainer(
        args=arguments(tmp_path / "made"),
        train_dataset=iter(rows),
        processing_class=tokenizer,
        model_init=lambda: make(kind),
        **dev,
    )
    for _ in range(2):
        trainer.train()
        assert_equal(weights_of(trainer), weights_of(plain))
        assert trainer.encoder.model is trainer.model and trainer.scores() == plain.scores()


def test_a_trial_changes_arguments_batches_and_the_loss(tmp_path, rows, tokenizer, monkeypatch):
    trial = {"learning_rate": 0.05, "per_device_train_batch_size": 7, "num_train_epochs": 3, "margin": 0.9}
    settings = {"gradient_accumulation_steps": 2}
    dev = {"eval_dataset": graded_of(rows)}
    plain = train(tmp_path / "plain", make(), rows, tokenizer, settings={**settings, **trial}, **dev)
    seen = []

    def model_init(trial):
        seen.append(trial)
        return make()

    args = arguments(tmp_path / "made", **settings)
    trainer = EncoderTrainer(args=args, train_dataset=rows, processing_class=tokenizer, model_init=model_init, **dev)
    # What `hyperparameter_search` does for each trial, without one of its packages.
    trainer.hp_search_backend, trainer.objective = HPSearchBackend.WANDB, None
    trainer.compute_objective = lambda scores: scores["eval_dev_mean"]
    monkeypatch.setattr(trainer, "_get_output_dir", lambda trial: f"{args.output_dir}/run-1")
    trainer.train(trial=dict(trial))
    assert seen == [None, trial] and args.learning_rate == 0.02
    assert_equal(weights_of(trainer), weights_of(plain))
    assert (tmp_path / "made" / "run-1").is_dir() and trainer.scores() == plain.scores()


def test_a_loss_with_weights_is_made_anew_with_the_model(tmp_path, rows, tokenizer):
    plain = train(tmp_path / "plain", make(), rows, tokenizer, loss=InBatch())
    loss = InBatch()
    options = {"train_dataset": rows, "processing_class": tokenizer, "loss": loss}
    trainer = EncoderTrainer(args=arguments(tmp_path / "made"), model_init=lambda: make(), **options)
    for _ in range(2):
        trainer.train()
        assert_equal(weights_of(trainer), weights_of(plain))
        assert trainer.loss.scale.item() == plain.loss.scale.item() != loss.scale.item() == 10


def test_arguments_that_do_not_fit_are_refused_in_one_sentence(tmp_path, rows, tokenizer):
    given = {"args": arguments(tmp_path), "train_dataset": rows, "processing_class": tokenizer}
    made, optimizer = make(), torch.optim.SGD(make().parameters(), 0.1)
    for options, message in (
        ({}, "give model or model_init, and not both"),
        ({"model": made, "model_init": make}, "give model or model_init, and not both"),
        ({"model_init": make, "optimizers": (optimizer, None)}, "optimizers are for a single model"),
        ({"model": made, "data_collator": list}, "data_collator has no use here: the objective makes the batches"),
        ({"model": made, "args": TrainingArguments(str(tmp_path), use_cpu=True)}, "give EncoderTrainingArguments"),
    ):
        with pytest.raises(UsageError, match=message):
            EncoderTrainer(**{**given, **options})
    other = build_word_level_tokenizer(["other"])
    models = iter([SentenceEncoder(make(), tokenizer), SentenceEncoder(make(), other)])
    trainer = EncoderTrainer(args=arguments(tmp_path), train_dataset=rows, model_init=lambda: next(models))
    with pytest.raises(UsageError, match="model_init returned a model with another tokenizer"):
        trainer.train()


def test_evaluate_names_scores_as_the_trainer_of_transformers_does(tmp_path, rows, tokenizer):
    graded = graded_of(rows)
    trainer = EncoderTrainer(
        make(),
        arguments(tmp_path, metric_for_best_model="eval_one_spread"),
        rows,
        tokenizer,
        eval_dataset={"one": graded, "other": graded[:6]},
        compute_metrics=lambda found: {"eval_spread": float(found.label_ids.max())},
    )
    scores = trainer.evaluate()
    assert {"eval_one_spread", "eval_other_spread", "eval_one_dev_mean"} <= scores.keys()
    # A set by its name, or another set.
    for given in ("other", graded[:6]):
        assert trainer.evaluate(given, metric_key_prefix="test")["test_spread"] == scores["eval_other_spread"]
