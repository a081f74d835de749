"""Random sentences over a dozen words, and folders of them."""

from __future__ import annotations

import numpy as np
import pyarrow as pa

from hf_paraphrase.data.folder import write_split


def random_sentences(count, shortest=0, longest=8):
    """Sentences of the words w0 to w11, the same in every run."""
    generator = np.random.default_rng(0)
    words = [f"w{number}" for number in range(12)]
    return [" ".join(generator.choice(words, size=generator.integers(shortest, longest + 1))) for _ in range(count)]


def write_pairs(folder, rows, test=slice(0, 0), **settings):
    """Writes numbered pairs in row groups of odd sizes, and some of them as a split `test`; returns the folder."""
    texts = random_sentences(2 * rows)
    sides = {"sentence1": texts[:rows], "sentence2": [*texts[rows:-1], None]}
    table = pa.table({**sides, "note": list(range(rows))})
    write_split(folder, "train", table.to_batches(max_chunksize=17), table.schema, **settings)
    write_split(folder, "test", [table.slice(test.start, test.stop - test.start)], table.schema)
    return folder
