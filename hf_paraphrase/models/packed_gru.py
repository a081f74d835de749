"""A gated recurrent layer over packed sentences, with its gradient written out."""

from __future__ import annotations

from typing import Any, Protocol

import torch
from torch import Tensor, nn
from torch.autograd.function import once_differentiable

from .matrix_products import affine


class Packing(Protocol):
    """What the layer must know of the order of its inputs: `PackedSentences` of the same folder.

    (What a file that travels with weights imports, the model's own file must import too, so the fewer the better.)
    """

    batch_sizes: list[int]

    def previous(self, values: Tensor) -> Tensor:
        """Returns the packed values (total, dim) one step earlier of every token behind the first step."""


class PackedGru(nn.Module):
    """The GRU of Hill et al.'s code, which is that of `torch.nn.GRU` with one bias instead of two.

        r_t = sigmoid(W_r x_t + C_r c + b_r + U_r h_{t-1})
        z_t = sigmoid(W_z x_t + C_z c + b_z + U_z h_{t-1})
        n_t = tanh(W_n x_t + C_n c + b_n + r_t * (U_n h_{t-1}))
        h_t = (1 - z_t) * n_t + z_t * h_{t-1}

    The reset gate acts behind the recurrent product, so one product serves a step. The context c is the same at every
    step of a sentence; without one, C is left out.

    Args:
        input_size: The dimension of x_t.
        size: The dimension of h_t.
        context_size: The dimension of c; None for no context.
    """

    def __init__(self, input_size: int, size: int, context_size: int | None = None) -> None:
        super().__init__()
        self.size = size
        # One matrix each, (reset, update, candidate) below one another.
        self.weight_input = nn.Parameter(torch.empty(3 * size, input_size))
        self.weight_state = nn.Parameter(torch.empty(3 * size, size))
        self.weight_context = None if context_size is None else nn.Parameter(torch.empty(3 * size, context_size))
        self.bias = nn.Parameter(torch.empty(3 * size))

    def forward(
        self, vectors: Tensor, packing: Packing, initial: Tensor | None = None, context: Tensor | None = None
    ) -> Tensor:
        """Computes the hidden states.

        Under autocast the products are of the lower precision, while states and gates stay fp32: what a gate leaves
        of a state over many steps would get lost otherwise.

        Args:
            vectors: Packed inputs x_t (total, input_size).
            packing: Their order.
            initial: h_0 (sentences by rank, size); None for zeros.
            context: c (sentences by rank, context_size).

        Returns:
            Packed states h_t (total, size).
        """
        if not packing.batch_sizes:
            return vectors.new_zeros(0, self.size)
        gates = affine(vectors, self.weight_input, self.bias)
        added = None
        if self.weight_context is not None:
            assert context is not None
            added = affine(context, self.weight_context)
        recurrent: Tensor = self.weight_state
        device, dtype = vectors.device.type, recurrent.dtype
        if torch.is_autocast_enabled(device):
            dtype = torch.get_autocast_dtype(device)
            gates, added = gates.float(), None if added is None else added.float()
            initial = None if initial is None else initial.float()
        if torch.is_grad_enabled():
            states: Tensor = _GruSteps.apply(gates, recurrent, initial, added, packing, dtype)
            return states
        # What `affine` gives back is nobody else's, so it may be written over.
        return _run(gates, recurrent.to(dtype), initial, added, packing.batch_sizes)[0]


def _product(state: Tensor, weight: Tensor) -> Tensor:
    """Computes state @ weight.T in the precision of the weight, and gives it in that of the state."""
    return affine(state.to(weight.dtype), weight).to(state.dtype)


def _run(
    gates: Tensor, recurrent: Tensor, initial: Tensor | None, added: Tensor | None, batch_sizes: list[int]
) -> tuple[Tensor, Tensor]:
    """Computes h_t and U_n h_{t-1} (total, size); `gates` (total, 3 * size) is overwritten by r, z, n."""
    size = recurrent.shape[1]
    states = gates.new_empty(gates.shape[0], size)
    products = torch.empty_like(states)
    state = initial
    start = 0
    for number in batch_sizes:
        rows = slice(start, start + number)
        now, new = gates[rows], states[rows]
        reset, update, candidate = now.split(size, dim=1)
        if added is not None:
            now += added[:number]
        if state is None:
            products[rows].zero_()
            now[:, : 2 * size].sigmoid_()
            candidate.tanh_()
            torch.addcmul(candidate, candidate, update, value=-1, out=new)
        else:
            before = state[:number]
            product = _product(before, recurrent)
            products[rows] = product[:, 2 * size :]
            now[:, : 2 * size].add_(product[:, : 2 * size]).sigmoid_()
            candidate.addcmul_(reset, product[:, 2 * size :]).tanh_()
            torch.lerp(candidate, before, update, out=new)
        state = new
        start += number
    return states, products


class _GruSteps(torch.autograd.Function):
    """The recurrence of :class:`PackedGru` with its gradient."""

    # The backward loop computes only what depends on the following step; the gradient of U is one product over all
    # tokens.

    @staticmethod
    def forward(
        ctx: Any,
        gates: Tensor,
        weight_state: Tensor,
        initial: Tensor | None,
        added: Tensor | None,
        packing: Packing,
        dtype: torch.dtype,
    ) -> Tensor:
        gates, recurrent = gates.clone(), weight_state.to(dtype)
        states, products = _run(gates, recurrent, initial, added, packing.batch_sizes)
        ctx.save_for_backward(gates, recurrent, initial, states, products)
        ctx.packing, ctx.has_context, ctx.of_dtype = packing, added is not None, weight_state.dtype
        return states

    @staticmethod
    @once_differentiable
    def backward(ctx: Any, of_states: Tensor) -> tuple[Tensor | None, ...]:
        gates, recurrent, initial, states, products = ctx.saved_tensors
        batch_sizes, size = ctx.packing.batch_sizes, recurrent.shape[1]
        first = batch_sizes[0]
        reset, update, candidate = gates.split(size, dim=1)
        start_state = states.new_zeros(first, size) if initial is None else initial
        before = torch.cat([start_state, ctx.packing.previous(states)])
        # The derivatives of h_t by the gates' arguments; that of the reset gate still lacks the candidate's.
        by_candidate = (1 - update) * (1 - candidate * candidate)
        by_update = (before - candidate) * update * (1 - update)
        by_reset = products * reset * (1 - reset)
        of_states = of_states.clone(memory_format=torch.contiguous_format)
        of_initial = states.new_zeros(first, size)
        # By the arguments of r_t and z_t, and by U_n h_{t-1}; except the argument of n_t.
        of_products = torch.empty_like(gates)
        of_candidates = torch.empty_like(states)
        transposed = recurrent.t()
        end = gates.shape[0]
        for step in range(len(batch_sizes) - 1, -1, -1):
            number = batch_sizes[step]
            rows = slice(end - number, end)
            of_state, now = of_states[rows], of_products[rows]
            of_candidate = torch.mul(of_state, by_candidate[rows], out=of_candidates[rows])
            torch.mul(of_candidate, by_reset[rows], out=now[:, :size])
            torch.mul(of_state, by_update[rows], out=now[:, size : 2 * size])
            torch.mul(of_candidate, reset[rows], out=now[:, 2 * size :])
            end -= number
            if step or initial is not None:
                previous = of_states[end - batch_sizes[step - 1] : end] if step else of_initial
                previous[:number] += _product(now, transposed).addcmul_(of_state, update[rows])
        of_gates = torch.cat([of_products[:, : 2 * size], of_candidates], dim=1)
        of_added: Tensor | None = None
        if ctx.has_context:
            of_added = gates.new_zeros(first, 3 * size)
            for part in of_gates.split(batch_sizes):
                of_added[: part.shape[0]] += part
        of_recurrent = affine(of_products.to(recurrent.dtype).t(), before.to(recurrent.dtype).t()).to(ctx.of_dtype)
        return of_gates, of_recurrent, of_initial if initial is not None else None, of_added, None, None
