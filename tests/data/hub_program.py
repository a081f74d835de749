"""Programs that use the Hub: `python hub_program.py commands JSON`, or `layouts NAME …`; they print JSON.

They run in processes of their own, because the client of the Hub reads the name of its server when it is imported.
"""

from __future__ import annotations

import contextlib
import io
import json
import sys


def run_commands(lines):
    """Run command lines and return for each its exit code and what it wrote to standard error."""
    from hf_paraphrase.commands import main

    results = []
    for line in lines:
        with contextlib.redirect_stderr(io.StringIO()) as errors, contextlib.redirect_stdout(io.StringIO()):
            code = main(line)
        results.append([code, errors.getvalue()])
    return results


def compare_layouts(names):
    """Return in what data sets differ from what `load_dataset` reads, whole and streamed; the counts of others."""
    from datasets import ClassLabel, disable_progress_bars, load_dataset
    from test_layouts import as_text

    from hf_paraphrase.data.folder import DataFolder
    from hf_paraphrase.data.rows import open_rows

    disable_progress_bars()
    results = {}
    for name in names:
        repository, _, subset = name.partition(":")
        source = f"{repository}/{subset}" if subset else repository
        opened = DataFolder(source)
        ours = {split: open_rows(source, split, roles=()).read().to_pylist() for split in opened.splits}
        classes = {split: opened.rows(split).class_names for split in opened.splits}
        results[name] = {split: len(rows) for split, rows in ours.items()}
        for streaming in (False, True):
            theirs = load_dataset(repository, subset or None, streaming=streaming)
            if repository.endswith("csv"):
                theirs = as_text(theirs, repository, subset or None, streaming=streaming)
            if ours != {str(split): list(rows) for split, rows in theirs.items()}:
                results[name] = "other rows"
            features = {str(split): rows.features or {} for split, rows in theirs.items()}
            named = {
                split: {column: kind.names for column, kind in kinds.items() if isinstance(kind, ClassLabel)}
                for split, kinds in features.items()
            }
            if classes != named:
                results[name] = f"classes {classes}, not {named}"
    return results


if __name__ == "__main__":
    task, *words = sys.argv[1:]
    results = run_commands(json.loads(words[0])) if task == "commands" else compare_layouts(words)
    sys.stdout.write(json.dumps(results))
