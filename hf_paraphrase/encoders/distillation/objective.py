"""The training objective of a student: to imitate the teachers' vectors.

A step gathers the table rows of the tokens in its batch, renumbers the tokens, and runs the model with this small
table instead of its own. Only these rows get a gradient, and :class:`~...training.sparse_gradients.RowAdam` updates
only them.

The projection from the student's to the teachers' space is kept orthonormal (its columns are orthogonal unit vectors).
It changes no cosine of the students, so it can be discarded after training. An average loses nothing by this
restriction, because its table can absorb any linear map.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np
import torch
from numpy.typing import NDArray
from safetensors.torch import load_file, save_file
from torch import Tensor, nn
from torch.func import functional_call
from torch.nn import functional

from ...artefacts.weights import TABLE
from ...tokenization.ragged_ids import TokenIds
from ...training.batches import EpochBatches, Item
from ...vectors.similarity import unit_rows
from ..initial_vectors import compute_principal_axes
from ..objective import Objective
from .char_ngrams import CharNgramEmbeddings
from .teacher_vectors import TeacherVectors

if TYPE_CHECKING:
    from transformers import PreTrainedModel

    from ..sentence_encoder import SentenceEncoder

_TABLE_FILE = "unfolded_table.safetensors"
_TARGETS_OF_AXES, _TEXTS_OF_AXES = 1 << 14, 1 << 16
_SAME = 0.9999
"""Targets with a larger cosine belong to one text; stored in float16, they are not exactly equal."""


@dataclass
class DistillationTexts:
    """The token ids of texts, possibly memory-mapped, and the teachers' vectors.

    `numbers` (items,) are the ids of the texts of an epoch, with repetitions; by default each text once.
    """

    texts: TokenIds
    targets: TeacherVectors
    numbers: NDArray[np.int64] | None = None

    def __len__(self) -> int:
        return len(self.targets if self.numbers is None else self.numbers)


def ranking_objective(students: Tensor, targets: Tensor, *, scale: float = 20.0) -> Tensor:
    """Compute the mean over texts of the cross-entropy of finding a text's own target among all of the batch.

    Both are (texts, dim). Other texts with the same target, such as translations of each other, do not count.
    """
    students, targets = functional.normalize(students), functional.normalize(targets)
    is_same = targets @ targets.T > _SAME
    own = torch.eye(len(students), dtype=torch.bool, device=students.device)
    logits = (scale * students @ targets.T).masked_fill(is_same & ~own, -torch.inf)
    return functional.cross_entropy(logits, torch.arange(len(students), device=students.device))


class DistillationObjective(Objective):
    """The weighted sum of a cosine loss and a ranking loss, for whole vectors and for their first components.

        L = mean over d of w_c mean(1 - cos(P_d s_d, t))
            + w_r mean(-log(exp(cos(P_d s_d, t) / 0.05) / sum over t' of exp(cos(P_d s_d, t') / 0.05)))

    s_d are the first d components of a student's vector s, and one d covers all components (Kusupati et al. 2022,
    "Matryoshka Representation Learning"); t is the target. P_d are the first d columns of the projection P, which is
    trained and kept orthonormal. Without a projection, students and targets have the same components. If a student has
    more components than the target, the target is padded with zeros. If a teacher has no vector for a text, its
    components are masked in both.
    """

    def __init__(
        self, model: PreTrainedModel, args: Any, data: DistillationTexts, letters: CharNgramEmbeddings | None = None
    ) -> None:
        super().__init__()
        self.args, self.data, self.letters = args, data, letters
        self.batches = EpochBatches(len(data), args.per_device_train_batch_size, args.seed)
        self._table = [model.get_parameter(TABLE)]  # which is not a part of this
        size, target_size = model.config.hidden_size, sum(data.targets.sizes)
        self.sizes = [part for part in args.matryoshka if part < size] + [size]
        # The table of an average can be rotated like its vectors, so it needs no square projection.
        turns = model.config.model_type == "avg"
        self.projection: nn.Parameter | None = None
        if size != target_size or not turns or args.matryoshka:
            numbers = np.random.default_rng(args.seed).permutation(len(data.targets))[:_TARGETS_OF_AXES]
            targets = data.targets.take(np.sort(numbers))
            turn = None if turns or args.matryoshka else torch.Generator().manual_seed(args.seed)
            self.projection = nn.Parameter(initial_projection(targets, size, turn=turn))

    def collate(self, items: Sequence[Item]) -> dict[str, Any]:
        """Make a batch from pairs of epoch and text id.

        The padding id is the first token of the batch: a row that does not occur would keep moving by its momentum.

        Returns:
            `rows` (tokens of the batch,), the ids of the different tokens; `input_ids` and `attention_mask`
            (texts, length), indices into `rows`; `targets` (texts, target dim). With character n-grams also
            `ngram_rows`, the different buckets, `ngrams` (total,), indices into `ngram_rows`, and `ngram_offsets`
            (tokens of the batch,), the first n-gram of each token.
        """
        numbers = np.array([number for _, number in items], np.int64)
        numbers = numbers if self.data.numbers is None else self.data.numbers[numbers]
        texts = self.data.texts.take(numbers)
        rows, local = find_distinct(texts.ids if len(texts.ids) else np.zeros(1, np.int64), len(self._table[0]))
        ids, mask = TokenIds(local, texts.offsets).padded(np.arange(len(numbers)), 0)
        batch: dict[str, NDArray[Any]] = {"rows": rows, "targets": self.data.targets.take(numbers)}
        batch |= {"input_ids": ids, "attention_mask": mask.astype(np.int64)}
        if self.letters is not None:
            buckets, batch["ngram_offsets"] = self.letters.of_rows(rows)
            batch["ngram_rows"], batch["ngrams"] = find_distinct(buckets, len(self.letters.table))
        return {name: torch.from_numpy(part) for name, part in batch.items()}

    def compute(self, trainer: Any, model: nn.Module, inputs: dict[str, Any]) -> tuple[Tensor, Tensor]:
        """Compute the loss of a batch, a mean over its texts, and their embeddings."""
        encoder = trainer.accelerator.unwrap_model(model)
        vectors = embed_with_local_table(model, encoder, inputs, self.letters, **trainer.forward_options)
        return self(vectors, inputs["targets"]), vectors

    def forward(self, students: Tensor, targets: Tensor) -> Tensor:
        """Compute the loss of a batch of students (texts, dim) and their targets (texts, target dim)."""
        students = students.float()
        loss = students.new_zeros(())
        for size in self.sizes:
            pair = self._in_one_space(students[:, :size], targets)
            if self.args.cosine_weight > 0:
                loss = loss + self.args.cosine_weight * (1 - functional.cosine_similarity(*pair, dim=1).mean())
            if self.args.ranking_weight > 0:
                loss = loss + self.args.ranking_weight * ranking_objective(*pair)
        return loss / len(self.sizes)

    def _in_one_space(self, students: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        if self.projection is not None:
            students = students @ self.projection[:, : students.shape[1]].T
        num_padding = students.shape[1] - targets.shape[1]
        if self.data.targets.are_partial:
            parts = targets.split(self.data.targets.sizes, dim=1)
            has_target = torch.cat([part.any(1, keepdim=True).expand_as(part) for part in parts], 1)
            students = students * functional.pad(has_target.float(), (0, num_padding), value=1.0)
        return students, functional.pad(targets, (0, num_padding)) if num_padding else targets

    @torch.no_grad()
    def after_update(self) -> None:
        """Make the columns of the projection orthonormal again by one Newton-Schulz step.

        A step reduces a deviation e to about 3/4 e², which is enough after each small update.
        """
        if (projection := self.projection) is not None:
            projection.copy_(1.5 * projection - 0.5 * projection @ (projection.T @ projection))

    def save(self, folder: Path) -> None:
        """Write the weights of the objective, and the table without the n-grams that a checkpoint folds into it."""
        super().save(folder)
        if self.letters is not None:
            save_file({TABLE: self._table[0].detach().contiguous()}, folder / _TABLE_FILE)

    def load(self, folder: Path) -> None:
        """Read the weights that `save` wrote."""
        super().load(folder)
        if self.letters is not None:
            with torch.no_grad():
                self._table[0].copy_(load_file(folder / _TABLE_FILE)[TABLE])


def find_distinct(ids: NDArray[np.integer], size: int) -> tuple[NDArray[np.int64], NDArray[np.int64]]:
    """Return the different ids below `size`, ascending, and the index of each id among them, faster than sorting."""
    occurs, indices = np.zeros(size, bool), np.empty(size, np.int64)
    occurs[ids] = True
    rows = np.flatnonzero(occurs)
    indices[rows] = np.arange(len(rows))
    return rows, indices[ids]


def embed_with_local_table(
    model: nn.Module,
    encoder: PreTrainedModel,
    inputs: dict[str, Tensor],
    letters: CharNgramEmbeddings | None,
    **options: Any,
) -> Tensor:
    """Embed the texts of a batch (texts, dim) by the rows of their tokens alone, with the n-gram vectors added."""
    table = functional.embedding(inputs["rows"], encoder.get_parameter(TABLE), sparse=True)
    if letters is not None and len(inputs["ngrams"]):
        ngrams = functional.embedding(inputs["ngram_rows"], letters.table, sparse=True)
        table = table + functional.embedding_bag(inputs["ngrams"], ngrams, inputs["ngram_offsets"], mode="sum")
    words = {"input_ids": inputs["input_ids"], "attention_mask": inputs["attention_mask"], **options}
    with _local_ids(encoder.config, inputs["rows"]):
        vectors: Tensor = functional_call(model, {TABLE: table}, (), words).pooler_output
    return vectors


@contextmanager
def _local_ids(config: Any, rows: Tensor) -> Iterator[None]:
    """Temporarily remap `vocab_sizes` and `unk_token_id` of a configuration to the rows of a batch."""
    names = ("vocab_sizes", "unk_token_id")
    before = {name: getattr(config, name) for name in names if getattr(config, name, None) is not None}
    try:
        if "vocab_sizes" in before:
            ends = torch.searchsorted(rows, torch.tensor(before["vocab_sizes"], device=rows.device).cumsum(0))
            config.vocab_sizes = torch.diff(ends, prepend=ends.new_zeros(1)).tolist()
        if "unk_token_id" in before:
            matches = (rows == before["unk_token_id"]).nonzero()
            config.unk_token_id = int(matches[0, 0]) if len(matches) else -1
        yield
    finally:
        for name, value in before.items():
            setattr(config, name, value)


def initial_projection(
    targets: NDArray[np.float32], student_size: int, *, turn: torch.Generator | None = None
) -> Tensor:
    """Make the initial projection from students to targets (texts, target dim), onto the targets' principal axes.

    With `turn` the axes are rotated at random, so that no part of a student's vector gets only the last axes.

    Returns:
        A matrix with orthonormal columns (maximum of both sizes, student_size).
    """
    size = targets.shape[1]
    projection = torch.eye(max(size, student_size), student_size)
    axes = torch.from_numpy(compute_principal_axes(targets, min(student_size, size))).float()
    projection[:size, : axes.shape[1]] = axes
    if turn is not None:
        projection = projection @ torch.linalg.qr(torch.randn(student_size, student_size, generator=turn))[0]
    return projection


@torch.no_grad()
def turn_to_principal_axes(encoder: SentenceEncoder, texts: TokenIds, components: int = 0, *, seed: int = 0) -> None:
    """Rotate the table of an average to the principal axes of the embeddings of a sample of texts.

    The embeddings are normalized and not centred. The rotation changes no cosine, and makes the first components the
    best ones for truncation. `components` is the number of components to keep, 0 for all.
    """
    sampled_ids = np.sort(np.random.default_rng([seed, 4]).permutation(len(texts.lengths))[:_TEXTS_OF_AXES])
    sample = texts.take(sampled_ids)
    vectors = encoder.encode_token_ids(TokenIds(sample.ids.astype(np.int64), sample.offsets))
    num_components = components or vectors.shape[1]
    model = encoder.model
    axes = torch.from_numpy(compute_principal_axes(unit_rows(vectors), num_components)).to(model.embeddings)
    model.embeddings = nn.Parameter(model.embeddings @ axes)
    model.config.hidden_size = num_components
