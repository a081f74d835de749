"""The recipe of the verb `push`: a model, data or metric folder in, a commit on the Hub out."""

from __future__ import annotations

from dataclasses import dataclass

from tqdm import tqdm

from ..messages import log, without_secrets
from ..settings import Settings, recipe, setting
from .folder_kinds import REPO_TYPES
from .published_record import is_record
from .publishing import MAIN, Plan, Pushed, check_licence, plan_push, send
from .tokens import find_token


@dataclass(kw_only=True)
class PushSettings(Settings):
    """Send a model folder, a data folder or a metric folder to the Hugging Face Hub, as one commit.

    Files that the branch has already are not sent again; the same command continues a push that broke. The token is
    that of HF_TOKEN, of `hf auth login`, or of --token-file; it is never a flag's value and never printed.
    """

    path: str = setting("the folder: a model, data, or an `evaluate` metric", path=True)
    repo_id: str = setting("the repository, namespace/name, or name in your own namespace; it is made if missing")
    repo_type: str | None = setting(
        "what it is on the Hub; by default the folder's files tell", None, choices=list(REPO_TYPES)
    )
    private: bool = setting("make the repository private; a public one that exists is refused", False)
    revision: str = setting("the branch; it is made from main if missing", MAIN)
    commit_message: str | None = setting("the commit's first line; by default it names the folder", None)
    dry_run: bool = setting(
        "list what would be sent, a line of size in bytes, tab and name for each file, and send nothing; "
        "needs no token and no network",
        False,
    )
    exclude: list[str] = setting(
        "patterns (*, ?, [...]) of files and folders to leave out, by name or by place in the folder",
        [],
    )
    prune: bool = setting("delete files on the branch that the folder does not have", False)
    allow_any_license: bool = setting(
        "send data although its card states no licence, or one that does not allow passing it on", False
    )
    token_file: str | None = setting(
        "a file that holds the token, by default HF_TOKEN or the saved login", None, path=True
    )


@dataclass(frozen=True)
class Push:
    """What was sent, or would be; it prints as the address, or as the list of a dry run.

    Attributes:
        plan: What was to be sent.
        pushed: What was done; None after a dry run.
    """

    plan: Plan
    pushed: Pushed | None

    def __str__(self) -> str:
        """Returns the address on a line, or a line of size in bytes, tab and name for each file."""
        if self.pushed is not None:
            return f"{without_secrets(self.pushed.url)}\n"
        return "".join(f"{file.size}\t{file.name}\n" for file in self.plan.files.files)


@recipe(PushSettings)
def push(settings: PushSettings) -> Push:
    """Sends a model, data or metric folder to the Hub, as one commit.

    Returns:
        What was sent, with the address of the branch.

    Raises:
        UsageError: For names that cannot be, no token, or a repository that is not private.
        InputError: If the folder is not a whole artefact, may not be passed on, or holds what must not travel.
        OutputError: If the folder is unfinished work.
        HubError: If the Hub cannot be reached or refuses.
    """
    plan = plan_push(
        settings.path,
        settings.repo_id,
        repo_type=settings.repo_type,
        revision=settings.revision,
        exclude=settings.exclude,
    )
    _say_what_changes(plan)
    if settings.dry_run:
        log(f"{_what(plan)}, would go to {_where(plan, settings.private)}; nothing was sent")
    if plan.licence_problem is not None and settings.allow_any_license:
        log(f"warning: {plan.licence_problem}")
    if not settings.allow_any_license:
        check_licence(plan)
    if settings.dry_run:
        return Push(plan, None)
    token = find_token(settings.token_file)
    log(f"{_what(plan)}, to {_where(plan, settings.private)}")
    with tqdm(desc="compare", total=plan.files.size, unit="B", unit_scale=True) as bar:

        def compared(size: int) -> None:
            bar.update(size)
            if bar.n >= plan.files.size:
                bar.close()  # the client's own bars come next

        pushed = send(
            plan,
            private=settings.private,
            commit_message=settings.commit_message,
            prune=settings.prune,
            token=token,
            progress=compared,
        )
    changes = pushed.changes
    log(
        f"{_count(len(changes.send))} sent ({_size(changes.size)}), {len(changes.unchanged):,} already there"
        + (f", {len(pruned):,} deleted" if (pruned := pushed.pruned) else "")
    )
    if changes.stale and not pruned:
        log(f"the branch also has {', '.join(changes.stale)}, which the folder does not; --prune deletes such files")
    log(f"commit {pushed.commit}")
    return Push(plan, pushed)


def _say_what_changes(plan: Plan) -> None:
    """Says what stays here, and what is other there than here."""
    for name, reason in plan.files.left_out:
        log(f"stays here: {name} ({reason})")
    changed = [file.name for file in plan.files.files if file.content is not None]
    records = [name for name in changed if is_record(name)]
    if records:
        log(f"paths in {', '.join(records)} are shortened to their last part on the Hub, not here")
    cards = [name for name in changed if name not in records]
    if cards:
        log(f"the code in {', '.join(cards)} names {plan.repo_id} there; the folder here stays as it is")
    elif "/" not in plan.repo_id:
        log("code in the card that names this folder names the repository there, with your namespace")


def _what(plan: Plan) -> str:
    return f"{_count(len(plan.files.files))}, {_size(plan.files.size)}"


def _where(plan: Plan, private: bool) -> str:
    return f"the {'private ' if private else ''}{plan.repo_type} {plan.repo_id}, branch {plan.revision}"


def _count(number: int) -> str:
    return f"{number:,} file{'' if number == 1 else 's'}"


def _size(number: float) -> str:
    """Writes a number of bytes with its unit, 1 kB being 1000 bytes as on the Hub."""
    for unit in ("bytes", "kB", "MB", "GB"):
        if number < 1000:
            return f"{number:,.0f} {unit}" if unit == "bytes" else f"{number:,.1f} {unit}"
        number /= 1000
    return f"{number:,.1f} TB"
