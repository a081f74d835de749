"""Times the commands of the README's two journeys, as they are printed there, on real data.

python scripts/benchmarks/journeys.py WORK --fra fra.txt --sts STS
"""

from __future__ import annotations

import argparse
import os
import re
import resource
import shlex
import subprocess
import sys
import time
from pathlib import Path

ROOT = Path(__file__).resolve().parents[2]
HEADINGS = ("I have bitext and want paraphrase data", "I want a sentence encoder of my own")


def main() -> int:
    """Runs both journeys, prints each command's minutes, and returns the exit code of the first that fails."""
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("work", type=Path, help="folder in which the commands run; made if it is not there")
    parser.add_argument("--fra", type=Path, required=True, help="English and French, TSV (manythings.org/anki)")
    parser.add_argument("--sts", type=Path, required=True, help="folder of the STS sets")
    options = parser.parse_args()
    prepare(options.work, fra=options.fra.resolve(), sts=options.sts.resolve())
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join([str(ROOT), os.environ.get("PYTHONPATH", "")])}
    print(f"{os.cpu_count()} processors, load {os.getloadavg()[0]:.1f}; minutes by the clock and of processor time")
    for heading in HEADINGS:
        print(f"\n{heading}")
        for words in commands((ROOT / "README.md").read_text(encoding="utf-8"), heading):
            if words[1:3] == ["prepare", "pairs"]:
                write_pairs(options.work)
            before, started = resource.getrusage(resource.RUSAGE_CHILDREN), time.monotonic()
            command = [sys.executable, "-m", "hf_paraphrase", *words[1:]]
            code = subprocess.run(command, cwd=options.work, env=environment, check=False).returncode  # noqa: S603 - the commands of our README
            after = resource.getrusage(resource.RUSAGE_CHILDREN)
            used = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
            print(f"{(time.monotonic() - started) / 60:6.2f} {used / 60:6.2f}  {shlex.join(words)}", flush=True)
            if code:
                return code
    return 0


def commands(text: str, heading: str) -> list[list[str]]:
    """Returns the commands of the first shell block under a heading, each as its words."""
    section = text.split(f"\n## {heading}\n", 1)[1]
    found = re.search(r"^```bash\n(.*?)^```", section, re.DOTALL | re.MULTILINE)
    if found is None:
        raise ValueError(f"README.md has no commands under {heading!r}")
    return [shlex.split(line, comments=True) for line in found[1].replace("\\\n", " ").splitlines() if line.strip()]


def prepare(work: Path, *, fra: Path, sts: Path) -> None:
    """Puts into a folder what the commands find there: the files, and the judged pairs that the quickstart leaves."""
    from hf_paraphrase.data.sample import sample_paraphrases
    from hf_paraphrase.data.sources import prepare_pairs

    work.mkdir(parents=True, exist_ok=True)
    for name, place in (("fra.txt", fra), ("sts", sts)):
        if not (work / name).exists():
            (work / name).symlink_to(place)
    for split, judged in sample_paraphrases().items():
        output, table = work / "quickstart" / "paraphrases" / split, work / f"{split}.tsv"
        if not output.exists():
            rows = (f"{pair.sentence1}\t{pair.sentence2}\t{pair.label}\t{pair.label}\n" for pair in judged)
            table.write_text("".join(rows), encoding="utf-8")
            columns = "sentence1,sentence2,label,score"
            prepare_pairs(tsv=str(table), columns=columns, split=split, license="cc-by-2.0", output=str(output))


def write_pairs(work: Path) -> None:
    """Writes the pairs of the first journey as the file of which the second begins, and sentences to search in."""
    from hf_paraphrase.data.folder import DataFolder

    table = DataFolder(work / "pairs").table("train", ["sentence1", "sentence2"])
    first, second = (table.column(name).to_pylist() for name in table.column_names)
    (work / "pairs.tsv").write_text("".join(f"{a}\t{b}\n" for a, b in zip(first, second, strict=True)), "utf-8")
    (work / "sentences.txt").write_text("".join(f"{text}\n" for text in dict.fromkeys(first)), encoding="utf-8")


if __name__ == "__main__":
    sys.exit(main())
