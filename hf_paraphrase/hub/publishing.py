"""The command `push`: publishes a model, a data folder, or a metric (as a Space) on the Hub.

A push is one commit, so that a reader of the branch sees the old artefact or the new one. Files that the Hub already
has are not sent again, also after a push that was interrupted (`HfApi.create_commit`).
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from ..artefacts.card_metadata import CARD, read_card, split_card, texts
from ..errors import HfParaphraseError, HubError, InputError, UsageError
from ..messages import HIDDEN, log, without_secrets
from ..settings import Settings, recipe, setting
from .pushed_files import (
    DATA_SUFFIXES,
    REPO_TYPES,
    PushedFile,
    adapt_files,
    check_artefact,
    detect_repo_type,
    list_files,
)

MAIN = "main"
# The Hub's own lists of large and of ignored files.
_OF_THE_HUB = {".gitattributes", ".gitignore"}
# Licences under which changed copies may be passed on, some under conditions (attribution, same licence, no trade).
_FREE = re.compile(
    r"""
      cc0-1\.0 | pddl | unlicense | wtfpl | zlib | isc | mit | ncsa | postgresql | bsl-1\.0
    | cc-by(-nc)?(-sa)?(-(2\.0|2\.5|3\.0|4\.0))? | cc-by-3\.0-(us|igo|at)
    | odc-by | odbl | etalab-2\.0 | cdla-(sharing|permissive)-1\.0 | cdla-permissive-2\.0
    | apache-2\.0 | afl-3\.0 | artistic-2\.0 | ecl-2\.0 | osl-3\.0 | ms-pl
    | bsd | bsd-[23]-clause | bsd-3-clause-clear
    | mpl-2\.0 | epl-[12]\.0 | eupl-1\.[12] | lgpl(-(2\.1|3\.0))? | lgpl-lr | agpl-3\.0 | gpl(-(2\.0|3\.0))?
    | gfdl | ofl-1\.1 | lppl-1\.3c
    """,
    re.VERBOSE,
)


@dataclass(kw_only=True)
class PushSettings(Settings):
    """Send a model folder, a data folder or a metric folder to the Hugging Face Hub, as one commit.

    Files that the branch already has are not sent again; the same command continues an interrupted push. The token
    comes from HF_TOKEN or `hf auth login`; it is never given as a flag and never printed.
    """

    path: str = setting("the folder: a model, data, or an `evaluate` metric", path=True)
    repo_id: str = setting("the repository, namespace/name, or name in your own namespace; it is created if missing")
    repo_type: str | None = setting(
        "type of repository on the Hub; by default detected from the folder's files", None, choices=list(REPO_TYPES)
    )
    private: bool = setting("make the repository private; a public one that exists is refused", False)
    revision: str = setting("the branch; it is created from main if missing", MAIN)
    dry_run: bool = setting(
        "send nothing; list the files that would be sent, one per line: size in bytes, tab, name; needs no token and "
        "no network",
        False,
    )
    prune: bool = setting("delete files on the branch that the folder does not have", False)
    allow_any_license: bool = setting(
        "send data whose card states no licence, or one that does not allow redistribution", False
    )


@dataclass(frozen=True)
class Plan:
    """The files that a push would send, the files left out with reasons, and the obstacle in the licence if any."""

    folder: Path
    repo_id: str
    repo_type: str
    revision: str
    files: Sequence[PushedFile]
    left_out: Sequence[tuple[str, str]]
    head: Mapping[str, Any]
    license_problem: str | None

    @property
    def size(self) -> int:
        """The size of all files, in bytes."""
        return sum(file.size for file in self.files)


@dataclass(frozen=True)
class Pushed:
    """The URL and commit of the branch, whether this push made the commit, and files that only the branch has."""

    url: str
    commit: str
    is_new: bool
    stale: Sequence[str]


@dataclass(frozen=True)
class Push:
    """A plan and its result; `pushed` is None after a dry run. It prints as the URL, or as a list of the files."""

    plan: Plan
    pushed: Pushed | None

    def __str__(self) -> str:
        """Return the URL on a line, or a line of size in bytes, tab and name for each file."""
        if self.pushed is not None:
            return f"{without_secrets(self.pushed.url)}\n"
        return "".join(f"{file.size}\t{file.name}\n" for file in self.plan.files)


@recipe(PushSettings)
def push(settings: PushSettings) -> Push:
    """Send a model, data or metric folder to the Hub, as one commit."""
    kind, branch = settings.repo_type, settings.revision
    plan = plan_push(settings.path, settings.repo_id, repo_type=kind, revision=branch)
    for name, reason in plan.left_out:
        log(f"not sent: {name} ({reason})")
    if changed := [file.name for file in plan.files if file.content is not None]:
        log(f"on the Hub, {', '.join(changed)} will name {plan.repo_id} in code and no local paths")
    what = f"{len(plan.files):,} files, {plan.size / 1e6:,.1f} MB"
    where = f"the {'private ' if settings.private else ''}{plan.repo_type} {plan.repo_id}, branch {plan.revision}"
    if settings.dry_run:
        log(f"{what} would be sent to {where}; nothing was sent")
    if not settings.allow_any_license:
        check_redistribution(plan)
    elif plan.license_problem is not None:
        log(f"warning: {plan.license_problem}")
    if settings.dry_run:
        return Push(plan, None)
    token = find_token()
    log(f"sending {what} to {where}")
    pushed = send(plan, token=token, private=settings.private, prune=settings.prune)
    if pushed.stale and settings.prune:
        log(f"deleted on the branch: {', '.join(pushed.stale)}")
    elif pushed.stale:
        log(f"the branch also has {', '.join(pushed.stale)}; --prune deletes files that are not in the folder")
    log(f"commit {pushed.commit}" if pushed.is_new else f"nothing has changed since commit {pushed.commit}")
    return Push(plan, pushed)


def plan_push(
    path: str | os.PathLike[str],
    repo_id: str,
    *,
    repo_type: str | None = None,
    revision: str | None = None,
) -> Plan:
    """Check a folder and list the files that :func:`send` would send, without network or token."""
    from huggingface_hub.errors import HFValidationError
    from huggingface_hub.utils import validate_repo_id

    try:
        validate_repo_id(repo_id)
    except HFValidationError as error:
        raise UsageError(f"--repo-id `{repo_id}` is not a name of the Hub", remedy="e.g. someone/encoder") from error
    files, left_out = list_files(path)
    head, _ = split_card(read_card(path), Path(path) / CARD)
    kind = repo_type or detect_repo_type(path, files, head)
    check_artefact(path, kind, files)
    # Sentences are sent, so that the licence of data matters.
    has_data = kind == "dataset" or any(file.name.endswith(DATA_SUFFIXES) for file in files)
    problem = explain_refusal(head) if has_data else None
    if "/" in repo_id:
        files = adapt_files(Path(path), files, repo_id, kind)
    return Plan(Path(path), repo_id, kind, revision or MAIN, files, left_out, head, problem)


def explain_refusal(head: Mapping[str, Any]) -> str | None:
    """Return why the data of a card with this head may not be redistributed, as a clause; None if it may.

    All licences of a card must allow redistribution of changed copies, such as a prepared or filtered folder.
    """
    licenses = [text.strip().lower() for text in texts(head.get("license"))]
    if not licenses:
        return "its card states no licence"
    for license in licenses:
        if license in {"other", "unknown"}:
            named = "".join(f" ({name})" for name in texts(head.get("license_name")))
            return f"its card states the licence `{license}`{named}, which does not say if it allows redistribution"
        if re.search(r"(^|-)nd(-|$)", license):
            return f"its licence `{license}` forbids redistribution of changed copies"
        if not _FREE.fullmatch(license):
            return f"its licence `{license}` is not known to allow redistribution"
    return None


def check_redistribution(plan: Plan) -> None:
    """Refuse data whose card does not state a licence that allows redistribution."""
    if plan.license_problem is not None:
        remedy = "write it into the head of the card, as `license: cc-by-2.0`, or give --allow-any-license"
        raise InputError(f"the data is not sent: {plan.license_problem}", path=plan.folder / CARD, remedy=remedy)


def send(
    plan: Plan,
    *,
    token: str | None = None,
    private: bool = False,
    commit_message: str | None = None,
    prune: bool = False,
) -> Pushed:
    """Send the files of a plan without a check of the licence; create the repository and branch if missing.

    The default of `token` is `HF_TOKEN` or the saved login.
    """
    from huggingface_hub import CommitOperationAdd, CommitOperationDelete, HfApi

    token = _check_token(token or find_token())
    for file in plan.files:
        # Longer files are not searched: they are data or weights.
        if file.size <= 10_000_000 and token.encode() in file.read():
            raise InputError("the file contains your token for the Hub", path=file.path, remedy="remove it")
    api = HfApi(token=token)
    kind, revision = plan.repo_type, plan.revision
    with _client_errors(token):
        url = api.create_repo(
            plan.repo_id,
            repo_type=kind,
            private=private or None,
            exist_ok=True,
            space_sdk=next(iter(texts(plan.head.get("sdk"))), None) if kind == "space" else None,
        )
        repo_id = url.repo_id
        if private and not api.repo_info(repo_id, repo_type=kind).private:
            remedy = "make it private in its settings first, or leave out --private"
            raise UsageError(f"{repo_id} exists and is public", remedy=remedy)
        if revision != MAIN and not revision.startswith("refs/"):
            api.create_branch(repo_id, branch=revision, repo_type=kind, exist_ok=True)
        # The commit is made on this state of the branch or fails.
        parent = api.repo_info(repo_id, repo_type=kind, revision=revision).sha
        names = api.list_repo_files(repo_id, repo_type=kind, revision=parent)
        stale = sorted({*names} - {file.name for file in plan.files} - _OF_THE_HUB)
        mixed = [name for name in stale if name.endswith(DATA_SUFFIXES)]
        if mixed and not prune:
            problem = f"{repo_id} has {', '.join(mixed)}, which load_dataset would read beside the new files"
            raise HubError(
                problem, remedy="--prune deletes files that are not in the folder; another --revision keeps it"
            )
        files = adapt_files(plan.folder, plan.files, repo_id, kind)
        commit = api.create_commit(
            repo_id,
            [
                *(CommitOperationAdd(file.name, file.content or file.path) for file in files),
                *(CommitOperationDelete(name, is_folder=False) for name in stale if prune),
            ],
            commit_message=commit_message or f"Upload {plan.folder.resolve().name}",
            repo_type=kind,
            revision=revision,
            parent_commit=parent,
        )
    shown = str(url) if revision == MAIN else f"{url}/tree/{revision}"
    return Pushed(shown, commit.oid, commit.oid != parent, stale)


def find_token() -> str:
    """Return the token of `HF_TOKEN` or of the saved login."""
    from huggingface_hub import get_token

    token = get_token()
    if not token:
        raise UsageError("there is no token for the Hub", remedy="log in with `hf auth login`, or set HF_TOKEN")
    return _check_token(token)


def _check_token(token: str) -> str:
    """Refuse characters that tokens do not have: an HTTP library would print the whole header in its error."""
    if not (token.isascii() and token.isprintable() and " " not in token):
        raise UsageError("the token has invalid characters", remedy="see HF_TOKEN, or `hf auth login`")
    return token


@contextmanager
def _client_errors(token: str) -> Iterator[None]:
    """Turn errors of the Hub's client into one line without the token."""
    try:
        yield
    except HfParaphraseError:
        raise
    except Exception as error:  # of the client, its HTTP library and the system
        status = getattr(getattr(error, "response", None), "status_code", None)
        remedy = "repeat the command: files that the Hub has are not sent again"
        if status in {401, 403, 404}:
            remedy = "see --repo-id, and use a token that may write to it (`hf auth login`)"
        text = (str(error) or type(error).__name__).replace(token, HIDDEN)
        failure = HubError(f"the Hub's client failed: {text}", remedy=remedy)
    else:
        return
    # Not chained, because the request in the original may hold the token.
    raise failure from None
