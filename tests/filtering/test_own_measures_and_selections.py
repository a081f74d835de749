from __future__ import annotations

import pickle
import sys

import pyarrow as pa
import pytest
from fresh_python import MAIN

import hf_paraphrase
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import UsageError
from hf_paraphrase.filtering import Measures, PairFilter, PairScorer
from hf_paraphrase.registry import MEASURES, SELECTIONS, import_file

OWN = '''
import numpy as np
from dataclasses import dataclass

from hf_paraphrase.filtering import Measure, PairBatch
from hf_paraphrase.registry import MEASURES, SELECTIONS
from hf_paraphrase.settings import setting


@MEASURES.register("marks")
@dataclass(frozen=True)
class Marks(Measure):
    """Counts a mark in the translation."""

    columns = ("marks",)
    mark: str = setting("the mark to count", "!")

    def compute(self, batch):
        return {"marks": np.array([text.count(self.mark) for text in batch.texts("sentence2")])}


@SELECTIONS.register("calm")
def calm(marks, length, sentence2):
    return (marks < 1) & (length < 4) & np.array([text != "go" for text in sentence2], dtype=bool)
'''


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
    before = [dict(registry.data) for registry in (MEASURES, SELECTIONS)]
    yield path
    for registry, entries in zip((MEASURES, SELECTIONS), before, strict=True):
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
    scorer, keeps = PairScorer(("marks", "length"), Measures(mark="o")), PairFilter(("calm",), drop_identical=True)
    table = DataFolder(pairs).table()
    expected = scorer(table).column("marks").to_pylist(), keeps(table).column("sentence2").to_pylist()
    assert expected == ([1, 0, 1, 0, 3, 1], ["wait", None, "no ?"])
    assert keeps(table).column_names[2:] == ["length", "marks"], "what a selection looks at is computed and stays"
    dumped = pickle.dumps((scorer, keeps))
    for registry in (MEASURES, SELECTIONS):
        registry.data.pop("marks", None), registry.data.pop("calm", None)
    sys.modules.pop("hf_paraphrase_import.mine")
    again, kept = pickle.loads(dumped)
    assert (again(table).column("marks").to_pylist(), kept(table).column("sentence2").to_pylist()) == expected


def test_a_column_that_a_named_selection_lacks_is_reported(pairs, own, tmp_path):
    SELECTIONS.register("unheard")(lambda loudness: loudness > 1)
    with pytest.raises(UsageError, match="--keep `unheard`: there is no column loudness"):
        hf_paraphrase.filter_pairs(pairs=str(pairs), output=str(tmp_path / "kept"), keep=["unheard"])
