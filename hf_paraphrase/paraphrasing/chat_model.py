"""Paraphrases by a decoder-only model with a chat template, on this machine."""

from __future__ import annotations

from collections.abc import Sequence
from contextlib import closing
from pathlib import Path
from typing import Any

import torch
from transformers import AutoConfig, LogitsProcessorList, PreTrainedModel
from transformers.models.auto.modeling_auto import MODEL_FOR_CAUSAL_LM_MAPPING

from ..artefacts.files import read_json_object, wrap_load_errors
from ..artefacts.hub_models import model_folder, model_name
from ..artefacts.model_loading import check_model_type, load_weights, open_tokenizer_folder
from ..data.batch_function import Progress, no_progress
from ..errors import ModelError
from ..text.normalization import is_blank
from ..threads import in_threads, one_thread
from .answers import paraphrases_in
from .generators import SENTENCE, Candidate, Generator, SamplingOptions, check_prompt
from .sampling import SeededDraw, until_end


class ChatModel(Generator):
    """Asks a chat model for paraphrases; each answer is a hypothesis of a beam search or a sample.

    Args:
        name: Folder or name on the Hub of a model with a chat template.
        prompt: The message of the user, with `{sentence}`.
        num_beams: Width of the beam search.
        sampling: Sample with these options instead of a beam search.
        max_new_tokens: Maximum length of an answer in tokens.
    """

    writes_freely = True

    def __init__(
        self,
        name: str,
        prompt: str,
        *,
        language: str | None = None,
        num_beams: int = 5,
        sampling: SamplingOptions | None = None,
        max_new_tokens: int = 128,
        device: str | None = None,
        bf16: bool = False,
    ) -> None:
        self.name, self.prompt, self.language = name, check_prompt(prompt), language
        self.num_beams, self.sampling, self.max_new_tokens = num_beams, sampling, max_new_tokens
        folder = model_folder(name, any_type=True)
        self.model: Any = _load(folder, torch.bfloat16 if bf16 else torch.float32)
        self.tokenizer: Any = open_tokenizer_folder(folder)
        if not self.tokenizer.chat_template:
            remedy = "give a model that was trained on instructions, or use --generator seq2seq or round-trip"
            raise ModelError("the model has no chat template", path=folder, remedy=remedy)
        ends = self.model.generation_config.eos_token_id or self.tokenizer.eos_token_id
        if ends is None:
            raise ModelError("the model has no end token", path=folder, remedy="set eos_token_id in its configuration")
        self.ends = ends if isinstance(ends, list) else [ends]
        self.model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    def candidates(
        self, sentences: Sequence[str], num: int, *, progress: Progress = no_progress
    ) -> list[list[Candidate] | str]:
        """Ask for one sentence at a time, so that answers do not depend on the batch."""

        def ask(sentence: str) -> list[Candidate] | str:
            return "empty source" if is_blank(sentence) else self._answers(sentence, num)

        outcomes = []
        # On a CPU, each thread processes one sentence.
        threads = torch.get_num_threads() if self.model.device.type == "cpu" else 1
        with one_thread(), closing(in_threads(ask, sentences, threads)) as answered:
            for outcome in answered:
                outcomes.append(outcome)
                progress(1)
        return outcomes

    @torch.inference_mode()
    def _answers(self, sentence: str, num: int) -> list[Candidate] | str:
        messages = [{"role": "user", "content": self.prompt.replace(SENTENCE, sentence)}]
        ids = self.tokenizer.apply_chat_template(
            messages, add_generation_prompt=True, return_tensors="pt", return_dict=True
        )["input_ids"].to(self.model.device)
        longest = getattr(self.model.config, "max_position_embeddings", None)
        if longest and ids.shape[1] + self.max_new_tokens > longest:
            return f"prompt of {ids.shape[1]} tokens; the model has {longest} positions"
        shared = {
            "do_sample": False,
            "temperature": None,
            "top_p": None,
            "top_k": None,
            "max_new_tokens": self.max_new_tokens,
            "max_length": None,
            "eos_token_id": self.ends,
            "pad_token_id": self.ends[0] if self.tokenizer.pad_token_id is None else self.tokenizer.pad_token_id,
        }
        if self.sampling is None:
            beams = max(num, self.num_beams)
            rows, shared = ids, {**shared, "num_beams": beams, "num_return_sequences": num}
        else:
            draw = SeededDraw(self.sampling, ids[0].tolist(), num)
            rows, shared = ids.repeat(num, 1), {**shared, "logits_processor": LogitsProcessorList([draw])}
        sequences = self.model.generate(input_ids=rows, attention_mask=torch.ones_like(rows), **shared)
        answers = [until_end(row, self.ends) for row in sequences[:, ids.shape[1] :].tolist()]
        distinct = [list(answer) for answer in dict.fromkeys(map(tuple, answers))]
        texts = self.tokenizer.batch_decode(distinct, skip_special_tokens=True)
        log_probs = self._log_probs(ids[0], distinct)
        candidates: list[Candidate] = []
        for text, log_prob, answer in zip(texts, log_probs, distinct, strict=True):
            ended = answer[-1] in self.ends
            # Special tokens within an answer are not in its text, so that the log-probability differs.
            is_plain = not set(answer[: len(answer) - ended]) & set(self.tokenizer.all_special_ids)
            answered = Candidate(text, is_finished=ended)
            if is_plain:
                answered = answered._replace(log_prob=log_prob, num_tokens=len(answer) - ended)
            candidates += paraphrases_in(answered)
        return candidates

    def _log_probs(self, prompt: torch.Tensor, answers: Sequence[Sequence[int]]) -> list[float]:
        """Compute Σ log p of the tokens of each answer after the prompt, in nats."""
        totals = []
        for answer in answers:
            ids = torch.cat([prompt, torch.tensor(answer, device=prompt.device)])
            logits = self.model(input_ids=ids.unsqueeze(0), use_cache=False).logits[0, len(prompt) - 1 : -1]
            chosen = logits.float().log_softmax(-1).gather(-1, ids[len(prompt) :].unsqueeze(-1))
            totals.append(float(chosen.cpu().double().sum()))
        return totals

    def describe(self) -> dict[str, Any]:
        """Return the name of the model and its prompt."""
        return {"model": model_name(self.name), "prompt": self.prompt}


def _load(folder: Path, dtype: torch.dtype) -> PreTrainedModel:
    """Load a decoder-only model from a folder, without third-party code."""
    path = folder / "config.json"
    model_type = read_json_object(path, ModelError).get("model_type") if path.is_file() else None
    check_model_type(folder, [str(model_type)], kind="language model", verb="transformers")
    with wrap_load_errors("the model", path):
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    if type(config) not in MODEL_FOR_CAUSAL_LM_MAPPING or getattr(config, "is_encoder_decoder", False):
        problem = f"a model of type `{str(model_type)[:80]}` is not a decoder-only language model"
        raise ModelError(problem, path=folder, remedy="give a chat model, or use --generator seq2seq or round-trip")
    return load_weights(folder, MODEL_FOR_CAUSAL_LM_MAPPING[type(config)], dtype=dtype)
