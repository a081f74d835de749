from __future__ import annotations

import pytest
import torch

from hf_paraphrase.translation.trainer import bf16_is_fast


@pytest.mark.parametrize("in_hardware", [True, False])
def test_bf16_that_a_gpu_only_emulates_is_not_called_fast(monkeypatch, in_hardware):
    monkeypatch.setattr(torch.cuda, "is_available", lambda: True)
    monkeypatch.setattr(
        torch.cuda, "is_bf16_supported", lambda including_emulation=True: including_emulation or in_hardware
    )
    assert bf16_is_fast() is in_hardware
