"""The template of every output: a folder or set of shards that appears under its name complete or not at all.

A run works in a hidden folder next to the output, `.NAME.<random>.partial`. At the end its `output/` is renamed to the
output; the rest is the state of the job (`job.json`, checkpoints), which `resume` continues.

    with Artefact(output, command="filter", settings=settings, inputs=[pairs]) as artefact:
        ...  # write below artefact.staging
        artefact.finish(results={"rows": rows}, card=Card("filtered", {...}))
"""

from __future__ import annotations

import ctypes
import glob
import hashlib
import json
import os
import shutil
import stat
import sys
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Self

from .. import __version__
from ..errors import HfParaphraseError, OutputError
from ..messages import as_given, log
from ..settings import Settings
from .cards import Card, write_card
from .files import atomic_write_text, give_usual_modes, locked, read_json_object, shortened
from .provenance import PROVENANCE, fingerprint, write_provenance

JOB = "job.json"
"""The file in an incomplete run with everything that determines its result."""
_VERSION = "hf_paraphrase_version"
_NOT_THE_RESULT = frozenset({"output", "license", "report_to"})
_AT_CWD, _EXCHANGE = -100, 2


@dataclass
class Artefact:
    """An output that is being made; a context manager that locks it for one run.

    Args:
        settings: The settings of the command, or a mapping to record.
        inputs: Files, folders and models to read; their SHA-256 is computed at the start.
        overwrite: Replace an older output; by default the setting of this name, if there is one.
        resume: None for short work. For long work, True continues an incomplete run, and False refuses to discard it.
            By default the setting of this name, if there is one.
        job: Values that determine the result in addition to settings and inputs.
        free: Names of settings that a resumed run may change.
        shared: Whether other runs make parts of the same output; they lock it only to begin and to finish.
    """

    output: str | os.PathLike[str]
    command: str
    settings: Settings | Mapping[str, Any]
    inputs: Iterable[str | os.PathLike[str]] = ()
    overwrite: bool = False
    resume: bool | None = None
    job: Mapping[str, Any] = field(default_factory=dict)
    free: Iterable[str] = ()
    shared: bool = False
    target: Path = field(init=False)
    """The output as an absolute path."""
    finished: bool = field(init=False, default=False)
    """Whether the output was complete before this run."""

    def __post_init__(self) -> None:
        self.inputs = list(dict.fromkeys(os.fspath(path) for path in self.inputs))
        self.overwrite = self.overwrite or getattr(self.settings, "overwrite", False)
        self.resume = getattr(self.settings, "resume", None) if self.resume is None else self.resume
        self.target = _resolved(self.output)
        self._lock = ExitStack()
        self._work: Path | None = None

    def __enter__(self) -> Self:
        if not self.shared:
            with locked(self.target):  # refuse before the inputs are read
                if not self.resume:
                    check_early(self.output, overwrite=self.overwrite)
        # Before the work, which may change an input, and without the lock, for which other parts of a job wait.
        _ = self.fingerprints
        with ExitStack() as stack:
            stack.enter_context(locked(self.target, wait=self.shared))
            self._begin()
            if not self.finished and not self.shared:
                self._lock = stack.pop_all()
        return self

    def __exit__(self, *error: Any) -> None:
        work, self._work = self._work, None
        if work is not None and not self.shared:
            has_state = (work / JOB).is_file() and any(file.is_file() and file.name != JOB for file in work.rglob("*"))
            if self.resume is None or not has_state:
                shutil.rmtree(work, ignore_errors=True)
        self._lock.__exit__(*error)

    @property
    def staging(self) -> Path:
        """The folder that becomes the output; files are written there under their own names."""
        return self.work / "output"

    @property
    def current(self) -> Path:
        """The folder with the present content of the output: the staging folder, or the target."""
        return self.staging if self._work is not None and self._work.is_dir() else self.target

    @property
    def work(self) -> Path:
        """The hidden folder of the incomplete run."""
        assert self._work is not None, "the artefact is not being made"
        return self._work

    def checkpoint(self, name: str) -> Path:
        """Return a path for the state that a resumed run continues from; it never becomes part of the output."""
        with ExitStack() as stack:
            is_new = self._work is None
            if is_new:
                stack.enter_context(locked(self.target, wait=True))
                self._work = self._continued(incomplete_runs(self.target)) or self._new_work()
            # Where another part has finished a shared job, its folder is not made again.
            if (is_new or not self.shared) and not (self.work / JOB).is_file():
                atomic_write_text(self.work / JOB, self._described())
        return self.work / name

    def _described(self) -> str:
        job = {**self.described_job(), _VERSION: __version__}
        return json.dumps(job, indent=2, ensure_ascii=False) + "\n"

    def described_job(self) -> dict[str, Any]:
        """Return everything that determines the result: the settings, with inputs replaced by their fingerprints."""
        # The settings have the user's name of an input, not the name of its copy.
        fingerprints = {as_given(path): digest for path, digest in self.fingerprints.items()}
        given = {name: value for name, value in self._record().items() if name not in {*_NOT_THE_RESULT, *self.free}}
        job = {name: _with_fingerprints(value, fingerprints) for name, value in given.items()}
        named = [part for value in given.values() for part in (value if isinstance(value, list) else [value])]
        if others := [digest for path, digest in fingerprints.items() if path not in named]:
            job["inputs"] = others
        return dict(json.loads(json.dumps({**job, **self.job}, default=str)))

    @cached_property
    def fingerprints(self) -> dict[str, str]:
        """The SHA-256 of each input, computed once."""
        return {str(path): fingerprint(path) for path in self.inputs}

    def finish(
        self,
        *,
        results: Mapping[str, Any] | None = None,
        card: Card | None = None,
        settings: Mapping[str, Any] | None = None,
    ) -> None:
        """Write provenance and card, and give the output its name; `settings` replace the recorded ones."""
        write_provenance(
            self.staging,
            command=self.command,
            settings=self._record() if settings is None else settings,
            inputs=self.fingerprints,
            results=results,
            job=None if self.resume is None else fingerprint_of_job(self.described_job()),
        )
        if card is not None:
            write_card(self.staging, replace(card, values={"name": self.target.name, **card.values}))
        try:
            for path in self.staging.rglob(".*.partial"):
                path.unlink(missing_ok=True)  # left by a killed run, or by another part of the job
            give_usual_modes(self.staging)
            check_output(self.output, overwrite=self.overwrite)
            _replace_folder(self.staging, self.target, self.work / "previous")
        except OSError as error:
            raise OutputError(f"cannot replace the output: {error.strerror}", path=self.target) from error
        shutil.rmtree(self.work, ignore_errors=True)
        self._work = None

    @contextmanager
    def finishing(self) -> Iterator[bool]:
        """Lock the output of a shared job again; yield False if another run has finished it."""
        with locked(self.target, wait=True):
            if not (self.work / JOB).is_file():
                # Files that this run was still writing when another run of the same shard finished.
                shutil.rmtree(self.work, ignore_errors=True)
            yield self.work.is_dir()

    def _record(self) -> dict[str, Any]:
        return self.settings.record() if isinstance(self.settings, Settings) else dict(self.settings)

    def _begin(self) -> None:
        runs = incomplete_runs(self.target)
        for work in runs:
            previous = work / "previous"
            if previous.is_dir() and not previous.is_symlink() and not os.path.lexists(self.target):
                previous.rename(self.target)  # killed between the two renames of a replacement
            if not (work / JOB).is_file():
                shutil.rmtree(work, ignore_errors=True)  # there is nothing to continue
        runs = [work for work in runs if work.is_dir()]
        if self.resume and self._was_finished():
            self.finished = True
            log(f"the output is finished, nothing is left to do: {self.output}")
            # An incomplete run of another job, begun with --overwrite, stays.
            job = self._described()
            runs = [work for work in runs if (work / JOB).read_text("utf-8", "replace") == job]
        else:
            self._work = self._continued(runs)
            check_output(self.output, overwrite=self.overwrite)
        for work in runs:
            if work != self._work:
                shutil.rmtree(work, ignore_errors=True)
        if not self.finished and self._work is None and not self.shared:
            self._work = self._new_work()

    def _new_work(self) -> Path:
        work = self.target.with_name(f".{shortened(self.target.name)}.{os.urandom(8).hex()}.partial")
        (work / "output").mkdir(parents=True)
        return work

    def _was_finished(self) -> bool:
        record = self.target / PROVENANCE
        made = read_json_object(record, OutputError) if record.is_file() else {}
        job = made.get("job")
        is_same = job is not None and job == fingerprint_of_job(self.described_job())
        if job is not None and not is_same and not self.overwrite:
            problem = "the output is finished and was made with other settings or inputs"
            remedy = "give another --output, or --overwrite without --resume"
            raise OutputError(problem, path=self.output, remedy=remedy)
        if is_same and (version := made.get(_VERSION)) != __version__:
            log(f"warning: the output was made by version {version or 'before 0.3'} of hf-paraphrase", warning=True)
        return is_same

    def _continued(self, runs: Sequence[Path]) -> Path | None:
        begun = [work for work in runs if (work / JOB).is_file()]
        if not begun or (self.overwrite and not self.resume):
            return None
        if not self.resume:
            remedy = "--resume continues it, --overwrite starts again"
            raise OutputError("an incomplete run for this output exists", path=self.output, remedy=remedy)
        work, remedy = begun[0], "repeat the original command with --resume, or start again with --overwrite"
        if self.shared:
            remedy = f"repeat the original command, or remove {begun[0]} and start again"
        try:
            before = read_json_object(work / JOB, OutputError)
        except OutputError as error:
            raise OutputError("the state of the incomplete run is damaged", path=work / JOB, remedy=remedy) from error
        if (version := before.pop(_VERSION, "an earlier one")) != __version__:
            problem = f"the incomplete run was begun by version {version} of hf-paraphrase, and this is {__version__}"
            remedy = f"continue it with that version, or {remedy.rpartition(', or ')[2]}"
            raise OutputError(problem, path=self.output, remedy=remedy)
        now = self.described_job()
        if changed := sorted(name for name in {*before, *now} if before.get(name) != now.get(name)):
            problem = f"the incomplete run had other settings: {', '.join(changed)}"
            raise OutputError(problem, path=self.output, remedy=remedy)
        return work


@contextmanager
def output_file(output: str | os.PathLike[str], *, overwrite: bool = False) -> Iterator[Path]:
    """Lock an output file, which gets no provenance; the block writes it by :func:`~.files.atomic_write`."""
    path = _resolved(output)
    with locked(path):
        for leftover in filter(Path.is_file, _hidden(path)):
            leftover.unlink()  # left by a killed run
        yield check_output(output, overwrite=overwrite, is_file=True)


def check_output(output: str | os.PathLike[str], *, overwrite: bool = False, is_file: bool = False) -> Path:
    """Refuse an output that would destroy something, and return it as an absolute path.

    `overwrite` replaces any file, and folders with a provenance of this package.
    """
    wanted = "a file" if is_file else "a folder"
    path = _resolved(output)
    problem, remedy = None, f"give the path of {wanted} itself"
    if path.is_symlink():
        problem = "the output is a link"
    elif path.exists() and not (path.is_file() if is_file else path.is_dir()):
        problem = f"the output exists and is not {wanted}"
    elif path == Path.cwd() or path in Path.cwd().parents:
        problem, remedy = "the output is the current folder or contains it", "name a new folder"
    elif path.is_file() and not overwrite:
        problem, remedy = "the output file exists", "give another name, or --overwrite"
    elif _has_content(path) and not overwrite:
        problem, remedy = "the output folder exists and is not empty", "give another --output, or --overwrite"
    elif _has_content(path) and not has_own_provenance(path):
        problem = f"--overwrite replaces only folders with a {PROVENANCE} of hf-paraphrase"
        remedy = "remove the folder yourself, or give another --output"
    if problem is not None:
        raise OutputError(problem, path=output, remedy=remedy)
    return path


def _has_content(path: Path) -> bool:
    try:
        return any(path.iterdir())
    except (FileNotFoundError, NotADirectoryError):
        return False  # none, a file, or a folder that another run is replacing


def _resolved(output: str | os.PathLike[str]) -> Path:
    path = Path(output).expanduser()
    return path.parent.resolve() / path.name if path.name not in {"", ".."} else path.resolve()


def check_early(output: str | os.PathLike[str], *, overwrite: bool = False) -> None:
    """Refuse an output before long work; after a killed run :class:`Artefact` does, once its files are removed."""
    if not incomplete_runs(_resolved(output)):
        check_output(output, overwrite=overwrite)


def has_own_provenance(folder: Path) -> bool:
    """Return whether this package made a folder, according to its provenance."""
    with suppress(HfParaphraseError):
        return str(read_json_object(folder / PROVENANCE).get("command")).startswith("hf-paraphrase ")
    return False


def fingerprint_of_job(job: Mapping[str, Any]) -> str:
    """Compute the SHA-256 of a job as JSON."""
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()


def incomplete_runs(target: Path) -> list[Path]:
    """List the hidden folders, without links, that earlier runs of this user left for an output."""
    return list(filter(Path.is_dir, _hidden(target)))


def _hidden(target: Path) -> list[Path]:
    pattern = f".{glob.escape(shortened(target.name))}.{'[0-9a-f]' * 16}.partial"
    paths = []
    for path in sorted(target.parent.glob(pattern)):
        with suppress(FileNotFoundError):  # the run that was writing it has just ended
            status = path.lstat()
            is_own = not hasattr(os, "geteuid") or status.st_uid == os.geteuid()
            paths += [path] if is_own and not stat.S_ISLNK(status.st_mode) else []
    return paths


def _replace_folder(new: Path, target: Path, previous: Path) -> None:
    if not _has_content(target):
        new.rename(target)
    elif not _exchange(new, target):
        target.rename(previous)
        try:
            new.rename(target)
        except OSError:
            previous.rename(target)
            raise


def _exchange(one: Path, other: Path) -> bool:
    if sys.platform != "linux":
        return False
    rename: Callable[..., int] | None = getattr(ctypes.CDLL(None), "renameat2", None)
    return rename is not None and rename(_AT_CWD, os.fsencode(one), _AT_CWD, os.fsencode(other), _EXCHANGE) == 0


def _with_fingerprints(value: Any, fingerprints: Mapping[str, str]) -> Any:
    if isinstance(value, list):
        return [_with_fingerprints(part, fingerprints) for part in value]
    return fingerprints.get(value, value) if isinstance(value, str) else value
