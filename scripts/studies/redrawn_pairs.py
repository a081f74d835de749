"""Computes Pearson's r x 100 of an encoder on each STS set with its sentence pairs drawn again.

    python scripts/studies/redrawn_pairs.py --model DIR --data DIR --output FILE.json

The draws are the same for every encoder, so that differences between encoders can be taken draw by draw: intervals
over seeds and pairs need these (`evaluation/verdicts.py`), and an encoder need not be kept for them.
"""

from __future__ import annotations

import argparse
import json
import sys
from collections.abc import Sequence
from pathlib import Path
from zlib import crc32

import numpy as np

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.artefacts.files import write_text_whole
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.evaluation.bootstrap import bootstrap_means
from hf_paraphrase.evaluation.graded_set import score_with_encoder
from hf_paraphrase.evaluation.sts_files import find_sts_sets

REPLICATES = 500


def redrawn(model: Path, data: str | Path) -> dict[str, list[float]]:
    """Computes Pearson's r x 100 of each set on redrawn sentence pairs, by the key of the set (replicates,)."""
    drawn = {}
    for scored in score_with_encoder(SentenceEncoder.from_pretrained(model).encode, find_sts_sets(data).sets):
        gold = [np.asarray(scored.graded.scores, np.float64)]
        seed = crc32(scored.key.encode())
        values = bootstrap_means([scored.similarities[None]], gold, replicates=REPLICATES, seed=seed)
        drawn[scored.key] = [round(float(value), 4) for value in values[:, 0]]
    return drawn


def main(words: Sequence[str] | None = None) -> int:
    """Writes the file."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--model", required=True, type=Path, help="the folder of an encoder")
    parser.add_argument("--data", required=True, help="the folder below which the STS sets are")
    parser.add_argument("--output", required=True, type=Path, help="the JSON file to make")
    options = parser.parse_args(words)
    try:
        write_text_whole(options.output, json.dumps(redrawn(options.model, options.data)) + "\n")
    except HfParaphraseError as error:
        sys.stderr.write(f"redrawn_pairs: error: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
