"""Trains, translates and encodes on the processor and on `stand_in_device.DEVICE`; tells what that is waited for.

It runs in a process of its own, because that device is of a whole process. For each scenario it prints the waits and
the copies of one more step, where the program was then, and the greatest difference of the results of the two devices.
"""

from __future__ import annotations

import json
import os
import random
import sys
from collections import Counter

import numpy as np
import torch
from accelerate.state import PartialState
from stand_in_device import DEVICE, Watched

from hf_paraphrase.encoders.encoder_vocabulary import untrained_encoder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.models.configuration_rnn_search import RnnSearchConfig
from hf_paraphrase.models.modeling_rnn_search import RnnSearchForConditionalGeneration
from hf_paraphrase.tokenization.subword import train_bpe_tokenizer
from hf_paraphrase.translation.batching import TokenizedBitext
from hf_paraphrase.translation.beam_search import translate_batch
from hf_paraphrase.translation.search_settings import SearchConstraints
from hf_paraphrase.translation.trainer import TranslationTrainer, TranslationTrainingArguments

WORDS = [f"w{number}" for number in range(40)]
QUIET = {"use_cpu": True, "report_to": "none", "disable_tqdm": True, "output_dir": "runs"}
STEPS = 2
RANDOM = random.Random(0)
TEXTS = [" ".join(RANDOM.choices(WORDS, k=RANDOM.randint(1, 9))) for _ in range(200)]
PAIRS = [{"sentence1": first, "sentence2": second} for first, second in zip(TEXTS[:100], TEXTS[100:], strict=True)]


def on(arguments, device):
    """Makes a Trainer's arguments those of a device."""
    arguments.device  # noqa: B018  # decides on one
    arguments.__dict__["_setup_devices"] = PartialState._shared_state["device"] = device
    return arguments


def trained(make, device, steps):
    """Trains, and gives the weights and what was waited for."""
    torch.manual_seed(0)
    with Watched() as watched:
        trainer = make(device, steps)
        trainer._save_checkpoint = lambda *args, **kwargs: None
        trainer.train()
        weights = [item.detach().cpu().flatten() for item in trainer.model.parameters()]
    return torch.cat(weights), watched


def of_training(make):
    """Compares devices, and two numbers of steps, which leaves the waits of the beginning and the end out."""
    there, few = trained(make, DEVICE, STEPS)
    _, many = trained(make, DEVICE, 2 * STEPS)
    here, _ = trained(make, torch.device("cpu"), STEPS)
    return {"difference": float((here - there).abs().max())} | of_more(few, many, STEPS)


def of_more(few, many, steps):
    """Lists the waits and the copies that so many more steps have, a step."""
    more = {name: Counter(getattr(many, name)) - Counter(getattr(few, name)) for name in ("waits", "copies")}
    return {name: {where: count / steps for where, count in found.items()} for name, found in more.items()}


def encoder_training(kind, **settings):
    """Trains an encoder."""

    def make(device, steps):
        arguments = EncoderTrainingArguments(max_steps=steps, per_device_train_batch_size=5, **settings, **QUIET)
        model, tokenizer = untrained_encoder(kind, PAIRS, None, seed=0)
        return EncoderTrainer(model, on(arguments, device), PAIRS, tokenizer)

    return of_training(make)


TOKENIZER = train_bpe_tokenizer(TEXTS, 120)
IDS = TOKENIZER(TEXTS)["input_ids"]


def translator():
    """Makes a model whose translations do not end early."""
    torch.manual_seed(0)
    names = {"pad_token_id": TOKENIZER.pad_token_id, "bos_token_id": TOKENIZER.bos_token_id}
    sizes = {"vocab_size": len(TOKENIZER), "hidden_size": 8, "embedding_size": 6}
    config = RnnSearchConfig(
        **sizes,
        **names,
        dropout=0.0,
        label_smoothing=0.1,
        initialization="xavier",
        eos_token_id=TOKENIZER.eos_token_id,
        decoder_start_token_id=TOKENIZER.bos_token_id,
    )
    return RnnSearchForConditionalGeneration(config)


def translation_training():
    """Trains a translation model."""

    def make(device, steps):
        settings = {"eval_strategy": "no", "save_strategy": "no", "load_best_model_at_end": False}
        arguments = TranslationTrainingArguments(
            max_steps=steps, per_device_train_batch_size=5, optim="adamw_torch", warmup_steps=0, **settings, **QUIET
        )
        bitext = TokenizedBitext(IDS[:100], IDS[100:])
        return TranslationTrainer(
            translator(), on(arguments, device), train_dataset=bitext, processing_class=TOKENIZER
        )

    return of_training(make)


def search(num_beams):
    """Translates a batch with two limits, so that the waits of one more step are seen."""
    model = translator().eval()
    with torch.no_grad():
        model.lm_head.bias[TOKENIZER.eos_token_id] -= 1.0

    def found(limit):
        with Watched() as waits:
            lists = translate_batch.__wrapped__(
                model.to(device),
                TOKENIZER,
                IDS[:6],
                num_beams=num_beams,
                num_return_sequences=min(3, num_beams),
                constraints=SearchConstraints(max_target_units=limit),
                scorer=model,
            )
        return [(item.text, item.log_prob) for nbest in lists for item in nbest], waits

    with torch.no_grad():
        device = torch.device("cpu")
        here, _ = found(8)
        device = DEVICE
        there, few = found(8)
        _, many = found(8 + STEPS)
    same = [text for text, _ in here] == [text for text, _ in there]
    scores = [abs(one - other) for (_, one), (_, other) in zip(here, there, strict=False)]
    return {"difference": max(scores) if same else 9.0} | of_more(few, many, STEPS)


def encoding(kind, **settings):
    """Encodes a few and twice as many batches."""
    model, tokenizer = untrained_encoder(kind, PAIRS, None, seed=0)
    encoder = SentenceEncoder(model.eval(), tokenizer)
    here = encoder.encode(TEXTS, batch_size=20)
    watched = []
    for count in (100, 200):
        with Watched() as waits:
            encoder.model.to(DEVICE)
            there = encoder.encode(TEXTS[:count], batch_size=20)
        watched.append(waits)
    return {"difference": float(np.abs(here - there).max())} | of_more(*watched, 5)


SCENARIOS = {
    "avg": lambda: encoder_training("avg"),
    "avg, dense": lambda: encoder_training("avg", dense_optimizer=True),
    "avg, relative": lambda: encoder_training("avg", relative_steps=True),
    "gran": lambda: encoder_training("gran"),
    "translation": translation_training,
    "beam": lambda: search(4),
    "encode avg": lambda: encoding("avg"),
    "encode gran": lambda: encoding("gran"),
}


def main(names):
    """Prints what is found in scenarios, as a JSON object."""
    # Tensors of that device know nothing of this mode, which only saves time.
    torch.inference_mode = torch.no_grad
    sys.stdout.write(json.dumps({name: SCENARIOS[name]() for name in names}) + "\n")
    sys.stdout.flush()
    # PyTorch's threads for such a device do not end by themselves.
    os._exit(0)
