from __future__ import annotations

import pytest
import torch
from datasets import Dataset

from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.training.devices import bf16_is_fast, is_bf16
from hf_paraphrase.translation import TranslationTrainer, TranslationTrainingArguments, load_translation_model

FRENCH, ENGLISH = ["un", "deux", "trois", "quatre", "cinq", "six"], ["one", "two", "three", "four", "five", "six"]


def pairs(count, offset=0):
    rows = []
    for index in range(offset, offset + count):
        digits = [(index // 6**place) % 6 for place in range(2 + index % 3)]
        rows.append({"source": " ".join(FRENCH[i] for i in digits), "target": " ".join(ENGLISH[i] for i in digits)})
    return Dataset.from_list(rows)


@pytest.fixture
def parts():
    torch.manual_seed(0)
    train = pairs(40)
    tokenizer = train_bpe_tokenizer([*train["source"], *train["target"]], 60)
    config = RnnSearchConfig(
        vocab_size=len(tokenizer),
        hidden_size=8,
        embedding_size=6,
        initialization="xavier",
        **{f"{name}_token_id": getattr(tokenizer, f"{name}_token_id") for name in ("pad", "bos", "eos")},
        decoder_start_token_id=tokenizer.bos_token_id,
    )
    return RnnSearchForConditionalGeneration(config), tokenizer, train, pairs(6, offset=100)


def arguments(folder, **settings):
    common = {"num_train_epochs": 2, "per_device_train_batch_size": 8, "warmup_steps": 2, "learning_rate": 0.01}
    return TranslationTrainingArguments(str(folder), use_cpu=True, report_to="none", **{**common, **settings})


def bleus(trainer):
    return [entry["eval_bleu"] for entry in trainer.state.log_history if "eval_bleu" in entry]


def test_a_dataset_of_pairs_goes_in_and_the_best_weights_come_out(parts, tmp_path, capfd):
    model, tokenizer, train, dev = parts
    before = {name: value.clone() for name, value in model.state_dict().items()}
    trainer = TranslationTrainer(
        model,
        arguments(tmp_path, eval_steps=0.5, save_steps=0.5),
        train_dataset=train,
        eval_dataset=dev,
        processing_class=tokenizer,
    )
    trainer.train()
    assert trainer.state.global_step == 10 and len(bleus(trainer)) == 2
    assert any(not torch.equal(value, before[name]) for name, value in model.state_dict().items())
    assert trainer.state.best_metric == max(bleus(trainer))
    out, err = capfd.readouterr()
    assert out == "" and "dev bleu=" in err and "{" not in err
    trainer.save_model(str(tmp_path / "saved"))
    opened, opened_tokenizer = load_translation_model(tmp_path / "saved", device="cpu")
    assert all(torch.equal(value, opened.state_dict()[name]) for name, value in model.state_dict().items())
    assert opened_tokenizer.get_vocab() == tokenizer.get_vocab()


@pytest.mark.parametrize(
    ("given", "steps", "peak"),
    [(None, 50, 5), (None, 10_000, 400), (150, 200, 150), (20, 10, None), (0.5, 50, 25), (0, 50, 0)],
)
def test_the_usual_warm_up_takes_a_tenth_of_a_short_run_and_one_that_is_given_is_kept(
    parts, tmp_path, given, steps, peak
):
    model, tokenizer, train, _ = parts
    settings = arguments(tmp_path, warmup_steps=given, eval_strategy="no", load_best_model_at_end=False)
    trainer = TranslationTrainer(model, settings, train_dataset=train, processing_class=tokenizer)
    trainer.create_optimizer_and_scheduler(steps)
    rates = []
    for _ in range(min(steps, 500)):
        rates.append(trainer.optimizer.param_groups[0]["lr"])
        trainer.optimizer.step()
        trainer.lr_scheduler.step()
    if peak is None:
        assert max(rates) < settings.learning_rate  # it ends before it has warmed up
    else:
        assert rates.index(max(rates)) == peak and max(rates) == settings.learning_rate
    assert settings.warmup_steps == given


def test_other_metrics_see_translations_and_references_and_may_choose(parts, tmp_path):
    model, tokenizer, train, dev = parts
    seen = []

    def words(prediction):
        seen.append(prediction)
        return {"words": float(len(seen) == 1)}

    trainer = TranslationTrainer(
        model,
        arguments(tmp_path, eval_steps=5, save_steps=5, metric_for_best_model="words"),
        train_dataset=train,
        eval_dataset=dev,
        processing_class=tokenizer,
        compute_metrics=words,
    )
    trainer.train()
    assert trainer.state.best_model_checkpoint.endswith("checkpoint-5")
    assert seen[0].label_ids == dev["target"] and len(seen[0].predictions) == len(dev)
    assert all(isinstance(text, str) for text in seen[0].predictions)
    metrics = trainer.evaluate(pairs(3), metric_key_prefix="test")
    assert {"test_bleu", "test_words"} <= set(metrics) and len(seen[-1].predictions) == 3


def test_the_trainer_of_a_dataset_learns_what_the_verb_learns(tmp_path, parts):
    """The same pairs, seed and settings give the same bytes, by the verb's recipe and by ten lines of the user."""
    from transformers import set_seed

    from hf_paraphrase import train_translation
    from hf_paraphrase.data.folder import write_split
    from hf_paraphrase.data.schema import BITEXT

    _, _, train, dev = parts
    languages = {"source_lang": "fr", "target_lang": "en"}
    for split, rows in (("train", train), ("validation", dev)):
        table = [{"id": str(number), **row, **languages} for number, row in enumerate(rows)]
        batch = Dataset.from_list(table).with_format("arrow")[:].select(BITEXT.names).cast(BITEXT)
        write_split(tmp_path / "bitext", split, [batch], BITEXT)
    sizes = {"vocab_size": 60, "hidden_size": 8, "embedding_size": 6, "batch_size": 8, "warmup_steps": 2}
    model, tokenizer = train_translation(
        bitext=[str(tmp_path / "bitext")],
        output=str(tmp_path / "made"),
        epochs=2,
        evaluations=2,
        learning_rate=0.01,
        precision="fp32",
        **sizes,
    )
    set_seed(0)
    own = RnnSearchForConditionalGeneration(model.config)
    trainer = TranslationTrainer(
        own,
        arguments(tmp_path / "own", eval_steps=0.5, save_steps=0.5, seed=0),
        train_dataset=train.map(lambda _: languages),
        eval_dataset=dev.map(lambda _: languages),
        processing_class=tokenizer,
    )
    trainer.train()
    for name, value in model.state_dict().items():
        assert torch.equal(value, own.state_dict()[name]), name


@pytest.mark.parametrize("in_hardware", [True, False])
def test_bf16_that_a_gpu_only_emulates_is_not_called_fast(monkeypatch, in_hardware):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation or in_hardware
    )
    assert bf16_is_fast() is is_bf16("auto") is in_hardware
    for name in ("_is_amx_tile_supported", "_is_avx512_bf16_supported"):
        monkeypatch.setattr(torch.cpu, name, lambda: not in_hardware)
    assert is_bf16("auto", "cpu") is not in_hardware, "a GPU does not help who computes on the processor"
    assert is_bf16("auto", "cuda:1") is in_hardware
    assert is_bf16("bf16") and not is_bf16("fp32")
