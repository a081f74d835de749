"""The sentence encoders of others, from which ours may learn.

A teacher is a local folder that transformers opens (`AutoModel`, with a pooling that its sentence-transformers files
name), so nothing beside transformers is needed to run it; or one of our own encoders.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any, Protocol

import numpy as np
from numpy.typing import NDArray

from ...artefacts.foreign_files import check_plain_folder, read_bounded
from ...artefacts.foreign_models import check_model_folder, check_total, opening
from ...errors import ModelError

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

TOKENS_PER_BATCH = 1 << 12
_POOLINGS = {
    "pooling_mode_mean_tokens": "mean",
    "pooling_mode_cls_token": "cls",
    "pooling_mode_max_tokens": "max",
}
_LONGEST_SETTINGS = 1 << 20
_REMEDY = "give a sentence encoder that transformers opens, with mean, cls or max pooling"


@dataclass
class Teacher:
    """A sentence encoder that is not ours.

    Attributes:
        model: The transformer.
        tokenizer: Its fast tokenizer.
        pooling: How its token vectors become one: `mean`, `cls` or `max`.
        longest: How many tokens of a text it reads at most, if its folder says so.
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    pooling: str = "mean"
    longest: int | None = None

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""
        return int(self.model.config.hidden_size)

    @classmethod
    def from_pretrained(
        cls, folder: str | os.PathLike[str], *, device: str | None = None, bf16: bool = False
    ) -> Teacher:
        """Opens a folder of sentence-transformers or transformers; nothing is fetched and no code of it is run.

        A folder without `modules.json` is pooled by the mean. A `Normalize` module is left out: it would only change
        the lengths of vectors, and whoever learns from them looks at their directions alone.

        Args:
            folder: The folder.
            device: Where to compute; None for the CPU.
            bf16: Compute in bfloat16; the mean over the tokens is taken in fp32.

        Raises:
            ModelError: If the folder is missing or damaged, or is built in a way that cannot be followed.
        """
        import torch
        from transformers import AutoConfig, AutoModel, AutoTokenizer

        folder = Path(folder)
        if not folder.is_dir():
            raise ModelError("no such model folder", path=folder, remedy=_REMEDY)
        check_plain_folder(folder, ModelError)
        place, pooling = _layout(folder)
        tensors = check_model_folder(place, ours=False)
        with opening("the sentence encoder", folder, _REMEDY):
            # Built without memory first: tensors that the weights lack would be made in whatever size is asked for.
            with torch.device("meta"):
                config = AutoConfig.from_pretrained(place, local_files_only=True, trust_remote_code=False)
                empty = AutoModel.from_config(config, trust_remote_code=False)
            if not tensors:
                raise ModelError("it has no model.safetensors", path=folder, remedy="convert it to safetensors first")
            check_total(empty, tensors, place)
            model = AutoModel.from_pretrained(
                place, local_files_only=True, trust_remote_code=False, use_safetensors=True
            )
            tokenizer = AutoTokenizer.from_pretrained(place, local_files_only=True, trust_remote_code=False)
        if not tokenizer.is_fast or tokenizer.pad_token_id is None:
            raise ModelError("its tokenizer is not a fast one with a padding token", path=folder, remedy=_REMEDY)
        model = model.eval().to(device or "cpu", torch.bfloat16 if bf16 else torch.float32)
        return cls(model, tokenizer, pooling, _longest(place))

    def encode(self, texts: Sequence[str], *, show_progress_bar: bool = False) -> NDArray[np.float32]:
        """Embeds short texts, those of like length together.

        Args:
            texts: The texts; what exceeds the teacher's greatest length is cut off.
            show_progress_bar: Show the progress, in texts, on standard error.

        Returns:
            float32 (texts, dimension), not normalised, in the order of the texts.
        """
        import torch
        from tqdm.auto import tqdm

        bounds = (getattr(self.model.config, "max_position_embeddings", None), self.longest)
        longest = min(self.tokenizer.model_max_length, *(bound for bound in bounds if bound is not None), 1 << 30)
        ids = self.tokenizer(list(texts), truncation=True, max_length=longest)["input_ids"] if texts else []
        rows: list[NDArray[np.float32] | None] = [None] * len(ids)
        order = sorted(range(len(ids)), key=lambda row: len(ids[row]))
        with torch.inference_mode(), tqdm(total=len(ids), unit=" words", disable=not show_progress_bar) as progress:
            start = 0
            while start < len(order):
                end = start + 1
                while end < len(order) and (end + 1 - start) * len(ids[order[end]]) <= TOKENS_PER_BATCH:
                    end += 1
                batch = order[start:end]
                vectors = self._embed([ids[row] for row in batch]).float().cpu().numpy()
                for row, vector in zip(batch, vectors, strict=True):
                    rows[row] = vector
                progress.update(len(batch))
                start = end
        found = [row for row in rows if row is not None]
        return np.stack(found) if found else np.zeros((0, int(self.model.config.hidden_size)), np.float32)

    def _embed(self, rows: list[list[int]]) -> Tensor:
        import torch

        length = max(1, *map(len, rows))
        ids = torch.full((len(rows), length), int(self.tokenizer.pad_token_id), dtype=torch.long)
        mask = torch.zeros((len(rows), length), dtype=torch.long)
        for place, row in enumerate(rows):
            ids[place, : len(row)] = torch.tensor(row, dtype=torch.long)
            mask[place, : len(row)] = 1
        ids, mask = ids.to(self.model.device), mask.to(self.model.device)
        hidden: Tensor = self.model(input_ids=ids, attention_mask=mask).last_hidden_state.float()
        if self.pooling == "cls":
            return hidden[:, 0]
        weights = mask.unsqueeze(2)
        if self.pooling == "max":
            return hidden.masked_fill(weights == 0, -torch.inf).amax(1)
        return (hidden * weights).sum(1) / weights.sum(1).clamp_min(1)


class SentenceVectors(Protocol):
    """What embeds texts: a :class:`Teacher` or one of our own encoders."""

    @property
    def dimension(self) -> int:
        """The number of components of an embedding."""

    def encode(self, texts: Sequence[str], *, show_progress_bar: bool = ...) -> NDArray[np.float32]:
        """Embeds texts as float32 (texts, dimension)."""


def _layout(folder: Path) -> tuple[Path, str]:
    """Finds the folder of the transformer and the pooling of a sentence encoder."""
    modules = _read_json(folder / "modules.json")
    if modules is None:
        return folder, "mean"
    place, pooling = folder, "mean"
    if not isinstance(modules, list):
        raise ModelError("damaged: not a list of modules", path=folder / "modules.json", remedy="copy the model again")
    for module in modules:
        inside = _inside(folder, module)
        kind = str(module.get("type")).rpartition(".")[2]
        if kind == "Transformer":
            place = inside
        elif kind == "Pooling":
            settings = _read_json(inside / "config.json")
            pooling = _pooling(settings if isinstance(settings, dict) else {}, folder)
        elif kind != "Normalize":
            raise ModelError(f"a module `{kind}` cannot be followed", path=folder / "modules.json", remedy=_REMEDY)
    return place, pooling


def _pooling(settings: dict[str, Any], folder: Path) -> str:
    # Newer folders give the mode by name, older ones as a flag for each.
    named = settings.get("pooling_mode")
    modes = [named] if isinstance(named, str) else [key for key in settings if key.startswith("pooling_mode_")]
    chosen = [_POOLINGS.get(key, key) for key in modes if isinstance(named, str) or settings[key] is True]
    if len(chosen) != 1 or chosen[0] not in _POOLINGS.values():
        raise ModelError(f"a pooling by {', '.join(chosen) or 'nothing'}", path=folder, remedy=_REMEDY)
    return chosen[0]


def _longest(place: Path) -> int | None:
    """Finds out how many tokens of a text a sentence encoder of sentence-transformers reads."""
    settings = _read_json(place / "sentence_bert_config.json")
    found = settings.get("max_seq_length") if isinstance(settings, dict) else None
    return found if isinstance(found, int) and found > 0 else None


def _read_json(path: Path) -> Any:
    if not path.is_file():
        return None
    try:
        return json.loads(read_bounded(path, _LONGEST_SETTINGS, ModelError).decode("utf-8"))
    except (ValueError, RecursionError) as error:
        raise ModelError(f"damaged: {error}", path=path, remedy="copy the model again") from error


def _inside(folder: Path, module: object) -> Path:
    """Returns the folder of a module, which must lie in the model's own."""
    place = module.get("path", "") if isinstance(module, dict) else None
    if not isinstance(place, str) or Path(place).is_absolute() or ".." in Path(place).parts:
        raise ModelError(
            f"a module without a folder in this one: {str(module)[:100]}",
            path=folder / "modules.json",
            remedy="copy the model again, from a source that you trust",
        )
    return folder / place
