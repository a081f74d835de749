from __future__ import annotations

from pathlib import Path

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import PAIRS

README = Path(__file__).resolve().parents[2] / "README.md"


@pytest.fixture
def journeys(load_script):
    return load_script("benchmarks/journeys")


def test_the_commands_are_those_of_the_readme_each_on_one_line(journeys):
    text = README.read_text(encoding="utf-8")
    first, second = ([words[1] for words in journeys.commands(text, heading)] for heading in journeys.HEADINGS)
    data = ["prepare", "train-nmt", "evaluate-nmt", "back-translate", "filter"]
    assert first == [*data, "train-encoder", "evaluate"]
    assert second == ["prepare", "train-encoder", "train-encoder", "evaluate", "search"]
    assert text.count("hf-paraphrase back-translate --model") == 1
    with pytest.raises(ValueError, match="no commands"):
        journeys.commands("\n## One\ntext\n", "One")


def test_the_files_that_the_commands_read_are_put_where_they_look_for_them(journeys, tmp_path):
    for name in ("fra.txt", "sts"):
        (tmp_path / name).mkdir()
    work = tmp_path / "work"
    for _ in range(2):  # again: what is there stays
        journeys.prepare(work, fra=tmp_path / "fra.txt", sts=tmp_path / "sts")
    assert (work / "fra.txt").resolve() == tmp_path / "fra.txt"
    for split in ("validation", "test"):
        columns = DataFolder(work / "quickstart" / "paraphrases" / split).schema(split).names
        assert {"sentence1", "sentence2", "label", "score"} <= set(columns)
    rows = {"sentence1": ["One.", "One."], "sentence2": ["Two.", "Three."]}
    write_split(work / "pairs", "train", [pa.table(rows, schema=PAIRS)], PAIRS)
    journeys.write_pairs(work)
    assert (work / "pairs.tsv").read_text() == "One.\tTwo.\nOne.\tThree.\n"
    assert (work / "sentences.txt").read_text() == "One.\n"
