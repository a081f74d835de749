from __future__ import annotations

import copy

import pytest
import torch
from torch import nn
from torch.nn import functional

from hf_paraphrase.models import matrix_products
from hf_paraphrase.models.matrix_products import Linear, affine, filled_up

SHAPES = [(3, 5, 7), (1, 16, 1), (40, 8, 33), (17, 6, 4)]


@pytest.mark.parametrize("adding", [False, True])
@pytest.mark.parametrize("with_bias", [False, True])
@pytest.mark.parametrize(("rows", "inputs", "outputs"), SHAPES)
@pytest.mark.parametrize("leading", [(), (2,), (2, 1)])
def test_results_and_gradients_are_those_of_pytorch(rows, inputs, outputs, leading, with_bias, adding):
    torch.manual_seed(0)
    values = torch.randn(*leading, rows, inputs, requires_grad=True)
    weight = torch.randn(outputs, inputs, requires_grad=True)
    bias = torch.randn(outputs, requires_grad=True) if with_bias else None
    added = torch.randn(*leading, rows, 2 * outputs, requires_grad=True) if adding else None
    leaves = [leaf for leaf in (values, weight, bias, added) if leaf is not None]
    up = torch.randn(*leading, rows, outputs)
    half = None if added is None else added[..., :outputs]
    expected = functional.linear(values, weight, bias) + (0 if half is None else half)
    found = affine(values, weight, bias, added=half)
    torch.testing.assert_close(found, expected)
    for mine, theirs in zip(
        torch.autograd.grad(found, leaves, up), torch.autograd.grad(expected, leaves, up), strict=True
    ):
        torch.testing.assert_close(mine, theirs)
    with torch.no_grad():
        torch.testing.assert_close(affine(values, weight, bias, added=half), expected)


@pytest.mark.skipif(not matrix_products._HAS_ONEDNN, reason="this PyTorch lacks oneDNN's products")
def test_few_numbers_of_rows_are_compiled(monkeypatch):
    compiled = set()
    one_dnn = matrix_products._one_dnn_affine
    monkeypatch.setattr(
        matrix_products, "_one_dnn_affine", lambda *given: compiled.add(len(given[0])) or one_dnn(*given)
    )
    weight = torch.randn(64, 65)
    with torch.no_grad():
        for count in range(1, 1001):
            values = torch.randn(count, 65)
            found = affine(values, weight, added=values[:, :64])
            assert found.shape == (count, 64)
            torch.testing.assert_close(found, functional.linear(values, weight) + values[:, :64])
    assert len(compiled) <= 64 and max(compiled) == 1024
    assert all(count <= filled_up(count) <= count * 9 / 8 for count in range(1, 5000))


def test_long_products_are_not_filled_up(monkeypatch):
    monkeypatch.setattr(matrix_products, "_LONG", 1000)
    monkeypatch.setattr(matrix_products, "_with_more_rows", lambda *_: pytest.fail("rows were added"))
    affine(torch.randn(33, 8), torch.randn(8, 8))


def test_gradients_of_rows_that_are_not_contiguous_are_right():
    torch.manual_seed(0)
    values, weight = torch.randn(6, 4, 5, requires_grad=True), torch.randn(3, 5, requires_grad=True)
    up = torch.randn(3, 6, 4).permute(1, 2, 0)
    found = torch.autograd.grad(affine(values.transpose(0, 1), weight).transpose(0, 1), [values, weight], up)
    expected = torch.autograd.grad(functional.linear(values, weight), [values, weight], up)
    for mine, theirs in zip(found, expected, strict=True):
        torch.testing.assert_close(mine, theirs)


def test_only_what_needs_a_gradient_gets_one():
    values, weight = torch.randn(2, 3), torch.randn(4, 3, requires_grad=True)
    affine(values, weight).sum().backward()
    assert values.grad is None
    torch.testing.assert_close(weight.grad, values.sum(0).expand(4, 3))


def test_other_arithmetic_and_autocast_are_left_to_pytorch(monkeypatch):
    monkeypatch.setattr(matrix_products, "_one_dnn_affine", lambda *_: pytest.fail("oneDNN was called"))
    values, weight = torch.randn(2, 3), torch.randn(4, 3)
    assert affine(values.double(), weight.double()).dtype == torch.float64
    assert affine(values.bfloat16(), weight.bfloat16().requires_grad_()).dtype == torch.bfloat16
    with torch.autocast("cpu", torch.bfloat16):
        assert affine(values, weight).dtype == torch.bfloat16
    assert affine(values[:0], weight).shape == (0, 4)
    monkeypatch.setattr(matrix_products, "_HAS_ONEDNN", False)
    torch.testing.assert_close(affine(values, weight), functional.linear(values, weight))


@pytest.mark.skipif(not matrix_products._HAS_ONEDNN, reason="this PyTorch lacks oneDNN's products")
def test_fp32_products_on_a_processor_are_onednns(monkeypatch):
    monkeypatch.setattr(matrix_products.functional, "linear", lambda *_: pytest.fail("PyTorch's own was called"))
    affine(torch.randn(2, 3), torch.randn(4, 3, requires_grad=True)).sum().backward()


@pytest.mark.skipif(not matrix_products._HAS_ONEDNN, reason="this PyTorch lacks oneDNN's products")
@pytest.mark.parametrize("wants_gradient", [False, True])
def test_few_weights_are_left_to_pytorch_and_many_are_not(monkeypatch, wants_gradient):
    monkeypatch.setattr(matrix_products, "_SMALL", 4096)
    called = []
    one_dnn = matrix_products._one_dnn_affine
    monkeypatch.setattr(matrix_products, "_one_dnn_affine", lambda *given: called.append(given) or one_dnn(*given))
    for inputs, calls in ((63, 0), (64, 3 if wants_gradient else 1)):
        values, weight = torch.randn(2, inputs), torch.randn(64, inputs)
        found = affine(values.requires_grad_(wants_gradient), weight.requires_grad_(wants_gradient))
        torch.testing.assert_close(found, functional.linear(values, weight))
        if wants_gradient:
            found.sum().backward()
        assert len(called) == calls


@pytest.mark.skipif(not matrix_products._HAS_BFLOAT16, reason="this processor lacks bfloat16 for oneDNN")
def test_bfloat16_products_without_a_gradient_are_those_of_pytorch(monkeypatch):
    torch.manual_seed(0)
    values, weight, bias = torch.randn(6, 40).bfloat16(), torch.randn(9, 40).bfloat16(), torch.randn(9).bfloat16()
    added = torch.randn(6, 9).bfloat16()
    expected, more = functional.linear(values, weight, bias), functional.linear(values, weight, bias) + added
    monkeypatch.setattr(matrix_products.functional, "linear", lambda *_: pytest.fail("PyTorch's own was called"))
    torch.testing.assert_close(affine(values, weight, bias), expected)
    torch.testing.assert_close(affine(values, weight, bias, added=added), more, atol=0.1, rtol=0.02)
    assert affine(values, weight, bias).dtype == torch.bfloat16


def test_the_layer_is_the_one_of_pytorch_with_the_same_weights():
    torch.manual_seed(0)
    mine = Linear(4, 3)
    theirs = nn.Linear(4, 3)
    theirs.load_state_dict(copy.deepcopy(mine.state_dict()))
    values = torch.randn(2, 5, 4)
    torch.testing.assert_close(mine(values), theirs(values))
