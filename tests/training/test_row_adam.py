from __future__ import annotations

import copy

import torch
from torch.nn import functional

from hf_paraphrase.training.row_adam import RowAdam


def gradients(steps, rows=12, dim=3, all_rows=False):
    generator = torch.Generator().manual_seed(0)
    for _ in range(steps):
        ids = torch.randint(rows, (5,), generator=generator)
        yield torch.arange(rows) if all_rows else ids, torch.randn(rows, dim, generator=generator)


def run(optimizer_class, sparse, **options):
    torch.manual_seed(0)
    table = torch.nn.Parameter(torch.randn(12, 3))
    optimizer = optimizer_class([table], lr=0.01)
    for ids, weights in gradients(30, **options):
        optimizer.zero_grad()
        (functional.embedding(ids, table, sparse=sparse) * weights[ids]).sum().backward()
        optimizer.step()
    return table.detach()


def test_dense_gradients_get_the_update_of_torch_adam():
    torch.testing.assert_close(run(RowAdam, False), run(torch.optim.Adam, False))


def test_sparse_gradients_get_the_update_of_torch_sparse_adam():
    torch.testing.assert_close(run(RowAdam, True), run(torch.optim.SparseAdam, True))


def test_sparse_equals_dense_while_every_row_occurs_in_every_batch():
    torch.testing.assert_close(run(RowAdam, True, all_rows=True), run(torch.optim.Adam, False, all_rows=True))


def test_rows_that_do_not_occur_do_not_move():
    table = torch.nn.Parameter(torch.randn(4, 2))
    before = table.detach().clone()
    optimizer = RowAdam([table])
    for _ in range(3):
        functional.embedding(torch.tensor([2]), table, sparse=True).sum().backward()
        optimizer.step()
    assert torch.equal(table[[0, 1, 3]], before[[0, 1, 3]]) and not torch.equal(table[2], before[2])


def test_a_loaded_state_continues_as_if_never_interrupted():
    def train(optimizer, table, ids):
        optimizer.zero_grad()
        functional.embedding(ids, table, sparse=True).square().sum().backward()
        optimizer.step()

    torch.manual_seed(0)
    table = torch.nn.Parameter(torch.randn(6, 2))
    optimizer = RowAdam([table])
    train(optimizer, table, torch.tensor([1, 2, 2]))
    twin = torch.nn.Parameter(table.detach().clone())
    other = RowAdam([twin])
    other.load_state_dict(copy.deepcopy(optimizer.state_dict()))
    for ids in (torch.tensor([2, 3]), torch.tensor([1])):
        train(optimizer, table, ids)
        train(other, twin, ids)
    assert torch.equal(table, twin)
