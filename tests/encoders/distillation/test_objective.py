from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest
import torch
from torch.nn import functional

from hf_paraphrase.encoders.distillation.objective import (
    DistillationObjective,
    DistillationTexts,
    initial_projection,
    ranking_objective,
)
from hf_paraphrase.encoders.distillation.teacher_vectors import TeacherVectors, UnitVectors


def cosine(first, second):
    return float(first @ second / (np.linalg.norm(first) * np.linalg.norm(second)))


def objective_of(size, *teachers, kind="gran", rows=None, **settings):
    """The objective of a student of some components, and the targets of nine texts by teachers of some components."""
    generator = np.random.default_rng(0)
    unit = [generator.normal(size=(9, dimension)).astype(np.float16) for dimension in teachers]
    unit = [(part / np.linalg.norm(part, axis=1, keepdims=True)).astype(np.float16) for part in unit]
    rows = rows or [np.arange(9)] * len(teachers)
    targets = TeacherVectors([UnitVectors(*pair) for pair in zip(unit, rows, strict=True)])
    model = SimpleNamespace(
        config=SimpleNamespace(model_type=kind, hidden_size=size), get_parameter=lambda name: torch.zeros(2, size)
    )
    given = {"cosine_weight": 1.0, "ranking_weight": 0.0, "matryoshka": [], "seed": 1, **settings}
    args = SimpleNamespace(per_device_train_batch_size=9, **given)
    objective = DistillationObjective(model, args, DistillationTexts(None, targets))
    return objective, torch.from_numpy(targets.take(np.arange(9)))


def students_of(size):
    return torch.randn(9, size, generator=torch.Generator().manual_seed(0))


def test_the_weighted_sum_takes_whole_vectors_and_their_first_components():
    objective, targets = objective_of(6, 4, cosine_weight=2.0, ranking_weight=0.5, matryoshka=[2, 3, 9])
    students, axes = students_of(6), objective.projection.detach()
    padded = functional.pad(targets, (0, 2))
    expected = 0.0
    for size in (2, 3, 6):
        projected = students[:, :size] @ axes[:, :size].T
        cosines = [cosine(*pair) for pair in zip(projected.numpy(), padded.numpy(), strict=True)]
        expected += 2 * (1 - np.mean(cosines)) + 0.5 * ranking_objective(projected, padded).item()
    assert objective(students, targets).item() == pytest.approx(expected / 3, abs=1e-5)


def test_of_a_text_that_a_teacher_does_not_know_the_other_teachers_components_are_compared_alone():
    known = [np.arange(9), np.where(np.arange(9) < 5, np.arange(9), -1)]
    objective, targets = objective_of(6, 4, 3, rows=known)
    students = students_of(6)
    projected = (students @ objective.projection.T).detach().numpy()
    expected = np.mean(
        [1 - cosine(*(side[row][: 7 if row < 5 else 4] for side in (projected, targets.numpy()))) for row in range(9)]
    )
    assert objective(students, targets).item() == pytest.approx(expected, abs=1e-5)


@pytest.mark.parametrize(("student", "target", "kind"), [(3, 8, "gran"), (11, 8, "avg"), (8, 8, "gran")])
def test_a_projection_begins_and_stays_orthonormal_so_that_it_changes_no_cosine(student, target, kind):
    objective, targets = objective_of(student, target, kind=kind)
    axes = objective.projection.detach()
    assert axes.shape == (max(student, target), student)
    torch.testing.assert_close(axes.T @ axes, torch.eye(student), atol=1e-5, rtol=0)
    optimizer = torch.optim.Adam(objective.parameters(), lr=1e-2)
    students = students_of(student)
    before = objective(students, targets).item()
    for _ in range(30):
        optimizer.zero_grad()
        objective(students, targets).backward()
        optimizer.step()
        objective.after_update()
    projection = objective.projection.detach()
    torch.testing.assert_close(projection.T @ projection, torch.eye(student), atol=5e-3, rtol=0)
    assert objective(students, targets).item() < before - 0.01


def test_an_average_as_large_as_the_targets_turns_its_table_instead_of_a_projection():
    assert objective_of(8, 5, 3, kind="avg")[0].projection is None


def test_the_initial_projection_is_onto_the_greatest_axes():
    generator = np.random.default_rng(0)
    vectors = (generator.normal(size=(400, 5)) * [1, 5, 0.1, 3, 0.2] + [0, 0, 0, 0, 2]).astype(np.float32)
    axes = initial_projection(vectors, 3).numpy()
    _, _, right = np.linalg.svd(vectors.astype(np.float64), full_matrices=False)
    np.testing.assert_allclose(np.abs(axes), np.abs(right[:3].T), atol=1e-4)
    assert (axes[np.abs(axes).argmax(0), np.arange(3)] > 0).all()


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


def test_the_mean_of_a_teacher_is_that_of_what_it_knows_and_the_unknown_stays_without_a_direction():
    matrix = np.array([[1, 1, 0], [1, 0, 1], [0, 0, 0]], np.float16)
    found = UnitVectors(matrix, np.array([0, 1, 2, -1]), center=True).take(np.arange(4))
    half = np.sqrt(0.5)
    np.testing.assert_allclose(found, [[0, half, -half], [0, -half, half], [0, 0, 0], [0, 0, 0]], atol=1e-6)
