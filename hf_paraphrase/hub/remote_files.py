"""What a branch on the Hub holds already, and what a folder would change there."""

from __future__ import annotations

import fnmatch
import hashlib
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ..artefacts.provenance import fingerprint
from .travelling_files import FileList, TravellingFile

if TYPE_CHECKING:
    from huggingface_hub import HfApi

# The Hub's own: which files are large, which are ignored.
_OF_THE_HUB = (".gitattributes", ".gitignore")


@dataclass(frozen=True)
class RemoteFile:
    """A file on a branch.

    Attributes:
        size: Its size in bytes.
        sha256: The SHA-256 of its content, for a large file (LFS, Xet); None for another.
        blob: The git hash of its content, for a file that is not large.
    """

    size: int
    sha256: str | None
    blob: str

    def equals(self, file: TravellingFile) -> bool:
        """Compares by size first, and by content only where that is the same."""
        if file.size != self.size:
            return False
        if self.sha256 is not None:
            found = fingerprint(file.path) if file.content is None else hashlib.sha256(file.content).hexdigest()
            return found == self.sha256
        return git_blob(file.read()) == self.blob


@dataclass(frozen=True)
class Changes:
    """What a push would change on a branch.

    Attributes:
        send: Files that the branch lacks, or has with other content.
        unchanged: Files that it has already.
        stale: Names of files on the branch that the folder does not have.
    """

    send: tuple[TravellingFile, ...]
    unchanged: tuple[TravellingFile, ...]
    stale: tuple[str, ...]

    @property
    def size(self) -> int:
        """The size of all files to send, in bytes."""
        return sum(file.size for file in self.send)


def git_blob(data: bytes) -> str:
    """Computes git's name for a file's content: the SHA-1 of `blob`, the length, a zero byte and the content."""
    # A name, not a protection: git and the Hub have chosen it.
    return hashlib.sha1(b"blob %d\x00" % len(data) + data, usedforsecurity=False).hexdigest()


def list_branch(api: HfApi, repo_id: str, repo_type: str, revision: str) -> dict[str, RemoteFile]:
    """Lists the files of a branch by their names.

    Args:
        api: The client.
        repo_id: The repository, `namespace/name`.
        repo_type: `model`, `dataset` or `space`.
        revision: The branch, or a commit.

    Raises:
        huggingface_hub.errors.HfHubHTTPError: If the Hub refuses.
    """
    from huggingface_hub.hf_api import RepoFile

    entries = api.list_repo_tree(repo_id, recursive=True, revision=revision, repo_type=repo_type)
    return {
        entry.path: RemoteFile(entry.size, None if entry.lfs is None else entry.lfs.sha256, entry.blob_id)
        for entry in entries
        if isinstance(entry, RepoFile)
    }


def compare(files: FileList, remote: Mapping[str, RemoteFile], progress: Callable[[int], object]) -> Changes:
    """Sorts a folder's files into those to send and those that the branch has already.

    Args:
        files: What travels.
        remote: What the branch holds, as :func:`list_branch` returns it.
        progress: Called with the size in bytes of each file when it has been compared.
    """
    send: list[TravellingFile] = []
    unchanged: list[TravellingFile] = []
    for file in files.files:
        there = remote.get(file.name)
        (unchanged if there is not None and there.equals(file) else send).append(file)
        progress(file.size)
    stale = sorted(name for name in remote.keys() - files.names if name not in _OF_THE_HUB)
    return Changes(tuple(send), tuple(unchanged), tuple(stale))


def read_as_data(stale: Iterable[str], patterns: Iterable[str]) -> list[str]:
    """Returns the stale files that `load_dataset` would read beside the folder's own, by the card's patterns."""
    patterns = list(patterns)
    return [name for name in stale if any(fnmatch.fnmatchcase(name, pattern) for pattern in patterns)]
