from __future__ import annotations

import numpy as np
import pytest
import torch
from torch.nn import functional

from hf_paraphrase.encoders.distillation.objectives import (
    DistillationObjective,
    initial_projection,
    principal_axes,
    ranking_objective,
)


def cosine(first, second):
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


@pytest.fixture
def batch():
    generator = torch.Generator().manual_seed(0)
    return torch.randn(9, 6, generator=generator), functional.normalize(torch.randn(9, 4, generator=generator))


def test_the_weighted_sum_takes_whole_vectors_and_their_first_components(batch):
    students, targets = batch
    axes = initial_projection(targets.numpy(), 6, mixed=True, generator=torch.Generator().manual_seed(1))
    objective = DistillationObjective(6, 4, cosine_weight=2.0, matryoshka=[2, 3], axes=axes)
    expected = 0.0
    padded = np.pad(targets.numpy(), ((0, 0), (0, 2)))
    for size in (2, 3, 6):
        part = students.numpy()[:, :size]
        projected = part @ axes.numpy()[:, :size].T
        expected += 2 * np.mean([1 - cosine(*pair) for pair in zip(projected, padded, strict=True)])
    assert objective(students, targets).item() == pytest.approx(expected / 3, abs=1e-5)


@pytest.mark.parametrize(("student", "target"), [(3, 8), (8, 8), (11, 8)])
@pytest.mark.parametrize("mixed", [True, False])
def test_a_projection_begins_and_stays_orthonormal_so_that_it_changes_no_cosine(student, target, mixed):
    generator = torch.Generator().manual_seed(0)
    targets = torch.randn(50, target, generator=generator)
    axes = initial_projection(targets.numpy(), student, mixed=mixed, generator=generator)
    assert axes.shape == (max(student, target), student)
    torch.testing.assert_close(axes.T @ axes, torch.eye(student), atol=1e-5, rtol=0)
    objective = DistillationObjective(student, target, axes=axes)
    optimizer = torch.optim.Adam(objective.parameters(), lr=1e-2)
    students = torch.randn(50, student, generator=generator)
    before = objective(students, targets).item()
    for _ in range(30):
        optimizer.zero_grad()
        objective(students, targets).backward()
        optimizer.step()
        objective.orthonormalise()
    projection = objective.projection.detach()
    torch.testing.assert_close(projection.T @ projection, torch.eye(student), atol=5e-3, rtol=0)
    assert objective(students, targets).item() < before - 0.01
    projected = students @ projection.T
    torch.testing.assert_close(
        functional.normalize(projected) @ functional.normalize(projected).T,
        functional.normalize(students) @ functional.normalize(students).T,
        atol=5e-3,
        rtol=0,
    )


def test_the_initial_projection_is_onto_the_greatest_axes():
    generator = np.random.default_rng(0)
    vectors = (generator.normal(size=(400, 5)) * [1, 5, 0.1, 3, 0.2] + [0, 0, 0, 0, 2]).astype(np.float32)
    axes = principal_axes(vectors, 3)
    _, _, right = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    np.testing.assert_allclose(np.abs(axes), np.abs(right[:3].T), atol=1e-4)
    assert (axes[np.abs(axes).argmax(0), np.arange(3)] > 0).all()
    projection = initial_projection(vectors, 3, mixed=False, generator=torch.Generator())
    np.testing.assert_allclose(projection.numpy(), axes)


def test_ranking_is_the_cross_entropy_over_other_targets():
    generator = torch.Generator().manual_seed(0)
    students, targets = (torch.randn(5, 8, generator=generator) for _ in range(2))
    targets[3] = 2 * targets[1]  # the same text
    expected = 0.0
    for row in range(5):
        others = [place for place in range(5) if place == row or {place, row} != {1, 3}]
        cosines = torch.cosine_similarity(students[row], targets[others]) / 0.05
        expected += float(-cosines.log_softmax(0)[others.index(row)]) / 5
    assert float(ranking_objective(students, targets)) == pytest.approx(expected, rel=1e-5)
