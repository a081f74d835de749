from __future__ import annotations

import pyarrow as pa
import pytest

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering.language_model import HeldOutReferences


def write(folder, references):
    table = pa.table({"sentence1": references, "sentence2": [f"t{i}" for i in range(len(references))]})
    write_split(folder, "train", table.to_batches(max_chunksize=7), table.schema)
    return table


def test_as_many_distinct_references_are_drawn_as_asked_for_and_all_their_pairs_go(tmp_path):
    table = write(tmp_path, [f"reference {i % 40}" for i in range(200)] + ["", None])
    held_out = HeldOutReferences.draw(DataFolder(tmp_path), "train", 15, seed=3)
    texts = held_out.texts(DataFolder(tmp_path), "train")
    assert len(texts) == len(set(texts)) == 15
    left = held_out.without(table).column("sentence1").to_pylist()
    assert left == [text for text in table.column("sentence1").to_pylist() if text not in texts]
    assert len(left) == 25 * 5 + 2


def test_the_draw_follows_the_seed_and_not_the_order_of_the_pairs(tmp_path):
    references = [f"reference {i}" for i in range(60)]
    write(tmp_path / "one", references)
    write(tmp_path / "two", references[::-1])
    drawn = {}
    for name in ("one", "two"):
        folder = DataFolder(tmp_path / name)
        for seed in (0, 1):
            drawn[name, seed] = set(HeldOutReferences.draw(folder, "train", 20, seed).texts(folder, "train"))
    assert drawn["one", 0] == drawn["two", 0] != drawn["one", 1]


@pytest.mark.parametrize("count", [4, 100])
def test_holding_out_every_reference_is_refused(tmp_path, count):
    write(tmp_path, ["a", "b", "c", "d", "a", ""])
    with pytest.raises(InputError, match=f"4 distinct references, and {count} are to be held out"):
        HeldOutReferences.draw(DataFolder(tmp_path), "train", count, seed=0)
