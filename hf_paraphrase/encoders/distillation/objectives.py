"""What a student learns from its teachers: to have their vectors.

The projection between the two spaces is kept orthonormal (its columns are unit vectors at right angles), so that the
cosines of projected students are those of the students themselves, and nothing is lost when it is thrown away after
training. What an average could learn through any other projection it learns by its table.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import numpy as np
import torch
from numpy.typing import NDArray
from torch import Tensor, nn
from torch.nn import functional

if TYPE_CHECKING:
    from ...models.modeling_avg import AvgModel
    from ...tokenization.token_ids import TokenIds

_TEXTS_LOOKED_AT = 1 << 16
_SAME = 0.9999
"""Targets with a greater cosine are of one text; they are kept in float16."""


def cosine_objective(students: Tensor, targets: Tensor) -> Tensor:
    """Computes the mean of 1 - cos(student, target) over texts, both (texts, dim)."""
    return 1 - functional.cosine_similarity(students, targets, dim=1).mean()


def ranking_objective(students: Tensor, targets: Tensor, *, scale: float = 20.0) -> Tensor:
    """Computes the mean over texts of the cross-entropy of finding a text's own target among all of the batch.

    Both are (texts, dim). Other texts with the same target, such as translations of each other, do not count.
    """
    students, targets = functional.normalize(students), functional.normalize(targets)
    is_same = targets @ targets.T > _SAME
    own = torch.eye(len(students), dtype=torch.bool, device=students.device)
    logits = (scale * students @ targets.T).masked_fill(is_same & ~own, -torch.inf)
    return functional.cross_entropy(logits, torch.arange(len(students), device=students.device))


def principal_axes(vectors: NDArray[np.floating], count: int) -> NDArray[np.float32]:
    """Finds the directions (components, count) that hold most of the squares of vectors (rows, components).

    They are unit vectors at right angles, not centred, the greatest first; the largest entry of each is positive.
    """
    moments = np.zeros((vectors.shape[1], vectors.shape[1]))
    for start in range(0, len(vectors), 1 << 14):
        block = np.asarray(vectors[start : start + (1 << 14)], np.float64)
        moments += block.T @ block
    axes = np.linalg.eigh(moments)[1][:, ::-1][:, :count]
    largest = axes[np.abs(axes).argmax(0), np.arange(axes.shape[1])]
    return (axes * np.where(largest < 0, -1.0, 1.0)).astype(np.float32)


class DistillationObjective(nn.Module):
    """The weighted sum of the objectives, on whole vectors and on their first components.

        L = mean over d of w_c mean(1 - cos(P_d s_d, t))
            + w_r mean(-log(exp(cos(P_d s_d, t) / 0.05) / sum over t' of exp(cos(P_d s_d, t') / 0.05)))

    s_d has the first d components of a student's vector s, of which d = all is one; t is the target. P_d has the first
    d columns of the projection P, which is trained and kept orthonormal. Without a projection students and targets
    have the same components. A student with more components than the target is compared with the target and zeros.

    Args:
        student_size: Components of a student.
        target_size: Components of a target.
        cosine_weight: w_c.
        ranking_weight: w_r.
        matryoshka: Further d (Kusupati et al. 2022, "Matryoshka Representation Learning").
        axes: The initial P (at least `target_size`, `student_size`), orthonormal columns; None for no projection.

    Attributes:
        description: What it is, in a few words, for the model card.
    """

    projection: nn.Parameter | None
    description = "cosines to the teachers' vectors"

    def __init__(
        self,
        student_size: int,
        target_size: int,
        *,
        cosine_weight: float = 1.0,
        ranking_weight: float = 0.0,
        matryoshka: Sequence[int] = (),
        axes: Tensor | None = None,
    ) -> None:
        super().__init__()
        if axes is None and student_size != target_size:
            raise ValueError(f"vectors of {student_size} components need a projection to those of {target_size}")
        self.cosine_weight = cosine_weight
        self.ranking_weight = ranking_weight
        self.sizes = [size for size in matryoshka if size < student_size] + [student_size]
        self.projection = None if axes is None else nn.Parameter(axes.clone())

    def forward(self, students: Tensor, targets: Tensor) -> Tensor:
        """Computes the loss of a batch of students (texts, dim) and their targets (texts, target dim)."""
        students = students.float()
        loss = students.new_zeros(())
        for size in self.sizes:
            part = students[:, :size]
            if self.cosine_weight > 0:
                loss = loss + self.cosine_weight * cosine_objective(*self._in_one_space(part, targets))
            if self.ranking_weight > 0:
                loss = loss + self.ranking_weight * ranking_objective(*self._in_one_space(part, targets))
        return loss / len(self.sizes)

    def _in_one_space(self, students: Tensor, targets: Tensor) -> tuple[Tensor, Tensor]:
        if self.projection is None:
            return students, targets
        projected = students @ self.projection[:, : students.shape[1]].T
        return projected, functional.pad(targets, (0, projected.shape[1] - targets.shape[1]))

    @torch.no_grad()
    def orthonormalise(self) -> None:
        """Draws the projection back to the nearest one with orthonormal columns: one step of Newton and Schulz.

        It takes deviations e to about 3/4 e², so after each small update one step is enough.
        """
        if self.projection is not None:
            found = self.projection
            found.copy_(1.5 * found - 0.5 * found @ (found.T @ found))


def initial_projection(
    targets: NDArray[np.float32], student_size: int, *, mixed: bool, generator: torch.Generator
) -> Tensor:
    """Makes a projection from students to targets (texts, target dim) to start from: onto their principal axes.

    With `mixed` the axes are turned at random, so that every part of a student's vector gets something of each. It has
    orthonormal columns (the greater of both sizes, student_size).
    """
    size = targets.shape[1]
    axes = torch.from_numpy(principal_axes(targets, min(student_size, size)))
    projection = torch.zeros(max(size, student_size), student_size)
    projection[:size, : axes.shape[1]] = axes
    rest = student_size - axes.shape[1]
    if rest:
        projection[size : size + rest, axes.shape[1] :] = torch.eye(rest)
    if mixed:
        turn, _ = torch.linalg.qr(torch.randn(student_size, student_size, generator=generator))
        projection = projection @ turn
    return projection


@torch.no_grad()
def turn_to_principal_axes(model: AvgModel, texts: TokenIds, components: int = 0, *, seed: int = 0) -> None:
    """Turns the table of an average so that its first components hold as much as they can of the cosines of texts.

    The axes are those of the embeddings of a sample of texts, divided by their lengths and not centred. All of them
    are a rotation, under which no cosine changes; `components` keeps so many, 0 all.
    """
    numbers = np.sort(np.random.default_rng([seed, 4]).permutation(len(texts.lengths))[:_TEXTS_LOOKED_AT])
    table = model.get_parameter("embeddings")
    vectors = []
    for start in range(0, len(numbers), 1 << 12):
        some = texts.take(numbers[start : start + (1 << 12)])
        ids, counts = (torch.from_numpy(part).to(table.device) for part in (some.ids.astype(np.int64), some.lengths))
        vectors.append(model.mean_of_words(ids, counts).cpu())
    unit = nn.functional.normalize(torch.cat(vectors)).numpy()
    kept = components or unit.shape[1]
    axes = torch.from_numpy(principal_axes(unit, kept)).to(table.device)
    model.embeddings = nn.Parameter(table @ axes)
    model.config.hidden_size = kept
