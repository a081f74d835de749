from __future__ import annotations

import pytest
import torch
from hypothesis import given, settings
from hypothesis import strategies as st

from hf_paraphrase.translation import top_continuations
from hf_paraphrase.translation.top_continuations import best_continuations, log_normalizers


@settings(deadline=None)
@given(
    st.integers(1, 3),
    st.integers(1, 5),
    st.integers(1, 90),
    st.integers(1, 12),
    st.sampled_from([1, 2, 4, 16]),
    st.integers(0, 2**20),
)
def test_the_way_over_blocks_finds_what_sorting_everything_finds(batch, width, columns, count, block, seed):
    generator = torch.Generator().manual_seed(seed)
    logits = torch.randn((batch * width, columns), generator=generator)
    offsets = torch.randn((batch, width), generator=generator)
    offsets[:, 2:] = -torch.inf
    found = best_continuations(logits, offsets, count, block)
    totals = (logits.view(batch, width, columns) + offsets.unsqueeze(2)).flatten(1)
    expected = totals.sort(dim=1, descending=True).values
    expected = torch.nn.functional.pad(expected, (0, count), value=-torch.inf)[:, :count]
    assert torch.equal(found.scores, expected)
    real = found.scores > -torch.inf
    places = found.parents * columns + found.columns
    assert torch.equal(totals.gather(1, places)[real], found.scores[real])
    for row, exists in zip(places, real, strict=True):
        chosen = row[exists].tolist()
        assert len(set(chosen)) == len(chosen)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
@pytest.mark.parametrize("shape", [(1, 1), (7, 5), (3, 1 << 18), (700, 1_000)])
def test_normalizers_are_computed_in_fp32_whatever_the_arithmetic_of_the_logits(dtype, shape):
    torch.manual_seed(0)
    logits = (torch.randn(shape) * 20 + 50).to(dtype)
    expected = logits.double().logsumexp(1)
    assert log_normalizers(logits).double() == pytest.approx(expected, abs=2e-5)


@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_normalizers_leave_out_columns_that_cannot_win_and_keep_digits_beside_them(dtype):
    logits = torch.randn((5, 300)).to(dtype)
    logits[:, 0] = -1e4
    logits[1:3, :64] = -torch.inf
    logits[4] = -torch.inf
    expected = logits.double().logsumexp(1)
    found = log_normalizers(logits).double()
    assert found[:4] == pytest.approx(expected[:4], abs=2e-5)
    assert found[4] == -torch.inf


@pytest.mark.parametrize("members", [1, 2, 64, 48])
@pytest.mark.parametrize("dtype", [torch.float32, torch.bfloat16])
def test_block_maxima_are_those_of_amax_however_many_rows_are_looked_at_together(members, dtype, monkeypatch):
    logits = torch.randn((13, members * 7)).to(dtype).view(13, members, 7)
    assert torch.equal(top_continuations._block_maxima(logits), logits.amax(1))
    monkeypatch.setattr(top_continuations, "_CHUNK", 2 * members * 7)
    assert torch.equal(top_continuations._block_maxima(logits), logits.amax(1))
