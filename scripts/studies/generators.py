"""Print a table of folders that `paraphrase` made: kept candidates, means of measures, and the first paraphrase."""

from __future__ import annotations

import json
import sys
from itertools import combinations
from pathlib import Path

import numpy as np

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.paraphrasing.paraphraser import compute_distance, count_ngrams

print("| generator | kept | similarity | edit distance | diversity | example |\n|---|--:|--:|--:|--:|---|")
for folder in sys.argv[1:]:
    results = json.loads((Path(folder) / "provenance.json").read_text("utf-8"))["results"]
    table = DataFolder(folder).table().to_pandas()
    means = table[["similarity", "edit_distance"]].mean()
    texts = table.groupby("id")["sentence2"].apply(lambda group: list(map(count_ngrams, group)))
    diversity = np.mean([compute_distance(*pair) for ngrams in texts for pair in combinations(ngrams, 2)])
    cells = [f"{value:.2f}" for value in (results["pairs"] / max(1, results["candidates"]), *means, diversity)]
    example = " → ".join(table[["sentence1", "sentence2"]].iloc[0]) if len(table) else "–"
    print(f"| {folder} | {' | '.join(cells)} | {example} |")
