"""Publishes a folder on the Hub: a model, a data folder, or a metric as a Space.

A push is one commit, so a reader of the branch sees the old artefact or the new one and never a half. Large files are
sent before it and wait on the Hub's storage for the commit; what is there already is not sent again, neither by the
next push nor by the repetition of one that broke (`HfApi.create_commit`: storage is asked for each file's SHA-256
first, and with `hf_xet` for each piece of it). `upload_large_folder` of huggingface_hub 1 and `upload_folder` of
huggingface_hub 2 resume too, but make several commits, between which the branch is half new.
"""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING, Any

from ..artefacts.card_heads import CARD, read_head
from ..errors import HubError, InputError, UsageError, choice_of
from .folder_kinds import REPO_TYPES, check_place, check_whole, data_patterns, holds_data, kind_of
from .hub_errors import hub_errors
from .licences import refusal
from .published_card import published_files
from .remote_files import Changes, RemoteFile, compare, git_blob, list_branch, read_as_data
from .tokens import check_token, find_token
from .travelling_files import FileList, TravellingFile, list_files

if TYPE_CHECKING:
    from huggingface_hub import CommitOperationAdd, HfApi

MAIN = "main"
_SECRET_SEARCH_BYTES = 10_000_000
_BRANCH = re.compile(
    r"(?!.*(\.\.|//|@\{))[^\s~^:?*\[\\\x00-\x1f\x7f/.-][^\s~^:?*\[\\\x00-\x1f\x7f]*(?<![/.])(?<!\.lock)"
)


@dataclass(frozen=True)
class Plan:
    """What a push would send; made without network or token.

    Attributes:
        folder: The folder.
        repo_id: The repository as it was asked for.
        repo_type: `model`, `dataset` or `space`.
        revision: The branch.
        files: What travels and what stays at home. Cards have the content that they get on the Hub, unless `repo_id`
            lacks the namespace, which only the Hub knows.
        head: The YAML head of the card.
        licence_problem: Why the licence forbids to pass the folder's data on; None where it does not, or for no data.
    """

    folder: Path
    repo_id: str
    repo_type: str
    revision: str
    files: FileList
    head: dict[str, Any]
    licence_problem: str | None


@dataclass(frozen=True)
class Pushed:
    """What a push did.

    Attributes:
        url: The address of the branch.
        commit: The commit that the branch is at.
        changes: What was sent, what the branch had already, and what it has besides.
        pruned: Names of the files that were deleted on the branch.
    """

    url: str
    commit: str
    changes: Changes
    pruned: tuple[str, ...]


def plan_push(
    path: str | os.PathLike[str],
    repo_id: str,
    *,
    repo_type: str | None = None,
    revision: str | None = None,
    exclude: Sequence[str] = (),
) -> Plan:
    """Checks a folder and lists what a push of it would send; nothing is sent and no token is needed.

    Args:
        path: The folder.
        repo_id: The repository, `namespace/name`, or `name` for the namespace of the token's owner.
        repo_type: `model`, `dataset` or `space`; by default the folder's files tell.
        revision: The branch; `main` by default.
        exclude: Patterns of files to leave out, see :func:`~hf_paraphrase.hub.travelling_files.list_files`.

    Raises:
        UsageError: For a repository, type or branch that cannot be, or where the files do not tell the type.
        InputError: If the folder is not a whole artefact of hf-paraphrase, or holds what must not travel.
        OutputError: If the folder is unfinished work.
    """
    _check_names(repo_id, repo_type, revision)
    check_place(path)
    files = list_files(path, exclude)
    head = read_head(path)
    kind = repo_type or kind_of(path, files, head)
    check_whole(path, kind, files, head)
    problem = refusal(head) if holds_data(kind, files) else None
    if "/" in repo_id:
        files = published_files(Path(path), files, repo_id, kind)
    return Plan(Path(path), repo_id, kind, revision or MAIN, files, head, problem)


def check_licence(plan: Plan) -> None:
    """Refuses data that may not be passed on.

    Raises:
        InputError: If the folder holds data and its card does not state a licence that allows it.
    """
    if plan.licence_problem is not None:
        raise InputError(
            f"the data is not sent: {plan.licence_problem}",
            path=plan.folder / CARD,
            remedy="name the licence in the card: a line such as `license: cc-by-2.0` between the two lines --- at "
            "its head (`prepare … --license` writes it when data is made), or, if you may pass the data on, say "
            "--allow-any-license",
        )


def push_folder(
    path: str | os.PathLike[str],
    repo_id: str,
    *,
    repo_type: str | None = None,
    private: bool = False,
    revision: str | None = None,
    commit_message: str | None = None,
    exclude: Sequence[str] = (),
    prune: bool = False,
    allow_any_license: bool = False,
    token: str | None = None,
    endpoint: str | None = None,
    progress: Callable[[int], object] = lambda size: None,
) -> Pushed:
    """Sends a model, data or metric folder to the Hub, as one commit.

    A repository or branch that does not exist is made. A push that broke is continued by the same call.

    Args:
        path: The folder.
        repo_id: The repository, `namespace/name`, or `name` for the namespace of the token's owner.
        repo_type: `model`, `dataset` or `space`; by default the folder's files tell.
        private: Make the repository private; one that exists and is public is refused.
        revision: The branch; `main` by default.
        commit_message: The commit's first line; by default it names the folder.
        exclude: Patterns of files to leave out.
        prune: Delete files on the branch that the folder does not have.
        allow_any_license: Send data although its card states no licence that allows passing it on.
        token: The token; by default that of `HF_TOKEN` or the saved login.
        endpoint: The Hub's address; by default `HF_ENDPOINT`, or https://huggingface.co.
        progress: Called with the size in bytes of each file when it has been compared with the branch.

    Raises:
        UsageError: As :func:`plan_push`, if there is no token, or if private is asked for a public repository.
        InputError: As :func:`plan_push` and :func:`check_licence`, or if a file holds the token.
        OutputError: If the folder is unfinished work.
        HubError: If the Hub cannot be reached or refuses, or if old data on the branch would mix with the new.
    """
    plan = plan_push(path, repo_id, repo_type=repo_type, revision=revision, exclude=exclude)
    if not allow_any_license:
        check_licence(plan)
    return send(
        plan,
        private=private,
        commit_message=commit_message,
        prune=prune,
        token=find_token() if token is None else token,
        endpoint=endpoint,
        progress=progress,
    )


def send(
    plan: Plan,
    *,
    token: str,
    private: bool = False,
    commit_message: str | None = None,
    prune: bool = False,
    endpoint: str | None = None,
    progress: Callable[[int], object] = lambda size: None,
) -> Pushed:
    """Does what a plan says, whatever the licence; arguments and errors are those of :func:`push_folder`."""
    _check_secrets(plan, check_token(token))
    from huggingface_hub import HfApi

    api = HfApi(endpoint=endpoint, token=token)
    with hub_errors(api.endpoint, plan.repo_id, token):
        return _push(api, plan, private, commit_message or f"Upload {plan.folder.resolve().name}", prune, progress)


def _push(
    api: HfApi, plan: Plan, private: bool, commit_message: str, prune: bool, progress: Callable[[int], object]
) -> Pushed:
    kind = plan.repo_type
    repo_id = _open_repository(api, plan, private)
    if repo_id != plan.repo_id:
        plan = replace(plan, files=published_files(plan.folder, plan.files, repo_id, kind))
    # The commit is made on what was compared, or not at all.
    parent = api.repo_info(repo_id, repo_type=kind, revision=plan.revision).sha
    changes = compare(plan.files, list_branch(api, repo_id, kind, str(parent)), progress)
    mixed = read_as_data(changes.stale, data_patterns(plan.head))
    if mixed and not prune:
        raise HubError(
            f"{repo_id} holds {', '.join(mixed)}, which load_dataset would read beside the new files",
            remedy="--prune deletes what the folder does not have; another --revision leaves it",
        )
    pruned = changes.stale if prune else ()
    commit = str(parent)
    if changes.send or pruned:
        commit = _commit(api, plan, repo_id, changes.send, pruned, commit_message, commit)
    prefix = {"dataset": "datasets/", "space": "spaces/"}.get(kind, "")
    url = f"{api.endpoint}/{prefix}{repo_id}" + ("" if plan.revision == MAIN else f"/tree/{plan.revision}")
    return Pushed(url, commit, changes, pruned)


def _open_repository(api: HfApi, plan: Plan, private: bool) -> str:
    """Makes the repository and the branch where they are missing, and returns the repository's full name."""
    kind = plan.repo_type
    sdk = str(plan.head["sdk"]) if kind == "space" else None
    made = api.create_repo(
        plan.repo_id, repo_type=kind, private=True if private else None, exist_ok=True, space_sdk=sdk
    )
    repo_id = str(made.repo_id)
    if private and not api.repo_info(repo_id, repo_type=kind).private:
        raise UsageError(
            f"{repo_id} exists and is public", remedy="make it private in its settings first, or leave --private out"
        )
    if plan.revision != MAIN and not plan.revision.startswith("refs/"):
        api.create_branch(repo_id, branch=plan.revision, repo_type=kind, exist_ok=True)
    return repo_id


def _commit(
    api: HfApi,
    plan: Plan,
    repo_id: str,
    send: Sequence[TravellingFile],
    pruned: Sequence[str],
    commit_message: str,
    parent: str,
) -> str:
    """Sends files, commits them, and returns the commit once the Hub's list of files shows them all."""
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete

    additions = [
        CommitOperationAdd(path_in_repo=file.name, path_or_fileobj=file.path if file.content is None else file.content)
        for file in send
    ]
    info = api.create_commit(
        repo_id,
        [*additions, *(CommitOperationDelete(path_in_repo=name, is_folder=False) for name in pruned)],
        commit_message=commit_message,
        repo_type=plan.repo_type,
        revision=plan.revision,
        parent_commit=parent,
    )
    there = list_branch(api, repo_id, plan.repo_type, info.oid)
    lost = [
        file.name for file, sent in zip(send, additions, strict=True) if not _arrived(file, sent, there.get(file.name))
    ]
    if lost:
        raise HubError(
            f"{repo_id} did not take {', '.join(lost)}",
            remedy="is it named in a .gitignore there? did it change while it was sent?",
        )
    return str(info.oid)


def _arrived(file: TravellingFile, sent: CommitOperationAdd, there: RemoteFile | None) -> bool:
    if there is None or there.size != sent.upload_info.size:
        return False
    if there.sha256 is not None:
        return there.sha256 == sent.upload_info.sha256.hex()
    return there.blob == git_blob(file.read())


def _check_names(repo_id: str, repo_type: str | None, revision: str | None) -> None:
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise UsageError(f"`{repo_id}` is not the name of a repository", remedy="namespace/name") from error
    if repo_type is not None and repo_type not in REPO_TYPES:
        raise UsageError(f"there is no repository type `{repo_type}`", remedy=choice_of(repo_type, REPO_TYPES))
    if revision is not None and not _BRANCH.fullmatch(revision):
        raise UsageError(f"`{revision}` is not the name of a branch", remedy="e.g. main, v2")


def _check_secrets(plan: Plan, token: str) -> None:
    """Refuses to publish the token itself, say in the settings that a provenance.json records."""
    secret = token.encode()
    for file in plan.files.files:
        if file.size <= _SECRET_SEARCH_BYTES and secret in file.read():
            raise InputError("the file holds your token for the Hub", path=file.path, remedy="remove it from the file")
