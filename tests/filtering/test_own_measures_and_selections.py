from __future__ import annotations

import pickle
import sys
from pathlib import Path

import pyarrow as pa
import pytest
from documented_blocks import blocks
from fresh_python import MAIN

import hf_paraphrase
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering import Measures, PairFilter, PairScorer
from hf_paraphrase.registry import LOSSES, MEASURES, SELECTIONS, SOURCES, import_file

CONTRIBUTING = Path(__file__).resolve().parents[2] / "CONTRIBUTING.md"
# The file that the page for contributors shows, and a selection by a text.
OWN = dict(blocks(CONTRIBUTING.read_text("utf-8")))["python"]
OWN += """

@SELECTIONS.register("short")
def short(length, sentence2):
    return (length < 4) & np.array([text != "go" for text in sentence2], dtype=bool)
"""
REGISTRIES = (LOSSES, MEASURES, SELECTIONS, SOURCES)


@pytest.fixture
def pairs(tmp_path):
    sentences = ["stop ! !", "wait", "go", None, "one two three four", "no ?"]
    table = pa.table({"sentence1": ["halt"] * 6, "sentence2": pa.array(sentences, pa.string())})
    for split in ("train", "test"):
        write_split(tmp_path / "pairs", split, table.to_batches(max_chunksize=2), table.schema)
    return tmp_path / "pairs"


@pytest.fixture
def own(tmp_path):
    """A file of the user's, and the registries as they were afterwards."""
    path = tmp_path / "mine.py"
    path.write_text(OWN)
    before = [dict(registry.data) for registry in REGISTRIES]
    yield path
    for registry, entries in zip(REGISTRIES, before, strict=True):
        registry.data = entries
    sys.modules.pop("hf_paraphrase_import.mine", None)


def test_a_measure_of_ones_own_is_a_column_with_its_option_for_a_flag_in_any_number_of_processes(
    pairs, own, tmp_path, run_python
):
    words = ["--pairs", pairs, "--mark", "?", "--shard-size", 3, "--workers", 2, "--output", tmp_path / "2"]
    done = run_python(MAIN, "--import", own, "score", *words)
    assert done.returncode == 0, done.stderr
    import_file(own)
    options = {"pairs": str(pairs), "mark": "?", "shard_size": 3}
    hf_paraphrase.score(**options, workers=1, output=str(tmp_path / "1"))
    table = DataFolder(tmp_path / "1").table()
    assert table.column_names[-1] == "marks" and table.column("marks").to_pylist() == [0, 0, 0, 0, 0, 1]
    assert repr(DataFolder(tmp_path / "2").table().to_pydict()) == repr(table.to_pydict())
    assert "`marks`: Counts a mark in the translation." in (tmp_path / "1/README.md").read_text()
    with pytest.raises(UsageError, match="--mark is for the measure marks, which is not computed"):
        hf_paraphrase.score(**options, measures=["length"], output=str(tmp_path / "refused"))


def test_the_functions_of_batches_travel_with_the_files_that_they_need(pairs, own):
    import_file(own)
    scorer = PairScorer(("marks", "length"), Measures(mark="o"))
    keeps = PairFilter(("calm", "short"), drop_identical=True)
    table = DataFolder(pairs).table()
    expected = scorer(table).column("marks").to_pylist(), keeps(table).column("sentence2").to_pylist()
    assert expected == ([1, 0, 1, 0, 3, 1], ["wait", None, "no ?"])
    assert keeps(table).column_names[2:] == ["length", "marks"], "what a selection looks at is computed and stays"
    dumped = pickle.dumps((scorer, keeps))
    for registry, name in ((MEASURES, "marks"), (SELECTIONS, "calm"), (SELECTIONS, "short")):
        del registry.data[name]
    sys.modules.pop("hf_paraphrase_import.mine")
    again, kept = pickle.loads(dumped)
    assert (again(table).column("marks").to_pylist(), kept(table).column("sentence2").to_pylist()) == expected


def test_a_column_that_a_named_selection_lacks_is_reported(pairs, own, tmp_path):
    SELECTIONS.register("unheard")(lambda loudness: loudness > 1)
    with pytest.raises(UsageError, match="--keep `unheard`: there is no column loudness"):
        hf_paraphrase.filter(pairs=str(pairs), output=str(tmp_path / "kept"), keep=["unheard"])
