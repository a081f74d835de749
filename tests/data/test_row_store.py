from __future__ import annotations

import pyarrow as pa
import pytest

from hf_paraphrase.data.row_store import TemporaryRows

SCHEMA = pa.schema([("text", pa.string())])


def test_the_stores_and_their_folder_are_gone_at_the_end_whether_or_not_it_ended_well(tmp_path):
    with pytest.raises(KeyError), TemporaryRows("some-", tmp_path) as rows:
        first, second = (rows._new_store(name, SCHEMA) for name in ("first.arrow", "second.arrow"))
        first.append(pa.table({"text": ["a"]}, schema=SCHEMA))
        assert len(first) == 1 and len(second) == 0
        (folder,) = tmp_path.iterdir()
        assert folder.name.startswith("some-")
        assert {path.name for path in folder.iterdir()} == {"first.arrow", "second.arrow"}
        raise KeyError
    assert list(tmp_path.iterdir()) == []
    rows.close()


def test_a_class_of_corpora_gives_its_own_kind_to_the_block(tmp_path):
    class Corpus(TemporaryRows):
        pass

    with Corpus("some-", tmp_path) as corpus:
        assert type(corpus) is Corpus
