"""Checks a model folder before transformers, tokenizers and safetensors open it.

What those libraries do with a folder is decided by files in it: they follow names of further files, and make room for
whatever sizes `config.json` gives before they look whether the weights have them. So here names must be plain, no size
may exceed what the weights hold, and the tensors must be those that the configuration asks for.

The format of safetensors (https://huggingface.co/docs/safetensors, "Format"): 8 bytes with the length N of the header,
little-endian; N bytes of JSON, `{"name": {"dtype": …, "shape": […], "data_offsets": [begin, end]}, …,
"__metadata__": {…}}`; then the data.
"""

from __future__ import annotations

import json
import math
import os
import re
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..errors import HfParaphraseError, ModelError
from .quiet_libraries import quiet_transformers
from .untrusted_files import check_plain_folder, open_plain, read_json_object
from .untrusted_tokenizers import check_tokenizers

if TYPE_CHECKING:
    from transformers import PreTrainedModel

_REMEDY = "copy the model again, from a source that you trust"
_SETTINGS = (
    "config.json",
    "generation_config.json",
    "tokenizer_config.json",
    "special_tokens_map.json",
    "added_tokens.json",
    "provenance.json",
)
_INDEX = "model.safetensors.index.json"
_CODE = re.compile(r"[A-Za-z_]\w*(\.[A-Za-z_]\w*)+", re.ASCII)
_FILE_KEY = re.compile(r"(_files?|_spm|^transformers_weights)$")
_NEVER_OPENED = {"special_tokens_map_file"}
"""Old tokenizers of transformers carry this name of a file on the machine that saved them."""
_SIZE_KEY = re.compile(r"(_sizes?|_layers|_heads|_embeddings|_dims?|^(d_model|d_ff|d_kv|n_embd|n_layer|n_head))$")
_MOST_LABELS = 1024
"""Or as many as the longest side of a tensor. transformers makes a name for each label before it makes the model."""
_MOST = (1 << 31) - 1
"""What no number of a configuration exceeds, be it a size or not."""
_LONGEST_MESSAGE = 300
_PACKAGE = Path(__file__).parents[1]
LONGEST_HEADER_BYTES = 100_000_000
"""The limit of the safetensors library."""
_BITS = {
    **dict.fromkeys(("BOOL", "U8", "I8", "F8_E5M2", "F8_E4M3", "F8_E8M0", "F8_E4M3FNUZ", "F8_E5M2FNUZ"), 8),
    **dict.fromkeys(("I16", "U16", "F16", "BF16"), 16),
    **dict.fromkeys(("I32", "U32", "F32"), 32),
    **dict.fromkeys(("I64", "U64", "F64", "C64"), 64),
}
_DAMAGED = "the model cannot be opened: damaged weights"
_COPY_AGAIN = "copy the model again"


@dataclass(frozen=True)
class TensorEntry:
    """What the header says of a tensor.

    Attributes:
        dtype: Its type, e.g. `F32`.
        shape: Its shape.
        offset: Where its data begin in the file, in bytes.
    """

    dtype: str
    shape: tuple[int, ...]
    offset: int = field(default=0, compare=False)

    @property
    def elements(self) -> int:
        """The number of its elements."""
        return math.prod(self.shape)


def check_model_folder(folder: str | os.PathLike[str], *, ours: bool = True) -> dict[str, TensorEntry]:
    """Checks links, settings, names of files and sizes; reads no weights and runs nothing.

    Args:
        folder: A folder with `config.json`, or with a tokenizer alone.
        ours: Whether this package made it. Other folders may name files elsewhere as long as there are none.

    Returns:
        The tensors of its weights by name.

    Raises:
        ModelError: If something leads out of the folder, is damaged, or is larger than the weights can be.
    """
    folder = Path(folder)
    check_plain_folder(folder, ModelError)
    settings = {name: read_json_object(folder / name, ModelError) for name in _SETTINGS if (folder / name).exists()}
    for name, content in settings.items():
        _check_names(content, folder / name, ours)
    if (folder / "adapter_config.json").exists():
        raise ModelError("an adapter, whose model lies elsewhere", path=folder, remedy="merge it into its model first")
    if not folder.is_relative_to(_PACKAGE):
        check_tokenizers(folder)
    tensors: dict[str, TensorEntry] = {}
    for path in _weight_files(folder):
        tensors |= read_header(path)
    if tensors:
        _check_sizes(settings.get("config.json", {}), tensors, folder / "config.json")
    return tensors


def check_tensors(
    model_class: type[PreTrainedModel],
    folder: str | os.PathLike[str],
    tensors: Mapping[str, TensorEntry],
    settings: Mapping[str, Any] | None = None,
) -> None:
    """Compares the tensors of a folder with those that its configuration asks for; takes no memory for either.

    Args:
        model_class: The class of the model.
        folder: A folder that :func:`check_model_folder` found in order.
        tensors: What that function returned.
        settings: Values of the configuration that will be other than in the folder.

    Raises:
        ModelError: If a tensor is missing, left over or of another shape, or the configuration is senseless.
    """
    import torch

    folder = Path(folder)
    with opening("the model", folder), torch.device("meta"):
        config: Any = model_class.config_class.from_pretrained(folder, local_files_only=True, **(settings or {}))
        model = model_class(config)
        wanted = {name: tuple(value.shape) for name, value in model.state_dict().items()}
        # Of weights that several parts share, the file has one.
        shared = set(getattr(model, "all_tied_weights_keys", None) or {})
    remedy = "the weights belong to another configuration: copy the model again"
    missing = sorted(name for name in wanted if name not in tensors and name not in shared)
    unexpected = sorted(name for name in tensors if name not in wanted)
    for kind, names in (("missing", missing), ("unexpected", unexpected)):
        if names:
            raise ModelError(
                f"the weights do not fit the configuration: {kind} {_listed(names)}", path=folder, remedy=remedy
            )
    for name, shape in wanted.items():
        if name in tensors and tensors[name].shape != shape:
            raise ModelError(
                f"the weights do not fit the configuration: {name} is {list(tensors[name].shape)}, not {list(shape)}",
                path=folder,
                remedy=remedy,
            )


def check_total(model: PreTrainedModel, tensors: Mapping[str, TensorEntry], folder: str | os.PathLike[str]) -> None:
    """Refuses a model of someone else's type that is far larger than its weights, before it takes any memory.

    A pooling layer may be missing in them, and buffers that are computed.

    Args:
        model: The model, on the device `meta`.
        tensors: The tensors of its folder.
        folder: The folder, for the message.

    Raises:
        ModelError: If the model has more than twice the numbers that the weights hold, and 64 million besides.
    """
    wanted = sum(item.numel() for item in (*model.parameters(), *model.buffers()))
    held = sum(item.elements for item in tensors.values())
    if wanted > 2 * held + (1 << 26):
        raise ModelError(
            f"the configuration asks for {wanted:,} numbers, the weights hold {held:,}", path=folder, remedy=_REMEDY
        )


def read_header(path: str | os.PathLike[str]) -> dict[str, TensorEntry]:
    """Reads and checks a header: every tensor has a known type and a shape, and lies inside the file.

    Args:
        path: The file.

    Returns:
        The tensors by name.

    Raises:
        ModelError: If the file is cut off, claims more than it holds, or is no safetensors file.
    """
    path = Path(path)
    try:
        with open_plain(path, ModelError) as stream:
            size = os.fstat(stream.fileno()).st_size
            length = int.from_bytes(stream.read(8), "little")
            if length > LONGEST_HEADER_BYTES or length > size - 8:
                raise ModelError(
                    f"{_DAMAGED}: the header claims {length:,} bytes, the file has {size:,}",
                    path=path,
                    remedy=_COPY_AGAIN,
                )
            header = json.loads(stream.read(length).decode("utf-8"))
    except OSError as error:
        raise ModelError(f"cannot read the weights: {error.strerror}", path=path, remedy=_COPY_AGAIN) from error
    except (ValueError, RecursionError) as error:
        raise ModelError(f"{_DAMAGED}: the header is not JSON", path=path, remedy=_COPY_AGAIN) from error
    if not isinstance(header, dict):
        raise ModelError(f"{_DAMAGED}: the header is not a JSON object", path=path, remedy=_COPY_AGAIN)
    return {
        name: _tensor_entry(name, value, 8 + length, size - 8 - length, path)
        for name, value in header.items()
        if name != "__metadata__"
    }


@contextmanager
def opening(what: str, path: str | os.PathLike[str], remedy: str = _REMEDY) -> Iterator[None]:
    """Turns whatever a library raises in the block into one error with a short message; transformers is quiet in it.

    Args:
        what: What is opened, e.g. `the model`.
        path: Where it lies.
        remedy: What to do about it.

    Raises:
        ModelError: For any exception of the block, a panic of the libraries written in Rust included.
    """
    try:
        with quiet_transformers():
            yield
    except HfParaphraseError:
        raise
    except BaseException as error:
        # Panics are no `Exception`, and their class cannot be imported.
        if not isinstance(error, Exception) and type(error).__name__ != "PanicException":
            raise
        text = " ".join(f"{type(error).__name__}: {error}".split())
        if len(text) > _LONGEST_MESSAGE:
            text = text[:_LONGEST_MESSAGE] + " …"
        raise ModelError(f"{what} cannot be opened: {text}", path=path, remedy=remedy) from error


def _weight_files(folder: Path) -> list[Path]:
    index = folder / _INDEX
    if not index.exists():
        return sorted(folder.glob("*.safetensors"))
    names = read_json_object(index, ModelError).get("weight_map")
    if not isinstance(names, dict) or not all(_is_plain_name(name) for name in names.values()):
        raise ModelError("names files outside of its folder, or none", path=index, remedy=_REMEDY)
    return [folder / name for name in sorted(set(names.values()))]


def _check_names(settings: Mapping[str, Any], path: Path, ours: bool) -> None:
    """Refuses names of files that are not plain, and code that is not in the folder itself."""
    for key, value in settings.items():
        if key == "auto_map":
            entries = list(value.values()) if isinstance(value, dict) else [value]
            flat = [item for entry in entries for item in (entry if isinstance(entry, list) else [entry])]
            wrong = [item for item in flat if item is not None and not _is_code_inside(item)]
            # Folders of others are opened without running their code.
            if wrong and ours:
                raise ModelError(
                    f"`auto_map` names code that is not in this folder: {str(wrong[0])[:80]}",
                    path=path,
                    remedy=_REMEDY,
                )
        elif _FILE_KEY.search(key) and key not in _NEVER_OPENED:
            for name in value if isinstance(value, list) else [value]:
                harmless = not ours and isinstance(name, str) and not os.path.lexists(path.parent / name)
                if name is not None and not _is_plain_name(name) and not harmless:
                    raise ModelError(
                        f"`{key[:80]}` is not the name of a file in this folder: {str(name)[:80]}",
                        path=path,
                        remedy=_REMEDY,
                    )


def _check_sizes(config: Mapping[str, Any], tensors: Mapping[str, TensorEntry], path: Path) -> None:
    """Refuses more units than there are numbers, and more layers than there are tensors: each has one at least."""
    elements = sum(item.elements for item in tensors.values())
    longest = max((side for item in tensors.values() for side in item.shape), default=0)
    parts = [config]
    while parts:
        for key, value in parts.pop().items():
            items = value if isinstance(value, list) else [value]
            # Settings of the parts of a model are dictionaries of their own.
            parts += [item for item in items if isinstance(item, dict)]
            if not _SIZE_KEY.search(key):
                most = max(_MOST_LABELS, longest) if key == "num_labels" else _MOST
            else:
                most = len(tensors) if key.endswith(("_layers", "n_layer")) else elements
            number = max((item for item in items if type(item) is int), default=0)
            if number > most:
                raise ModelError(
                    "the weights do not fit the configuration: they are "
                    f"{elements:,} numbers in {len(tensors):,} tensors, and `{key[:80]}` is {str(number)[:40]}",
                    path=path,
                    remedy=_REMEDY,
                )


def _is_code_inside(name: object) -> bool:
    return isinstance(name, str) and bool(_CODE.fullmatch(name))


def _is_plain_name(name: object) -> bool:
    return isinstance(name, str) and bool(name) and name not in {".", ".."} and not re.search(r"[/\\:\0]", name)


def _listed(names: list[str]) -> str:
    shown = ", ".join(name[:80] for name in names[:5])
    return shown if len(names) <= 5 else f"{shown} and {len(names) - 5} more"


def _tensor_entry(name: str, value: Any, data_begin: int, data_bytes: int, path: Path) -> TensorEntry:
    try:
        dtype, shape, (begin, end) = value["dtype"], value["shape"], value["data_offsets"]
        numbers = [*shape, begin, end]
        whole = all(type(number) is int and number >= 0 for number in numbers)
        bits = _BITS[dtype] * math.prod(shape) if whole else -1
    except (TypeError, ValueError, KeyError) as error:
        raise ModelError(
            f"{_DAMAGED}: the header does not describe `{name[:80]}`", path=path, remedy=_COPY_AGAIN
        ) from error
    if bits < 0 or not begin <= end <= data_bytes or 8 * (end - begin) != bits:
        raise ModelError(
            f"{_DAMAGED}: `{name[:80]}` of shape {str(shape)[:80]} does not lie in the file's {data_bytes:,} bytes",
            path=path,
            remedy=_COPY_AGAIN,
        )
    return TensorEntry(dtype, tuple(shape), data_begin + begin)
