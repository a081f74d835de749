"""The last steps of a job that writes paraphrase pairs: adds up the reports of its shards and writes the card."""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Any

from ..artefacts.artefact import Card
from ..artefacts.files import atomic_write_text
from ..data.batch_function import Report
from ..data.folder import DataFolder
from ..messages import log
from .sharded_output import ShardedOutput


def merge_reports(folder: Path, found: Iterable[Report], counts: Iterable[str]) -> dict[str, Any]:
    """Add up the reports of shards, one at a time, and write `skipped.jsonl`; return results to record."""
    results: dict[str, Any] = dict.fromkeys([*counts, "skipped_sentences"], 0)

    def lines() -> Iterator[str]:
        for report in found:
            results.update({name: results[name] + report[name] for name in counts})
            results["skipped_sentences"] += len(report["skipped"])
            yield from (json.dumps(entry, ensure_ascii=False) + "\n" for entry in report["skipped"])

    atomic_write_text(folder / "skipped.jsonl", lines())
    return results


def finish_pairs(output: ShardedOutput, results: dict[str, Any], card: str, values: dict[str, Any]) -> None:
    """Turn finished shards into a data folder with the card of that name, of `values` and what the data say."""
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
        log(f"{skipped:,} of {results['sentences']:,} sentences have no pair; skipped.jsonl says why")
    log(f"{results['pairs']:,} pairs saved to {output.output}")
    log(f"Use them with: load_dataset({str(output.output)!r}, split='train')")
