from __future__ import annotations

import pytest
import torch
from torch.nn import functional

from hf_paraphrase.training import sparse_gradients
from hf_paraphrase.training.sparse_gradients import DenseGradients, RowAdam


def run(optimizer_class, sparse=True, dtype=torch.float32):
    """Updates a table 30 times with gradients of some of its rows; returns the table."""
    torch.manual_seed(0)
    table = torch.nn.Parameter(torch.randn(12, 3).to(dtype))
    optimizer = optimizer_class([table], lr=0.01)
    for _ in range(30):
        ids, weights = torch.randint(12, (5,)), torch.randn(5, 3).to(dtype)
        optimizer.zero_grad()
        (functional.embedding(ids, table, sparse=sparse) * weights).sum().backward()
        optimizer.step()
    return table.detach()


@pytest.mark.parametrize(("kind", "sparse"), [(torch.optim.Adam, False), (torch.optim.SparseAdam, True)])
def test_dense_gradients_get_the_update_of_torch_adam_and_sparse_ones_that_of_sparse_adam(kind, sparse):
    torch.testing.assert_close(run(RowAdam, sparse), run(kind, sparse))


@pytest.mark.parametrize(("at_a_time", "dtype"), [(1, torch.float32), (7, torch.bfloat16)])
def test_the_update_is_the_same_whatever_number_of_rows_is_changed_at_a_time(monkeypatch, at_a_time, dtype):
    expected = run(RowAdam, dtype=dtype)
    monkeypatch.setattr(sparse_gradients, "_NUMBERS_AT_A_TIME", at_a_time)
    assert torch.equal(run(RowAdam, dtype=dtype), expected)


def test_gradients_become_dense_for_an_optimizer_that_knows_no_sparse_ones():
    table, unused = torch.nn.Embedding(3, 2, sparse=True), torch.nn.Linear(2, 1)
    table(torch.tensor([1, 1])).sum().backward()
    optimizer = torch.optim.AdamW([*table.parameters(), *unused.parameters()])
    DenseGradients().on_pre_optimizer_step(optimizer=optimizer)
    assert table.weight.grad.layout == torch.strided and table.weight.grad.tolist() == [[0, 0], [2, 2], [0, 0]]
    assert unused.weight.grad is None


def test_equal_rows_are_added_on_a_gpu_as_elsewhere():
    rows, values = torch.tensor([4, 1, 4, 0, 1, 4]), torch.arange(12.0).view(6, 2)
    expected = torch.sparse_coo_tensor(rows.unsqueeze(0), values, (5, 2), check_invariants=True).coalesce()
    found, sums = sparse_gradients._summed_rows(rows, values)
    # There are as many results as rows, and the last one fills up their number.
    assert found.tolist() == [0, 1, 4, 4, 4, 4] and torch.equal(found[:3], expected.indices()[0])
    torch.testing.assert_close(sums, expected.values()[[0, 1, 2, 2, 2, 2]])
