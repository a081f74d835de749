"""What a process of its own takes to open a folder of word vectors and encode: its start, and its memory.

A library is imported, the folder opened and the first sentences encoded, by the processor time of the whole process;
then all sentences are encoded twice, and the greatest memory that the process ever held is its peak. Run by
`encode.py`, which starts this file once for each library and round.
"""

from __future__ import annotations

import importlib
import json
import statistics
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from interleaved import write

FIRST = 1_000
"""The sentences that are encoded at first."""
OURS = "hf_paraphrase"


class Process(NamedTuple):
    """What a process took.

    Attributes:
        start: Processor seconds from its beginning until the first sentences were encoded.
        peak: The most memory that it held, MiB.
    """

    start: float
    peak: float


def compare_processes(
    libraries: Sequence[tuple[str, str]], folder: Path, sentences: Sequence[str], rounds: int
) -> dict[str, float]:
    """Starts each library in processes of its own, in turns, and writes a table.

    Returns:
        How many times our start and our peak go into those of every other library.
    """
    text = folder / "sentences.json"
    text.write_text(json.dumps(list(sentences)), encoding="utf-8")
    found: dict[str, list[Process]] = {library: [] for _, library in libraries}
    for _ in range(rounds):
        for _, library in libraries:
            words = [sys.executable, __file__, library, str(folder), str(text)]
            done = subprocess.run(words, capture_output=True, check=True, text=True)  # noqa: S603
            found[library].append(Process(**json.loads(done.stdout.splitlines()[-1])))
    middle = {
        library: Process(*map(statistics.median, zip(*processes, strict=True))) for library, processes in found.items()
    }
    write(f"{'a process of its own':46}{f'first {FIRST:,}, CPU s':>24}{'peak MiB':>12}")
    for library, process in middle.items():
        write(f"{library:46}{process.start:24.3f}{process.peak:12.0f}")
    ours = middle[OURS]
    ratios = {}
    for key, library in libraries[1:]:
        ratios[f"{key}_start"] = middle[library].start / ours.start
        ratios[f"{key}_peak"] = middle[library].peak / ours.peak
    return ratios


def opened(library: str, folder: str) -> Callable[[list[str]], Any]:
    """Opens a folder with a library, and returns what encodes."""
    module = importlib.import_module(library.replace("-", "_"))
    if library == OURS:
        encode = module.SentenceEncoder.from_pretrained(folder).encode
    elif library == "model2vec":
        encode = module.StaticModel.from_pretrained(folder).encode
    else:
        encode = module.SentenceTransformer(folder, device="cpu").encode
    return encode


def main() -> int:
    """Measures one process: this one."""
    library, folder, text = sys.argv[1:]
    sentences = json.loads(Path(text).read_text(encoding="utf-8"))
    before = time.process_time()
    # What the sentences took to be read is not part of it.
    read = before - _AT_FIRST
    encode = opened(library, folder)
    encode(sentences[:FIRST])
    start = time.process_time() - read
    for _ in range(2):
        encode(sentences)
    sys.stdout.write(json.dumps(Process(start, _peak())._asdict()) + "\n")
    return 0


def _peak() -> float:
    # What `getrusage` says is at least what the process held that started this one.
    status = Path("/proc/self/status").read_text(encoding="ascii", errors="replace")
    return int(status.partition("VmHWM:")[2].split()[0]) / 1024


_AT_FIRST = time.process_time()

if __name__ == "__main__":
    sys.exit(main())
