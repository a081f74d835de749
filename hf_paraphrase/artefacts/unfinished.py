"""What lies in unfinished work beside the work itself: with what it is made, and when it was interrupted.

Both go before the output is moved into its place, which is the last that a run does, so that the output of a run that
was killed anywhere is in no way another than that of an undisturbed one. `provenance.json` keeps the fingerprint of
the job, by which a later `--resume` knows a finished output again, and the interruptions.
"""

from __future__ import annotations

import datetime
import hashlib
import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from ..errors import OutputError
from .files import read_json_object
from .whole_files import write_text_whole

JOB = "job.json"
"""The file in unfinished work that says what it is made with: all that determines the result."""
_INTERRUPTIONS = "interruptions.json"
RECORD = "provenance.json"
"""The file in which an artefact says how it came to be."""
_REMEDY = "repeat the original command with --resume, or start afresh with --overwrite"


def check_same_job(folder: Path, job: Mapping[str, Any], *, again: bool = True) -> None:
    """Makes sure that a run that is continued is the one that was begun; writes down the job of a new one.

    Of one that is continued it is written down that it was interrupted, so this is asked once in a run.

    Args:
        folder: The unfinished work.
        job: All that determines the result, as JSON values.
        again: Whether a run that finds the job there goes on with one that was interrupted; false where many share it.

    Raises:
        OutputError: If the unfinished work is of another job, or what says so cannot be read.
    """
    record = folder / JOB
    if not record.is_file():
        # That of a run that was killed at its very end, or has finished here, is gone.
        if recorded_job(folder / RECORD) not in {None, job_fingerprint(job)}:
            raise OutputError("the run there had other settings or inputs", path=folder, remedy=_REMEDY)
        write_job(folder, job)
        return
    try:
        previous = read_json_object(record, OutputError)
    except OutputError as error:
        raise OutputError("the record of the unfinished run is damaged", path=record, remedy=_REMEDY) from error
    # A setting that came with a later version changes nothing while it is off.
    known = {name: _as_json(value) for name, value in job.items() if value is not False or name in previous}
    changed = sorted(name for name in {*known, *previous} if previous.get(name) != known.get(name))
    if changed:
        raise OutputError(f"the unfinished run had other settings: {', '.join(changed)}", path=folder, remedy=_REMEDY)
    if again:
        _note_interruption(folder)


def write_job(folder: Path, job: Mapping[str, Any]) -> None:
    """Writes down what unfinished work is made with, whatever it was begun with."""
    if (folder / JOB).is_file():
        _note_interruption(folder)
    write_text_whole(folder / JOB, json.dumps(job, indent=2, ensure_ascii=False) + "\n")


def recorded_job(record: Path) -> str | None:
    """Reads from the `provenance.json` of an artefact the fingerprint of its job; None if it has none.

    Raises:
        OutputError: If the record is damaged.
    """
    if not record.is_file():
        return None
    found = read_json_object(record, OutputError).get("job")
    return found if isinstance(found, str) else None


def job_fingerprint(job: Mapping[str, Any]) -> str:
    """Computes the SHA-256 of a job as JSON."""
    return hashlib.sha256(json.dumps(job, sort_keys=True).encode()).hexdigest()


def kept_in_record(folder: Path) -> dict[str, Any]:
    """Returns what `provenance.json` keeps of unfinished work: the fingerprint of its job, and its interruptions."""
    kept: dict[str, Any] = {}
    if (folder / JOB).is_file():
        kept["job"] = job_fingerprint(read_json_object(folder / JOB, OutputError))
    if moments := _interruptions(folder):
        kept["interruptions"] = moments
    return kept


def forget(folder: Path) -> None:
    """Removes all that only unfinished work needs."""
    for name in (JOB, _INTERRUPTIONS):
        (folder / name).unlink(missing_ok=True)


def _note_interruption(folder: Path) -> None:
    """Writes down that unfinished work was interrupted and goes on now."""
    moments = [*_interruptions(folder), datetime.datetime.now(datetime.UTC).isoformat(timespec="seconds")]
    write_text_whole(folder / _INTERRUPTIONS, json.dumps({"resumed": moments}) + "\n")


def _interruptions(folder: Path) -> list[str]:
    if not (folder / _INTERRUPTIONS).is_file():
        return []
    found = read_json_object(folder / _INTERRUPTIONS, OutputError).get("resumed")
    return found if isinstance(found, list) else []


def _as_json(value: Any) -> Any:
    return json.loads(json.dumps(value))
