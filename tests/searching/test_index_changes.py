from __future__ import annotations

import errno
import json
import signal
import subprocess
import sys
import time

import numpy as np
import pyarrow as pa
import pytest
from tiny_encoders import write_average

from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError, OutputError, UsageError
from hf_paraphrase.searching import bm25
from hf_paraphrase.searching.index import SearchIndex, build_index

WORDS = [f"w{number}" for number in range(40)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_average(tmp_path_factory.mktemp("model"), [*WORDS, "café", "istanbul"])


@pytest.fixture
def make(model, tmp_path):
    """Builds an index of texts or tables, and opens it."""

    def built(corpus, name="index", **options):
        folder = tmp_path / name
        folder.mkdir()
        encoder = SentenceEncoder.from_pretrained(model)
        build_index(encoder, [corpus], folder, **options)
        write_provenance(folder, command="search", settings={})
        return SearchIndex(folder, encoder)

    return built


def texts(index):
    return index.sentences["sentence"].to_pylist()


def test_two_open_indexes_of_one_folder_lose_nothing(make):
    first = make(["w1", "w2"])
    second = SearchIndex(first.folder, first.encoder)
    assert first.add("w3") == second.add("w4") == 1
    assert texts(second) == ["w1", "w2", "w3", "w4"] and texts(first) == ["w1", "w2", "w3"]
    assert first.refresh() and not first.refresh() and texts(first) == texts(second)
    assert first.remove("w1") == second.remove("w2") == 1 and first.remove("w1") == 0
    assert texts(SearchIndex(first.folder, first.encoder)) == ["w3", "w4"]
    # Removing needs no encoder, also where segments are merged.
    assert SearchIndex(first.folder).remove("w4") == 1 and texts(SearchIndex(first.folder)) == ["w3"]


PROGRAM = """
import sys
from hf_paraphrase import SearchIndex
index = SearchIndex(sys.argv[1], sys.argv[2])
for number in range(int(sys.argv[4])):
    index.add([f"w{number % 40} {sys.argv[3]}{number} w3"])
    print(number, flush=True)
"""


def test_several_processes_that_add_lose_nothing_and_a_reader_sees_whole_states(make, model):
    index = make(["w1 w2"])
    words = [sys.executable, "-c", PROGRAM, str(index.folder), str(model)]
    writers = [subprocess.Popen([*words, name, "12"], stdout=subprocess.DEVNULL) for name in "ab"]
    while any(writer.poll() is None for writer in writers):
        index.refresh()
        assert len(index) == len(texts(index)) and len(next(index.search("w1 w2", 100))) == len(index)
    index.refresh()
    assert [writer.returncode for writer in writers] == [0, 0]
    expected = {f"w{number} {name}{number} w3" for name in "ab" for number in range(12)}
    assert {*texts(index)} == {"w1 w2"} | expected and index.settings.read == 25
    # Equal segments are merged, so that their number grows with the logarithm of the rows.
    assert len(index.settings.segments) <= 5


@pytest.mark.parametrize("seed", range(3))
def test_a_killed_writer_leaves_the_index_before_or_after_a_change(make, model, seed):
    index = make(["w1 w2"])
    words = [sys.executable, "-c", PROGRAM, str(index.folder), str(model), "k", "1000"]
    writer = subprocess.Popen(words, stdout=subprocess.PIPE, text=True)
    for _ in range(2 + seed):
        writer.stdout.readline()
    time.sleep(0.01 * seed)
    writer.send_signal(signal.SIGKILL)
    written = 2 + seed + len(writer.stdout.read().split())
    writer.wait()
    index.refresh()
    assert len(index) - 1 in (written, written + 1)
    assert index.add(["w5 w5"]) == 1 and next(index.search("w5", 1))[0].sentence == "w5 w5"
    names = {path.name for path in (index.folder / "segments").iterdir()}
    assert names == {entry.name for entry in index.settings.segments}


def test_a_full_disk_leaves_the_index_as_it_was(make, monkeypatch):
    index = make(["w1", "w2"])

    def fail(self, folder):
        raise OSError(errno.ENOSPC, "No space left on device")

    monkeypatch.setattr(bm25.WordIndex, "save", fail)
    with pytest.raises(OutputError, match="cannot change the index: No space left"):
        index.add("w3")
    monkeypatch.undo()
    assert len(list((index.folder / "segments").iterdir())) == 1
    assert texts(SearchIndex(index.folder, index.encoder)) == ["w1", "w2"] and index.add("w3") == 1


def test_a_manifest_that_is_cut_off_is_one_clear_error(make):
    index = make(["w1"])
    path = index.folder / "index.json"
    path.write_bytes(path.read_bytes()[:40])
    with pytest.raises(InputError, match=r"index\.json"):
        SearchIndex(index.folder)


def test_rows_are_told_apart_by_their_columns_and_replaced_by_their_id(make):
    rows = {
        "sentence": ["w1", "w1", "w1", "w2", "w3"],
        "id": ["a", "b", "b", None, None],
        "year": [1, 2, 2, None, None],
    }
    index = make(pa.table(rows))
    assert texts(index) == ["w1", "w1", "w2", "w3"] and index.settings.repeated == 1
    assert texts(make(pa.table(rows), "unique", unique=True)) == ["w1", "w2", "w3"]
    # Row a is replaced, row b is left out as a repeated row, and rows without an id stay.
    change = pa.table({"sentence": ["w7", "w1", "w8"], "id": ["a", "b", "c"], "year": [5, 2, 6]})
    assert index.add(change) == 2 and index.num_replaced == 1
    assert [(row["sentence"], row["id"]) for row in index.sentences.to_pylist()] == [
        ("w1", "b"),
        ("w2", None),
        ("w3", None),
        ("w7", "a"),
        ("w8", "c"),
    ]
    # One row replaces two.
    change = pa.table({"sentence": ["w7", "w8", "w9"], "id": ["b", "b", "b"], "year": [1, 2, 3]})
    assert len(index) == 5 and index.add(change) == 3 and index.num_replaced == 1 and len(index) == 7
    assert index.add(pa.table({"sentence": ["w1"], "id": ["b"], "year": [2]})) == 1
    assert index.num_replaced == 3 and len(index) == 5
    assert index.add(["w2"]) == 0 and index.add(["w2"], ids=["d"]) == 1 and index.add(["W2"], unique=True) == 0
    assert index.remove(ids=["a", "z"], filters=["year=5"]) == 1 and index.remove(filters="year>=2") == 2
    assert texts(index) == ["w2", "w3", "w2"] and index.settings.rows == 3
    card = (index.folder / "README.md").read_text()
    assert "\n3 sentences of" in card
    for changed in (lambda: index.remove(filters=""), lambda: list(index.search("w1", filters=""))):
        with pytest.raises(UsageError, match="not a filter: ''"):
            changed()
    with pytest.raises(UsageError, match="2 values of id for 1 sentences"):
        index.add(["w1"], ids=["a", "b"])
    with pytest.raises(UsageError, match="both given"):
        index.add(["w1"], ids=["a"], columns={"id": ["b"]})


@pytest.mark.parametrize("method", ["exact", "ivf", "hnsw", "int8", "binary"])
def test_a_changed_index_finds_what_a_new_one_of_its_rows_finds(make, method):
    generator = np.random.default_rng(3)
    corpus = [" ".join(generator.choice(WORDS, 4)) + f" r{row}" for row in range(600)]
    index = make(corpus[:400], method=method)
    index.add(corpus[400:])
    index.remove(corpus[100:300])
    left = make([*corpus[:100], *corpus[300:]], "fresh")
    for query in ("w1 w2 w3", "w7 w9"):
        expected = [item.sentence for item in next(left.search(query, 10, method="exact"))]
        assert [item.sentence for item in next(index.search(query, 10, method="exact"))] == expected
        found = [item.sentence for item in next(index.search(query, 10, nprobe=1000 if method == "ivf" else None))]
        assert found[0] == expected[0] and len({*found} & {*expected}) >= {"exact": 10, "binary": 5}.get(method, 8)
        assert not {*found} & {*corpus[100:300]}
    assert index.settings.method == method and (method == "exact") == (index.settings.recall is None)
    pairs = index.mine(0.9)
    assert len(pairs) == len(left.mine(0.9)) and not {*index.snapshot.take(pairs.first)["sentence"].to_pylist()} & {
        *corpus[100:300]
    }


@pytest.mark.parametrize("method", ["exact", "ivf"])
def test_an_open_index_is_searched_and_mined_after_others_have_merged_its_segments(make, method):
    reader = make(["w1 w2", "w1 w2 w3", "w4"], method=method)
    writer = SearchIndex(reader.folder, reader.encoder)
    writer.add(["w5", "w6", "w7", "w8"])
    assert not reader.snapshot.segments[0].folder.exists()
    assert [item.sentence for item in next(reader.search("w4", 1))] == ["w4"]
    assert [item.sentence for item in next(reader.search("w4", 1, hybrid=True))] == ["w4"]
    assert (
        len(reader.mine(0.5)) == 1
        and len(reader.snapshot.find("row", reader.snapshot.segments[0].keys("row"))[0]) == 3
    )


def test_tables_of_any_text_type_are_added(make):
    index = make(["w1"])
    for number, kind in enumerate([pa.string_view(), pa.large_string(), pa.dictionary(pa.int32(), pa.string())], 2):
        table = pa.table(
            {"sentence": pa.array([f"w{number}", None]).cast(kind), "tag": pa.array(["a", "b"]).cast(kind)}
        )
        assert index.add(table) == 1
    assert texts(index) == ["w1", "w2", "w3", "w4"] and len(index.snapshot.select("tag=a")) == 3


def test_a_column_without_values_takes_the_type_of_the_first_value_that_is_added(make):
    index = make(pa.table({"sentence": ["w1", "w2"], "year": [None, None]}))
    assert index.add(["w3"], columns={"year": [2020]}) == 1
    assert index.sentences["year"].to_pylist() == [None, None, 2020] and len(index.snapshot.select("year>2019")) == 1
    with pytest.raises(InputError, match="types of the columns are not those of the index: year"):
        index.add(["w4"], columns={"year": ["long ago"]})


def test_batches_that_shrink_are_merged_too(make):
    sizes = range(12, 0, -1)
    index = make(["w1"])
    for size in sizes:
        index.add([f"w{size} r{number}" for number in range(size)])
    assert len(index) == 79 and len(index.settings.segments) <= 6


@pytest.mark.parametrize("spelled", ["cafe\u0301", "CAFÉ", "ca\u00adfé", "\uff23\uff41\uff46é", "café"])
def test_words_are_found_in_every_unicode_form(make, spelled):
    index = make(["a café here", "the cafe\u0301", "İstanbul", "other"])
    assert {item.row for item in next(index.search(f"{spelled} unheard", 2, hybrid=True))} == {0, 1}
    assert bm25.Bm25([bm25.WordIndex.build([texts(index)])]).best("istanbul", 3).tolist() == [2]


def test_an_index_of_an_earlier_version_is_refused_with_the_command_that_builds_it_again(make):
    index = make(["w1", "w2"])
    (index.folder / "index.json").write_text(json.dumps({"rows": 2, "dimension": 5, "format": 1}))
    for use in (SearchIndex, lambda folder: index.refresh()):
        with pytest.raises(InputError, match=r"version 0.2 or earlier.*build it again: search --corpus"):
            use(index.folder)
