"""The Hub as its client shows it, in memory: what this package calls of `HfApi`, and `snapshot_download`."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass, field
from pathlib import Path
from types import SimpleNamespace

from huggingface_hub import CommitOperationAdd, RepoUrl
from huggingface_hub.errors import RepositoryNotFoundError
from huggingface_hub.utils import filter_repo_objects

URL = "https://huggingface.co"
TOKEN = "hf_" + "Kx7Qp2Lm9Rt4Vw8Zb3Nc6Yd1Fg5Hj0Sa2u"


@dataclass
class Repository:
    private: bool = False
    sdk: str | None = None
    commits: dict = field(default_factory=dict)  # commit -> (files, message)
    branches: dict = field(default_factory=dict)  # name -> commit

    def commit(self, files, message="", branch="main"):
        """Makes a commit, or as the client returns the last one if it would be the same."""
        if branch in self.branches and self.commits[self.branches[branch]][0] == files:
            return self.branches[branch]
        oid = hashlib.sha1(f"{id(self)} {len(self.commits)}".encode()).hexdigest()
        self.commits[oid], self.branches[branch] = (dict(files), message), oid
        return oid


class FakeHub:
    """Stands in for the class `HfApi` and its objects.

    Attributes:
        calls: The names of the methods that were called.
        error: The error of the next calls of the method `fails`, or of all methods for None.
    """

    def __init__(self, cache):
        self.cache, self.repositories, self.calls, self.fetched = cache, {}, [], []
        self.error, self.fails = None, None

    def __call__(self, token=None):
        return self

    def _called(self, name):
        self.calls.append(name)
        if self.error is not None and self.fails in {None, name}:
            raise self.error

    def make(self, repo_id, kind="model", files=None, **options):
        repository = self.repositories[kind, repo_id] = Repository(**options)
        repository.commit({".gitattributes": b"", **(files or {})})
        return repository

    def files(self, repo_id, kind="model", branch="main"):
        repository = self.repositories[kind, repo_id]
        files = repository.commits[repository.branches[branch]][0]
        return {name: content for name, content in files.items() if name != ".gitattributes"}

    def create_repo(self, repo_id, *, repo_type, private, exist_ok, space_sdk):
        self._called("create_repo")
        repo_id = repo_id if "/" in repo_id else f"ann/{repo_id}"
        if (repo_type, repo_id) not in self.repositories:
            self.make(repo_id, repo_type, private=bool(private), sdk=space_sdk)
        return RepoUrl(f"{URL}/{'' if repo_type == 'model' else f'{repo_type}s/'}{repo_id}")

    def create_branch(self, repo_id, *, branch, repo_type, exist_ok):
        branches = self.repositories[repo_type, repo_id].branches
        branches.setdefault(branch, branches["main"])

    def repo_info(self, repo_id, *, repo_type, revision="main"):
        repository = self.repositories[repo_type, repo_id]
        return SimpleNamespace(private=repository.private, sha=repository.branches[revision])

    def list_repo_files(self, repo_id, *, repo_type, revision):
        self._called("list_repo_files")
        return list(self.repositories[repo_type, repo_id].commits[revision][0])

    def create_commit(self, repo_id, operations, *, commit_message, repo_type, revision, parent_commit):
        self._called("create_commit")
        repository = self.repositories[repo_type, repo_id]
        if repository.branches[revision] != parent_commit:
            raise RuntimeError("A commit has happened since.")
        files = dict(repository.commits[parent_commit][0])
        for operation in operations:
            if isinstance(operation, CommitOperationAdd):
                content = operation.path_or_fileobj
                files[operation.path_in_repo] = content if isinstance(content, bytes) else Path(content).read_bytes()
            else:
                del files[operation.path_in_repo]
        return SimpleNamespace(oid=repository.commit(files, commit_message, revision))

    def snapshot_download(self, repo_id, *, revision=None, allow_patterns, ignore_patterns):
        self._called("snapshot_download")
        if ("model", repo_id) not in self.repositories:
            raise RepositoryNotFoundError(
                "404: no such repository", response=SimpleNamespace(headers={}, request=None)
            )
        folder = self.cache / f"models--{repo_id.replace('/', '--')}" / "snapshots" / str(revision)
        files = self.files(repo_id, branch=revision or "main")
        for name in filter_repo_objects(files, allow_patterns=allow_patterns, ignore_patterns=ignore_patterns):
            (folder / name).parent.mkdir(parents=True, exist_ok=True)
            (folder / name).write_bytes(files[name])
            self.fetched.append(name)
        return str(folder)
