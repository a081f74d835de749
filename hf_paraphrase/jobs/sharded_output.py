"""The output of a job in shards, made by one run or shared by several, and its last steps if it has pairs.

`--shard 3/64` makes the third, 67th, 131st … of all shards. The run after which all shards exist finishes the output.
"""

from __future__ import annotations

import json
import shutil
import sys
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack
from pathlib import Path
from typing import Any

from tqdm import tqdm

from ..artefacts.artefact import Artefact, Card, check_early
from ..artefacts.files import atomic_write_text
from ..data.batch_function import Report
from ..data.folder import DataFolder
from ..errors import HfParaphraseError, UsageError
from ..messages import log
from .ray import connected, run_on_ray
from .shard_settings import ShardSettings
from .shards import REPORTS, Shard, ShardJob, run_shards


class ShardedOutput(Artefact):
    """A data folder that is made shard by shard; each run continues the work of other runs."""

    def __init__(self, output: str, settings: ShardSettings, **others: Any) -> None:
        self.options, self.part = settings, settings.part
        resume, shared = settings.resume or self.part is not None, self.part is not None
        if not resume:
            check_early(output, overwrite=settings.overwrite)  # before models are opened
        super().__init__(output, settings=settings, resume=resume, shared=shared, **others)
        self._stack = ExitStack()

    def __exit__(self, *error: Any) -> None:
        self._stack.close()
        # A run without finished shards need not be resumed or overwritten.
        is_refused = isinstance(error[1], HfParaphraseError) and self.part is None and self._work is not None
        if is_refused and not any((self.work / REPORTS).glob("*.json*")):
            self.discard()
        super().__exit__(*error)

    def discard(self) -> None:
        """Remove an incomplete run without usable shards."""
        shutil.rmtree(self.work, ignore_errors=True)

    def begin(self) -> Path:
        """Return the folder that becomes the output, which all parts share."""
        self.checkpoint(REPORTS)
        return self.staging

    def own(self, shards: Sequence[Shard]) -> list[Shard]:
        """Return the shards of this run; there must be at least as many shards as parts."""
        if self.part is None:
            return list(shards)
        index, count = self.part
        if count > len(shards):
            problem = f"--shard {index}/{count}: the job has only {len(shards)} shards"
            raise UsageError(problem, remedy="use fewer parts, or give all of them a smaller --shard-size")
        return list(shards[index - 1 :: count])

    def run(self, job: ShardJob, shards: Sequence[Shard], *, what: str, unit: str, workers: int = 1) -> None:
        """Make the missing shards; finished shards survive an error."""
        staging = self.begin()
        left = [shard for shard in shards if not shard.is_finished(staging)]
        total = sum(shard.rows for shard in shards)
        done = total - sum(shard.rows for shard in left)
        with tqdm(desc=what, total=total, initial=done, unit=unit, file=sys.stderr) as bar:
            if self.options.computes_here:
                made = run_shards(job, left, staging, workers=workers, progress=bar.update)
            else:
                self._stack.enter_context(connected(self.options.ray_address))
                made = run_on_ray(job, left, staging, settings=self.options, progress=bar.update)
            for _ in made:
                pass

    def is_whole(self, shards: Sequence[Shard]) -> bool:
        """Return whether all shards exist and this run finishes the output."""
        if self.part is None:
            return True
        if not self._stack.enter_context(self.finishing()):
            log(f"another part has finished the output: {self.target}")
            return False
        if left := sum(not shard.is_finished(self.staging) for shard in shards):
            log(f"--shard {self.options.shard} is done; {left:,} of {len(shards):,} shards are left to other parts")
        return not left


def merge_reports(folder: Path, reports: Iterable[Report], counts: Iterable[str]) -> dict[str, Any]:
    """Add up the reports of shards, one at a time, and write `skipped.jsonl`; return the results to record."""
    results: dict[str, Any] = dict.fromkeys([*counts, "skipped_sentences"], 0)

    def lines() -> Iterator[str]:
        for report in reports:
            results.update({name: results[name] + report[name] for name in counts})
            results["skipped_sentences"] += len(report["skipped"])
            yield from (json.dumps(entry, ensure_ascii=False) + "\n" for entry in report["skipped"])

    atomic_write_text(folder / "skipped.jsonl", lines())
    return results


def finish_pairs(output: ShardedOutput, results: dict[str, Any], card: str, values: dict[str, Any]) -> None:
    """Turn finished shards into a data folder with the named card, filled from `values` and from the data."""
    data = DataFolder(output.current)
    first = next(iter(data.batches("train", batch_size=250)), None)
    examples = [row for row in ([] if first is None else first.to_pylist()) if row["rank"] == 0][:5]
    types = {field.name: {"double": "float64"}.get(str(field.type), str(field.type)) for field in data.schema()}
    described = {
        "splits": data.sizes(),
        "columns": [{"name": name, "dtype": dtype} for name, dtype in types.items()],
        "examples": examples,
        "source_lang": examples[0].get("source_lang", "und") if examples else "und",
    }
    output.finish(results=results, card=Card(card, {**described, **values, "results": results}))
    if skipped := results["skipped_sentences"]:
        log(f"{skipped:,} of {results['sentences']:,} sentences have no pair; skipped.jsonl has the reasons")
    log(f"{results['pairs']:,} pairs saved to {output.output}")
    if results["pairs"]:
        log(f"Use them with: load_dataset({str(output.output)!r}, split='train')")
