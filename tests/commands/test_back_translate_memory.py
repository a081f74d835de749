from __future__ import annotations

import os
import subprocess
import sys

PROGRAM = """
import resource, sys
from hf_paraphrase.commands import main
from hf_paraphrase.data.schema import BACK_TRANSLATED
from hf_paraphrase.translation.back_translator import BackTranslator
BackTranslator.translate_table = lambda self, table, progress=None: (BACK_TRANSLATED.empty_table(), [])
assert main(sys.argv[1:]) == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def greatest_memory(model, bitext, output):
    """Runs a job without its search and returns the greatest memory of its process, in MiB."""
    words = ["back-translate", "--model", model, "--bitext", bitext, "--output", output, "--shard-size", "500"]
    environment = {**os.environ, "PYTHONPATH": os.pathsep.join(sys.path), "OMP_NUM_THREADS": "1"}
    program = [sys.executable, "-c", PROGRAM, *map(str, words)]
    result = subprocess.run(program, capture_output=True, text=True, check=True, env=environment)
    return int(result.stdout) / 1024


def test_memory_does_not_grow_with_the_bitext(tiny_model, write_bitext, tmp_path):
    text = "un deux trois " * 300
    few = write_bitext(tmp_path / "few", train=[(f"{text}{index}", "one") for index in range(1_000)])
    many = write_bitext(tmp_path / "many", train=[(f"{text}{index}", "one") for index in range(20_000)])
    # 80 MB of text more.
    grown = greatest_memory(tiny_model, many, tmp_path / "b") - greatest_memory(tiny_model, few, tmp_path / "a")
    assert grown < 30
