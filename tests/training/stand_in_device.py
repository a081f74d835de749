"""A device that is none, on which everything can run and be watched: what a GPU would be waited for is noted.

A tensor on it holds its numbers in a tensor of the processor. Code sees its device, so that it goes the way that it
would go on a GPU; every operation is computed on the processor. Noted is what needs a number of the device before the
program can go on: a value, or a size that follows from values.
"""

from __future__ import annotations

import traceback

import torch
from torch.utils._python_dispatch import TorchDispatchMode, return_and_correct_aliasing
from torch.utils._pytree import tree_leaves, tree_map
from torch.utils.backend_registration import _DummyBackendModule, _setup_privateuseone_for_python_backend


class _Backend(_DummyBackendModule):
    def get_amp_supported_dtype(self):
        return [torch.bfloat16]


_setup_privateuseone_for_python_backend("elsewhere", _Backend())
# Else `torch.tensor(…, device=…)` would ask the device for memory.
torch._C._set_only_lift_cpu_tensors(True)

DEVICE = torch.device("elsewhere", 0)
_ANSWERS = {"_local_scalar_dense", "equal", "is_nonzero"}
_SIZES = {"nonzero", "masked_select", "_unique2", "unique_dim", "unique_consecutive", "bincount", "_coalesce"}
_INDEXED = {"index", "index_put", "index_put_", "_index_put_impl_"}


class Elsewhere(torch.Tensor):
    """A tensor on the device.

    Args:
        held: Its numbers, on the processor.
    """

    __torch_function__ = torch._C._disabled_torch_function_impl

    @staticmethod
    def __new__(cls, held):
        """Makes a tensor of the same shape."""
        if held.layout == torch.strided:
            layout = {"strides": held.stride(), "storage_offset": held.storage_offset()}
        else:
            layout = {"layout": held.layout, "dispatch_layout": True}
        return torch.Tensor._make_wrapper_subclass(cls, held.shape, dtype=held.dtype, device=DEVICE, **layout)

    def __init__(self, held):
        self.held = held

    @classmethod
    def __torch_dispatch__(cls, function, types, args=(), kwargs=None):
        """Computes on the processor, outside of :class:`Watched`."""
        return _computed(function, args, kwargs or {})

    def tolist(self):
        """Gives the numbers, which the device is waited for."""
        for mode in torch.utils._python_dispatch._get_current_dispatch_mode_stack():
            mode.note("tolist")
        return self.held.tolist()


class Watched(TorchDispatchMode):
    """Lets what is computed in its block run on the device, and notes what that would be waited for.

    Attributes:
        waits: What each wait was for, and the lines of the package that led there.
        copies: The same for copies to the device, which are waited for unless they are pinned.
    """

    def __init__(self):
        super().__init__()
        self.waits, self.copies = [], []

    def note(self, what):
        """Notes a wait, or a copy to the device."""
        lines = [frame for frame in traceback.extract_stack() if "/hf_paraphrase/" in frame.filename]
        where = " < ".join(f"{frame.filename.rpartition('/')[2]}:{frame.lineno}" for frame in reversed(lines[-3:]))
        (self.copies if what == "copied there" else self.waits).append(f"{what} {where}")

    def __torch_dispatch__(self, function, types, args=(), kwargs=None):
        """Computes an operation on the processor."""
        kwargs = kwargs or {}
        if not any(isinstance(item, Elsewhere) or _is_there(item) for item in tree_leaves((args, kwargs))):
            return function(*args, **kwargs)
        composite = "CompositeImplicitAutograd"
        if function.namespace == "aten" and torch._C._dispatch_has_kernel_for_dispatch_key(function.name(), composite):
            with self:
                found = function.decompose(*args, **kwargs)
            if found is not NotImplemented:
                return found
        if (what := _wait(function.overloadpacket.__name__, args, kwargs)) is not None:
            self.note(what)
        return _computed(function, args, kwargs)


def _is_there(device):
    return isinstance(device, torch.device) and device.type == DEVICE.type


def _wait(name, args, kwargs):
    """Names what a GPU would be waited for; None if it would not."""
    if name in _ANSWERS or name in _SIZES or (name == "repeat_interleave" and kwargs.get("output_size") is None):
        return name
    if name in _INDEXED and any(item is not None and item.dtype == torch.bool for item in args[1]):
        return f"{name} by a mask"
    if name == "_to_copy" and kwargs.get("device") is not None:
        there, here = _is_there(kwargs["device"]), not isinstance(args[0], Elsewhere)
        return "copied there" if there and here else "copied here" if not there and not here else None
    if name == "copy_":
        there, here = isinstance(args[0], Elsewhere), not isinstance(args[1], Elsewhere)
        return "copied there" if there and here else "copied here" if not there and not here else None
    return None


def _computed(function, args, kwargs):
    name = function.overloadpacket.__name__
    if name == "layout":
        return args[0].held.layout
    found = function(*tree_map(_held, args), **tree_map(_held, kwargs))
    if name == "_to_copy" and kwargs.get("device") is not None and not _is_there(kwargs["device"]):
        return found
    if name.endswith("_") and isinstance(args[0], torch.Tensor):
        return args[0]
    there = tree_map(lambda item: Elsewhere(item) if isinstance(item, torch.Tensor) else item, found)
    tensors = [item for item in tree_leaves((args, kwargs, there)) if isinstance(item, torch.Tensor)]
    if name == "_to_copy" or any(_held(item).layout != torch.strided for item in tensors):
        return there
    return return_and_correct_aliasing(function, args, kwargs, there)


def _held(item):
    if isinstance(item, Elsewhere):
        return item.held
    return torch.device("cpu") if _is_there(item) else item
