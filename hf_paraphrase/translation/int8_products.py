"""Products of matrices in 8 bits, for a search whose lists are scored in fp32 afterwards.

A weight is rounded once, to 255 steps of each of its rows; what it is multiplied with is rounded at each product, to
255 steps of its greatest value. oneDNN multiplies integers at twice the rate of bfloat16 where a processor has
instructions for them. Without a compiler PyTorch has no other way to them than the operators of its own quantisation.
"""

from __future__ import annotations

import torch
from torch import Tensor

_HAS_OPERATORS = torch.backends.mkldnn.is_available() and hasattr(torch.ops.onednn, "qlinear_pointwise")
_STEPS = 127
_ZERO = 128
"""What stands for 0 among the unsigned numbers that oneDNN wants on the left of a product."""


def int8_is_fast(device: str | None = None) -> bool:
    """Returns whether 8-bit products are worth it: on a processor that multiplies and adds them in one instruction.

    Without that instruction oneDNN adds pairs of products in 16 bits, which overflow. AVX-VNNI alone, without AVX-512,
    is not enough: there oneDNN writes results in bfloat16 with its reference code, some thousand times as slow.
    """
    if (device or "cpu") != "cpu" or not _HAS_OPERATORS:
        return False
    has = torch.cpu.get_capabilities()
    return any(has.get(name, False) for name in ("avx512_vnni", "amx_int8"))


class Int8Product:
    """Computes inputs @ weight.T + bias, both factors rounded to 8 bits, the sums exact, the result in bfloat16."""

    def __init__(self, weight: Tensor, bias: Tensor | None = None) -> None:
        weight = weight.detach().to(torch.float32, copy=True)
        low, high = weight.aminmax(dim=1)
        self.scales = torch.maximum(-low, high).clamp_min_(torch.finfo(torch.float32).tiny) / _STEPS
        # In place: a large matrix of numbers that is created again takes longer than its rounding.
        rounded = weight.div_(self.scales.unsqueeze(1)).round_().to(torch.int8)
        self.weight = torch.ops.onednn.qlinear_prepack(rounded, None)
        self.zeros = torch.zeros(len(rounded), dtype=torch.int32)
        self.bias = None if bias is None else bias.detach().float()

    def __call__(self, inputs: Tensor) -> Tensor:
        """Multiplies (rows, input size), giving (rows, output size)."""
        values = inputs.float()
        low, high = values.aminmax()
        scale = max(-float(low), float(high), torch.finfo(torch.float32).tiny) / _STEPS
        # The conversion cuts off what is behind the point.
        rounded = (values / scale).add_(_ZERO + 0.5).to(torch.uint8)
        weight, scales, zeros = self.weight, self.scales, self.zeros
        result: Tensor = torch.ops.onednn.qlinear_pointwise(
            rounded, scale, _ZERO, weight, scales, zeros, self.bias, 1.0, 0, torch.bfloat16, "none", [], ""
        )
        return result
