"""Paraphrases with a local decoder-only model that has a chat template."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import torch
from transformers import LogitsProcessorList

from ..artefacts.hub_models import model_folder, model_name
from ..artefacts.model_loading import load_transformers_model, open_tokenizer_folder
from ..errors import ModelError
from .generators import Candidate, ChatGenerator
from .seq2seq import SeededDraw


class ChatModel(ChatGenerator):
    """Asks a chat model for paraphrases; each answer is a hypothesis of a beam search or a sample.

    Args:
        name: Folder or name on the Hub of a model with a chat template.
        prompt: The message of the user, with `{sentence}`.
        num_beams: Width of the beam search.
        **options: Options of :class:`ChatGenerator`.
    """

    def __init__(
        self,
        name: str,
        prompt: str,
        *,
        num_beams: int = 5,
        device: str | None = None,
        bf16: bool = False,
        **options: Any,
    ) -> None:
        super().__init__(name, prompt, **options)
        self.num_beams = num_beams
        folder = model_folder(name, any_type=True)
        remedy = "give a chat model, or use --generator seq2seq or round-trip"
        self.model: Any = load_transformers_model(
            folder,
            "AutoModelForCausalLM",
            kind="decoder-only language model",
            remedy=remedy,
            dtype=torch.bfloat16 if bf16 else torch.float32,
        )
        self.tokenizer: Any = open_tokenizer_folder(folder)
        if self.model.config.is_encoder_decoder:
            raise ModelError("the model is not a decoder-only language model", path=folder, remedy=remedy)
        if not self.tokenizer.chat_template:
            remedy = "give a model that was trained on instructions, or use --generator seq2seq or round-trip"
            raise ModelError("the model has no chat template", path=folder, remedy=remedy)
        ends = self.model.generation_config.eos_token_id or self.tokenizer.eos_token_id
        if ends is None:
            raise ModelError("the model has no end token", path=folder, remedy="set eos_token_id in its configuration")
        self.ends = ends if isinstance(ends, list) else [ends]
        self.model.to(device or ("cuda" if torch.cuda.is_available() else "cpu"))

    @property
    def threads(self) -> int:
        """The number of sentences processed at a time: on a CPU, one per thread."""
        return torch.get_num_threads() if self.model.device.type == "cpu" else 1

    @torch.inference_mode()
    def answers(self, sentence: str, num: int) -> list[Candidate] | str:
        """Generate distinct answers, with log-probabilities."""
        ids = self.tokenizer.apply_chat_template(
            self.messages(sentence), add_generation_prompt=True, return_tensors="pt", return_dict=True
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
        answers = [_cut_at_end(row, self.ends) for row in sequences[:, ids.shape[1] :].tolist()]
        distinct = [list(answer) for answer in dict.fromkeys(map(tuple, answers))]
        texts = self.tokenizer.batch_decode(distinct, skip_special_tokens=True)
        log_probs = self._log_probs(ids[0], distinct)
        candidates = []
        for text, log_prob, answer in zip(texts, log_probs, distinct, strict=True):
            ended = answer[-1] in self.ends
            # Special tokens within an answer are not in its text, so that the log-probability differs.
            is_plain = not set(answer[: len(answer) - ended]) & set(self.tokenizer.all_special_ids)
            answered = Candidate(text, is_finished=ended)
            if is_plain:
                answered = answered._replace(log_prob=log_prob, num_tokens=len(answer) - ended)
            candidates.append(answered)
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


def _cut_at_end(token_ids: Sequence[int], ends: Sequence[int]) -> list[int]:
    """Cut token ids after the first end token."""
    end = next((index for index, token in enumerate(token_ids) if token in ends), len(token_ids))
    return list(token_ids[: end + 1])
