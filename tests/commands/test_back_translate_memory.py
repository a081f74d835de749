from __future__ import annotations

import random

PROGRAM = """
import resource, sys
from hf_paraphrase.commands import main
from hf_paraphrase.data.schema import BACK_TRANSLATED
from hf_paraphrase.translation.table_translator import TableTranslator
TableTranslator.translate_table = lambda self, table, progress: (BACK_TRANSLATED.empty_table(), [])
assert main(sys.argv[1:]) == 0
print(resource.getrusage(resource.RUSAGE_SELF).ru_maxrss)
"""


def test_memory_does_not_grow_with_the_bitext(tiny_model, write_bitext, tmp_path, run_python):
    def greatest_memory(bitext, output):
        """Runs a job without its search and returns the greatest memory of its process, in MiB."""
        words = ["--model", tiny_model, "--bitext", bitext, "--output", output, "--shard-size", 500]
        result = run_python(PROGRAM, "back-translate", *words)
        assert result.returncode == 0, result.stderr
        return int(result.stdout) / 1024

    # Each row repeats a piece 14 times, so that the file is small and the text is not.
    generator = random.Random(0)
    text = generator.randbytes(1 << 20).hex().replace("0", " ")
    rows = [(text[start : start + 300] * 14, "one") for start in generator.choices(range(len(text) - 300), k=20_000)]
    few = write_bitext(tmp_path / "few", train=rows[:1_000])
    many = write_bitext(tmp_path / "many", train=rows)
    # 80 MB of text more.
    grown = greatest_memory(many, tmp_path / "b") - greatest_memory(few, tmp_path / "a")
    assert grown < 30
