"""The tables of wordllama (https://github.com/dleemiller/WordLlama), opened as averages; no code of it is imported.

Its files are a table of token vectors, `NAME_DIM.safetensors` with the one tensor `embedding.weight`, and a tokenizer,
`NAME_tokenizer_config.json`, in the layout of the `tokenizers` library. The package has them in `weights` and
`tokenizers`, as its cache has; a folder of the user may hold both. A text is the mean of the vectors of its tokens,
without special ones.
"""

from __future__ import annotations

import importlib.util
import os
from pathlib import Path

from ..artefacts.files import opening
from ..artefacts.hub_models import WORDLLAMA
from ..artefacts.weights import read_header
from ..errors import ModelError
from .sentence_encoder import SentenceEncoder
from .static_folders import plain_average
from .stored_tables import read_table

_TENSOR = "embedding.weight"
_TOKENIZER = "_tokenizer_config.json"
_REMEDY = "copy weights and tokenizer again"


def is_wordllama(name: str | os.PathLike[str]) -> bool:
    """Returns whether a name is that of the package, or of a folder that holds such files."""
    if name == WORDLLAMA:
        return True
    folder = Path(name)
    return folder.is_dir() and not (folder / "config.json").exists() and _files(folder) is not None


def open_wordllama(name: str | os.PathLike[str] = WORDLLAMA) -> SentenceEncoder:
    """Opens the table of the installed package, or of a folder; of several the one with the most components."""
    from tokenizers import Tokenizer

    folder = _package_folder() if name == WORDLLAMA else Path(name)
    files = _files(folder)
    if files is None:
        raise ModelError("there are no weights and tokenizer of wordllama", path=folder, remedy=_REMEDY)
    weights, tokenizer_file = files
    with opening("the tokenizer", tokenizer_file, _REMEDY):
        backend = Tokenizer.from_file(str(tokenizer_file))
    backend.no_padding()
    backend.no_truncation()
    encoder = SentenceEncoder(plain_average(read_table(weights, _TENSOR, backend.get_vocab()), backend, folder))
    encoder.folder = folder
    return encoder


def _package_folder() -> Path:
    spec = importlib.util.find_spec(WORDLLAMA)
    # A folder of that name in the working directory has no origin.
    places = [] if spec is None or spec.origin is None else list(spec.submodule_search_locations or [])
    if not places:
        raise ModelError("the package is not installed", path=WORDLLAMA, remedy="pip install wordllama")
    return Path(places[0])


def _files(folder: Path) -> tuple[Path, Path] | None:
    """Finds the widest table of a folder that has a tokenizer, and that tokenizer."""
    candidates: list[tuple[int, Path, Path]] = []
    for place in (folder, folder / "weights"):
        for weights in sorted(place.glob("*.safetensors")):
            name = weights.stem.rpartition("_")[0]
            tokenizers = [part / f"{name}{_TOKENIZER}" for part in (folder, folder / "tokenizers")]
            tokenizer = next((path for path in tokenizers if path.is_file()), None)
            if not name or tokenizer is None:
                continue
            tensors = read_header(weights)
            if set(tensors) == {_TENSOR} and len(tensors[_TENSOR].shape) == 2:
                candidates.append((tensors[_TENSOR].shape[1], weights, tokenizer))
    return max(candidates)[1:] if candidates else None
