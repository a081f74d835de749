"""Word vectors distilled from a sentence encoder, without any training.

Every word is encoded as a sentence of its own, and a principal component analysis brings the vectors to fewer
components. The teacher is a local folder that transformers opens (`AutoModel`, with a pooling that its
sentence-transformers files name), so nothing beside transformers is needed to run it.
"""

from __future__ import annotations

import json
import os
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
from numpy.typing import NDArray

from ..artefacts.foreign_files import check_plain_folder, read_bounded
from ..artefacts.foreign_models import check_model_folder, check_total, opening
from ..errors import InputError, ModelError
from ..training.word_vectors import WordVectors

if TYPE_CHECKING:
    from torch import Tensor
    from transformers import PreTrainedModel, PreTrainedTokenizerFast

DISTILLED_DIMENSION = 256
"""How many components are kept unless another number is asked for."""
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
    """

    model: PreTrainedModel
    tokenizer: PreTrainedTokenizerFast
    pooling: str = "mean"

    @classmethod
    def from_pretrained(cls, folder: str | os.PathLike[str], *, device: str | None = None) -> Teacher:
        """Opens a folder of sentence-transformers or transformers; nothing is fetched and no code of it is run.

        A folder without `modules.json` is pooled by the mean. A `Normalize` module is left out: it would only change
        the lengths of vectors that are about to be projected.

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
        return cls(model.eval().to(device or "cpu"), tokenizer, pooling)

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

        longest = min(self.tokenizer.model_max_length, getattr(self.model.config, "max_position_embeddings", 1 << 30))
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
        hidden: Tensor = self.model(input_ids=ids, attention_mask=mask).last_hidden_state
        if self.pooling == "cls":
            return hidden[:, 0]
        weights = mask.unsqueeze(2)
        if self.pooling == "max":
            return hidden.masked_fill(weights == 0, -torch.inf).amax(1)
        return (hidden * weights).sum(1) / weights.sum(1).clamp_min(1)


def distill_word_vectors(
    teacher: Teacher,
    words: Sequence[str],
    *,
    dimension: int = DISTILLED_DIMENSION,
    show_progress_bar: bool = False,
) -> WordVectors:
    """Makes vectors of words: each is encoded by the teacher, then projected on the principal components.

    Args:
        teacher: The sentence encoder.
        words: The words; each once.
        dimension: How many components to keep.
        show_progress_bar: Show the progress on standard error.

    Returns:
        The words in their order and their vectors.

    Raises:
        InputError: If there are fewer words or teacher components than components to keep.
    """
    vectors = teacher.encode(words, show_progress_bar=show_progress_bar)
    most = min(vectors.shape)
    if dimension > most:
        kind = "components of the sentence encoder" if most == vectors.shape[1] else "words"
        raise InputError(
            f"{dimension} components from {most} {kind}", remedy=f"ask for at most {most} (--hidden-size)"
        )
    return WordVectors(list(words), principal_components(vectors, dimension), len(words))


def principal_components(vectors: NDArray[np.float32], dimension: int) -> NDArray[np.float32]:
    """Projects centred vectors on the directions of their greatest variance, without whitening.

    It is the full decomposition, in float64 over the covariance: the same as scikit-learn's `PCA` but for signs, which
    are set so that the largest entry of each direction is positive.

    Args:
        vectors: (rows, components).
        dimension: How many directions to keep, at most `components`.

    Returns:
        float32 (rows, dimension), each column with mean 0, the columns uncorrelated and in falling variance.
    """
    centre = vectors.mean(0, dtype=np.float64)
    covariance = np.zeros((vectors.shape[1], vectors.shape[1]))
    for block in _blocks(vectors):
        centred = block - centre
        covariance += centred.T @ centred
    directions = np.linalg.eigh(covariance)[1][:, ::-1][:, :dimension]
    largest = directions[np.abs(directions).argmax(0), np.arange(dimension)]
    directions = directions * np.where(largest < 0, -1.0, 1.0)
    parts = [((block - centre) @ directions).astype(np.float32) for block in _blocks(vectors)]
    return np.concatenate(parts) if parts else np.zeros((0, dimension), np.float32)


def _blocks(vectors: NDArray[np.float32], size: int = 1 << 14) -> list[NDArray[np.float32]]:
    return [vectors[start : start + size] for start in range(0, len(vectors), size)]


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
