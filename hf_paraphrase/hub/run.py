"""The recipe of the verb `push`: a model, data or metric folder in, a commit on the Hub out."""

from __future__ import annotations

from dataclasses import dataclass

from ..messages import log, without_secrets
from ..settings import Settings, recipe, setting
from .publishing import MAIN, Plan, Pushed, check_licence, find_token, plan_push, send
from .pushed_files import REPO_TYPES


@dataclass(kw_only=True)
class PushSettings(Settings):
    """Send a model folder, a data folder or a metric folder to the Hugging Face Hub, as one commit.

    Files that the branch already has are not sent again; the same command continues an interrupted push. The token is
    that of HF_TOKEN or of `hf auth login`; it is never a flag's value and never printed.
    """

    path: str = setting("the folder: a model, data, or an `evaluate` metric", path=True)
    repo_id: str = setting("the repository, namespace/name, or name in your own namespace; it is created if missing")
    repo_type: str | None = setting(
        "what it is on the Hub; by default detected by the folder's files", None, choices=list(REPO_TYPES)
    )
    private: bool = setting("make the repository private; a public one that exists is refused", False)
    revision: str = setting("the branch; it is created from main if missing", MAIN)
    dry_run: bool = setting(
        "list what would be sent, a line of size in bytes, tab and name for each file, and send nothing; "
        "needs no token and no network",
        False,
    )
    prune: bool = setting("delete files on the branch that the folder does not have", False)
    allow_any_license: bool = setting(
        "send data although its card states no licence, or one that does not allow passing it on", False
    )


@dataclass(frozen=True)
class Push:
    """What was planned and sent; `pushed` is None after a dry run. It prints as the URL, or as a list of the files."""

    plan: Plan
    pushed: Pushed | None

    def __str__(self) -> str:
        """Returns the URL on a line, or a line of size in bytes, tab and name for each file."""
        if self.pushed is not None:
            return f"{without_secrets(self.pushed.url)}\n"
        return "".join(f"{file.size}\t{file.name}\n" for file in self.plan.files)


@recipe(PushSettings)
def push(settings: PushSettings) -> Push:
    """Sends a model, data or metric folder to the Hub, as one commit."""
    kind, branch = settings.repo_type, settings.revision
    plan = plan_push(settings.path, settings.repo_id, repo_type=kind, revision=branch)
    for name, reason in plan.left_out:
        log(f"not sent: {name} ({reason})")
    if changed := [file.name for file in plan.files if file.content is not None]:
        log(f"on the Hub, {', '.join(changed)} name {plan.repo_id} in code and no paths of this machine")
    what = f"{len(plan.files):,} files, {plan.size / 1e6:,.1f} MB"
    where = f"the {'private ' if settings.private else ''}{plan.repo_type} {plan.repo_id}, branch {plan.revision}"
    if settings.dry_run:
        log(f"{what}, would go to {where}; nothing was sent")
    if not settings.allow_any_license:
        check_licence(plan)
    elif plan.licence_problem is not None:
        log(f"warning: {plan.licence_problem}")
    if settings.dry_run:
        return Push(plan, None)
    token = find_token()
    log(f"sending {what}, to {where}")
    pushed = send(plan, token=token, private=settings.private, prune=settings.prune)
    if pushed.stale and settings.prune:
        log(f"deleted on the branch: {', '.join(pushed.stale)}")
    elif pushed.stale:
        log(f"the branch also has {', '.join(pushed.stale)}; --prune deletes what the folder does not have")
    log(f"commit {pushed.commit}" if pushed.is_new else f"nothing has changed since commit {pushed.commit}")
    return Push(plan, pushed)
