"""What made an output of a study, so that an output is reused only where the same command would make it again.

A key has the command with its variables filled in, the SHA-256 of each file and folder that the command names, and
the SHA-256 of the code: of the package and of these scripts.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Iterator, Mapping
from functools import cache
from pathlib import Path
from typing import Any

import hf_paraphrase
from hf_paraphrase.artefacts.provenance import fingerprint

Key = dict[str, Any]
CODE = "code"
_BETWEEN_PATHS = re.compile(r"[\s\"'=:;|<>(){},\[\]]+")


@cache
def code_digest() -> str:
    """Compute the SHA-256 of the Python files of the package and of the scripts of studies."""
    digest = hashlib.sha256()
    for root in (Path(hf_paraphrase.__file__).parent, Path(__file__).parent):
        for path in sorted(root.rglob("*.py")):
            digest.update(f"{path.relative_to(root)}\n".encode())
            digest.update(path.read_bytes())
    return digest.hexdigest()


class StudyKeys:
    """Keys of the outputs of a study in the current folder.

    Args:
        any_code: Reuse outputs that other versions of the code made.
    """

    def __init__(self, any_code: bool = False) -> None:
        self.any_code = any_code
        self._digests: dict[Path, str] = {}

    def make(self, output: Path | None = None, **parts: Any) -> Key:
        """Make the key of a command from its parts, which are strings or nested lists and mappings of strings.

        A word that happens to be the name of the `output`, or of a folder that contains it, is no input.
        """
        inputs = {}
        outputs = () if output is None else (output, *output.parents)
        words = {word for text in _texts(list(parts.values())) for word in _BETWEEN_PATHS.split(text)}
        for word in sorted(words):
            path = Path(word)
            if path.name and path not in outputs and path.exists():
                inputs[word] = self._digest(path)
        return {**parts, "inputs": inputs, CODE: code_digest()}

    def forget(self, output: Path) -> None:
        """Forget the digests of an output that is about to change, and of the folders around it."""
        changed = output.absolute()
        for path in [path for path in self._digests if changed in (path, *path.parents) or path in changed.parents]:
            del self._digests[path]

    def differences(self, key: Key, older: Mapping[str, Any] | None) -> list[str]:
        """List the parts in which a key differs from the key of an existing output."""
        if older is None:
            return ["no record"]
        parts = [part for part in {**key, **older} if part != CODE or not self.any_code]
        return [part for part in parts if key.get(part) != older.get(part)]

    def _digest(self, path: Path) -> str:
        absolute = path.absolute()
        if absolute not in self._digests:
            self._digests[absolute] = fingerprint(path)
        return self._digests[absolute]


def _texts(value: Any) -> Iterator[str]:
    """Yield the strings among the values of nested lists and mappings."""
    if isinstance(value, str):
        yield value
    elif isinstance(value, list | dict):
        for part in value.values() if isinstance(value, dict) else value:
            yield from _texts(part)


def digest_of(key: Key) -> str:
    """Compute twelve hexadecimal digits for a key, the same for all versions of the code."""
    text = json.dumps({part: value for part, value in key.items() if part != CODE}, sort_keys=True)
    return hashlib.sha256(text.encode()).hexdigest()[:12]
