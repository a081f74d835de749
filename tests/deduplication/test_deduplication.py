from __future__ import annotations

import csv
import gzip
import json
import tracemalloc

import datasets
import numpy as np
import pandas as pd
import polars as pl
import pyarrow as pa
import pyarrow.csv
import pyarrow.parquet as pq
import pytest

from hf_paraphrase import SentenceEncoder, deduplicate
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.deduplication import duplicates
from hf_paraphrase.deduplication.duplicates import find_duplicates
from hf_paraphrase.errors import InputError, ModelError, UsageError
from hf_paraphrase.searching.index import build_index
from hf_paraphrase.text.normalization import is_blank, normalize_text
from hf_paraphrase.vectors import ivf_index

QUESTIONS = ["How do I reset my password?", "how do I reset my  password?", "How can I reset my password?", "So what?"]


class Encoder:
    """Gives a text the vector in a table."""

    def __init__(self, vectors):
        self.table = vectors

    def prepare(self, texts):
        return texts

    def embed(self, texts, **options):
        return np.array([self.table[normalize_text(text)] for text in texts], np.float32).reshape(len(texts), -1)


def random_texts(seed, number=200, dimension=12):
    """Makes texts in clusters, with repeats, blanks and zero vectors among them, and an encoder for them."""
    random = np.random.default_rng(seed)
    centres = random.normal(size=(12, dimension))
    vectors = centres[random.integers(12, size=number)] + random.normal(size=(number, dimension)) * 0.35
    vectors /= np.linalg.norm(vectors, axis=1, keepdims=True)
    vectors[random.random(number) < 0.05] = 0
    texts = [f"text {row}" for row in range(number)]
    table = dict(zip(texts, vectors.astype(np.float32), strict=True))
    for row in random.integers(number, size=30):
        texts[row] = random.choice(["", " ", None, texts[random.integers(number)] or "", "TEXT 5"])
    return pa.chunked_array([texts[:70], texts[70:]], pa.string()), Encoder(table)


def cosines_of(texts, encoder):
    is_text = [text is not None and not is_blank(text) for text in texts]
    rows = [encoder.table[normalize_text(text)] if known else None for text, known in zip(texts, is_text, strict=True)]
    vectors = np.array([np.zeros(len(encoder.table["text 0"])) if row is None else row for row in rows], np.float64)
    return is_text, np.where((vectors.any(1))[:, None] & vectors.any(1), vectors @ vectors.T, -2.0)


def naive(texts, encoder, threshold, num_earlier=0):
    """Each text goes with the same text before, else with the first near one that stays."""
    is_text, cosines = cosines_of(texts, encoder)
    keys = [normalize_text(text or "") for text in texts]
    representatives, similarities, compared = np.full(len(texts), -1), np.zeros(len(texts)), []
    for row in range(len(texts)):
        first = keys.index(keys[row])
        if not is_text[row]:
            continue
        if first < row:
            gone = representatives[first] >= 0
            representatives[row] = representatives[first] if gone else first
            similarities[row] = similarities[first] if gone else 1.0
            continue
        near = [other for other in compared if cosines[row, other] >= threshold] if row >= num_earlier else []
        if near:
            representatives[row], similarities[row] = near[0], cosines[row, near[0]]
        else:
            compared.append(row)
    representatives[:num_earlier], similarities[:num_earlier] = -1, 0
    return representatives, similarities


def naive_components(texts, encoder, threshold):
    is_text, cosines = cosines_of(texts, encoder)
    keys = [normalize_text(text or "") for text in texts]
    first = list(range(len(texts)))
    changed = True
    while changed:
        changed = False
        for row in range(len(texts)):
            linked = [
                other
                for other in range(len(texts))
                if is_text[row] and is_text[other] and (keys[row] == keys[other] or cosines[row, other] >= threshold)
            ]
            smallest = min([first[other] for other in linked] + [first[row]])
            changed |= first[row] != smallest
            first[row] = smallest
    return np.array([-1 if first[row] == row else first[row] for row in range(len(texts))])


@pytest.fixture(params=["all with all", "shortened", "in lists"])
def way(request, monkeypatch):
    """Compares all vectors, or shortened ones, or in lists that are all looked in."""
    if request.param != "all with all":
        monkeypatch.setattr(ivf_index, "COMPONENTS", 4)
    if request.param == "in lists":
        monkeypatch.setattr(ivf_index, "MOST_EXACT", 0)
        monkeypatch.setattr(ivf_index, "PROBES", 1000)


@pytest.mark.parametrize("seed", range(2))
@pytest.mark.parametrize("threshold", [0.8, 0.95])
def test_rows_that_go_are_those_of_the_definition_whatever_the_blocks(seed, threshold, way, monkeypatch):
    texts, encoder = random_texts(seed)
    expected, similarities = naive(texts.to_pylist(), encoder, threshold)
    for block, at_a_time in ((3, 1), (50, 7), (1000, 20)):
        monkeypatch.setattr(duplicates, "_BLOCK_TEXTS", block)
        monkeypatch.setattr(duplicates, "_ROWS_AT_A_TIME", at_a_time)
        found = find_duplicates(texts, encoder, keep_contrasts=False, threshold=threshold)
        assert found.representatives.tolist() == expected.tolist()
        assert found.similarities == pytest.approx(similarities, abs=1e-6)
    assert (expected >= 0).sum() == found.counts["exact"] + found.counts["near"] > 20


@pytest.mark.parametrize("seed", range(2))
def test_components_are_those_of_the_definition(seed, way, monkeypatch):
    texts, encoder = random_texts(seed, 100)
    expected = naive_components(texts.to_pylist(), encoder, 0.85)
    for block in (7, 1000):
        monkeypatch.setattr(duplicates, "_BLOCK_TEXTS", block)
        found = find_duplicates(texts, encoder, keep_contrasts=False, threshold=0.85, components=True)
        assert found.representatives.tolist() == expected.tolist()


def test_earlier_texts_all_stay_and_new_ones_near_them_go(way, monkeypatch):
    monkeypatch.setattr(duplicates, "_BLOCK_TEXTS", 9)
    texts, encoder = random_texts(7)
    earlier, new = texts.slice(0, 120), texts.slice(120)
    done = []
    options = {"keep_contrasts": False, "threshold": 0.85, "progress": done.append}
    found = find_duplicates(new, encoder, earlier=earlier, **options)
    assert sum(done) == len(texts)
    expected, _ = naive(texts.to_pylist(), encoder, 0.85, num_earlier=120)
    assert found.representatives.tolist() == expected.tolist()
    assert found.kept.tolist() == (expected[120:] < 0).tolist() and not found.kept.all()


@pytest.mark.parametrize("lists", [7, 12, 40, 503])
def test_the_twelve_nearest_lists_are_looked_in_and_not_many_more(lists, monkeypatch):
    monkeypatch.setattr(ivf_index, "MOST_EXACT", 0)
    monkeypatch.setattr(ivf_index, "_MOST_LISTS", lists)
    vectors = np.random.default_rng(1).standard_normal((2000, 8)).astype(np.float32)
    near = ivf_index.IvfIndex(vectors, 0.9, 100_000)
    placed = near.place(vectors)
    cosines = vectors @ near._centroids.T
    assert (placed.own == cosines.argmax(axis=1)).all()
    pairs = {(place // lists, place % lists) for place in placed.lists.tolist()}
    nearest = np.argsort(-cosines, axis=1)[:, :12]
    assert pairs >= {(row, number) for row, some in enumerate(nearest.tolist()) for number in some}
    assert len(pairs) <= 2000 * (14 if lists == 503 else min(lists, 12))


def test_what_lists_miss_is_counted(monkeypatch):
    texts, encoder = random_texts(1, 400)
    exact = find_duplicates(texts, encoder, keep_contrasts=False, threshold=0.85)
    assert "missed" not in exact.counts
    monkeypatch.setattr(ivf_index, "MOST_EXACT", 0)
    monkeypatch.setattr(ivf_index, "PROBES", 1)
    monkeypatch.setattr(duplicates, "_BLOCK_TEXTS", 20)
    found = find_duplicates(texts, encoder, keep_contrasts=False, threshold=0.85)
    _, cosines = cosines_of(texts.to_pylist(), encoder)
    stay = np.flatnonzero(found.kept)
    missed = sum((cosines[row, stay[stay < row]] >= 0.85).any() for row in stay)
    assert found.counts["missed"] == missed > 0 and found.counts["checked"] > 100


@pytest.mark.parametrize("components", [False, True])
@pytest.mark.parametrize(
    ("first", "second", "differ"),
    [
        ("I like my job", "I don't like my job", True),
        ("You can go", "you can't go!", False),
        ("You can go.", "You can't go.", True),
        ("page 5", "page 6", True),
        ("the two men", "The three men", True),
        ("Ich mag das", "Ich mag das nicht", True),
        ("Lubię to", "Nie lubię to", True),
        ("Jag gillar det", "Jag gillar inte det", True),
        ("Jeg kan lide det", "Jeg kan ikke lide det", True),
        ("Hän lähde", "Hän ei lähde", True),
        ("Bu iyi", "Bu iyi değil", True),
        ("أنا أتكلم", "أنا لا أتكلم", True),
        ("我喜欢这个", "我不喜欢这个", True),
        ("I like my job", "I like my own job", False),
    ],
)
def test_pairs_that_differ_in_negation_or_numbers_alone_stay_unless_asked(first, second, differ, components):
    texts = pa.chunked_array([[first, "else"], [second]])
    table = {normalize_text(first): [1, 0], "else": [0, 1], normalize_text(second): [0.999, 0.04]}
    found = find_duplicates(texts, Encoder(table), components=components)
    assert found.kept.tolist() == [True, True, differ]
    assert [pair[:2] for pair in found.contrasts] == ([(2, 0)] if differ else [])
    assert found.counts["contrasts"] == differ and not found.counts.get("missed")
    asked = find_duplicates(texts, Encoder(table), components=components, keep_contrasts=False)
    assert asked.kept.tolist() == [True, True, False]


@pytest.mark.parametrize("options", [{}, {"components": True}, {"keep_contrasts": False}])
def test_memory_is_linear_in_the_rows_of_templated_texts(options):
    texts = [f"{' '.join(['word'] * 20)} {number}" for number in range(6000)]
    vectors = 1e-3 * np.random.default_rng(0).normal(size=(6000, 256)) + np.eye(256)[0]
    table = dict(zip(texts, vectors / np.linalg.norm(vectors, axis=1, keepdims=True), strict=True))
    tracemalloc.start()
    found = find_duplicates(pa.chunked_array([texts]), Encoder(table), **options)
    peak = tracemalloc.get_traced_memory()[1]
    tracemalloc.stop()
    # 18 million pairs are near; their rows and cosines alone would take 430 MB.
    assert peak < 200e6 and found.kept.sum() == (1 if options.get("keep_contrasts") is False else 6000)


def test_vectors_with_nan_are_an_error():
    _, encoder = random_texts(0)
    encoder.table["text 60"] = np.full(12, np.nan, np.float32)
    with pytest.raises(ModelError, match="NaN or infinity"):
        find_duplicates(pa.chunked_array([["text 60", "text 61"]]), encoder)


def test_rows_stay_with_all_columns_and_those_that_go_name_what_stands_for_them():
    features = datasets.Features({"text": datasets.Value("string"), "label": datasets.ClassLabel(names=["a", "b"])})
    rows = datasets.Dataset.from_dict({"text": QUESTIONS, "label": [0, 1, 1, 0]}, features=features)
    kept, removed = deduplicate(rows, threshold=0.9, return_removed=True)
    assert kept.features == features and kept[:] == {"text": [QUESTIONS[0], QUESTIONS[3]], "label": [0, 0]}
    assert removed["text"][:] == QUESTIONS[1:3] and removed["label"][:] == [1, 1]
    assert removed["representative"][:] == [QUESTIONS[0]] * 2 and removed["representative_row"][:] == [0, 0]
    assert removed["similarity"][0] == 1.0 > removed["similarity"][1] >= 0.9
    encoder = SentenceEncoder.from_pretrained()
    assert deduplicate(rows.select([3, 2, 1]), threshold=0.9, encoder=encoder)["text"][:] == [
        QUESTIONS[3],
        QUESTIONS[2],
    ]
    _, removed = deduplicate(QUESTIONS, against=rows, return_removed=True)
    assert removed["representative_in"][:] == ["against"] * 4 and removed["representative_row"][:] == [0, 0, 2, 3]


@pytest.mark.parametrize(
    ("texts", "settings", "expected"),
    [
        ([], {}, []),
        (["", None, " "], {}, ["", None, " "]),
        (QUESTIONS, {"threshold": 1}, [*QUESTIONS[:1], *QUESTIONS[2:]]),
        (QUESTIONS[:3], {"threshold": 0}, QUESTIONS[:1]),
        (["qqqzzz", "日本"], {"threshold": 0}, ["qqqzzz", "日本"]),
    ],
)
def test_edges_have_their_natural_results(texts, settings, expected):
    rows = datasets.Dataset.from_dict({"text": texts})
    kept, removed = deduplicate(rows, return_removed=True, **settings)
    assert kept["text"][:] == expected and len(kept) + len(removed) == len(texts)


@pytest.mark.parametrize(
    ("rows", "settings", "error", "message"),
    [
        (None, {}, UsageError, "give either rows or input"),
        ([1, 2], {}, UsageError, r"texts\[0\] is 1"),
        (["a"], {"by": "label"}, InputError, "missing column label"),
        (datasets.Dataset.from_dict({"n": [1]}), {"by": "n"}, InputError, "of type int64, not text"),
        (datasets.Dataset.from_dict({"text": ["a"], "similarity": [1]}), {}, InputError, "the column similarity"),
    ],
)
def test_rows_that_cannot_be_compared_are_one_line(rows, settings, error, message):
    with pytest.raises(error, match=message):
        deduplicate(rows, **settings)


@pytest.mark.parametrize("make", [list, pa.Table.from_pylist, pd.DataFrame, pl.DataFrame, datasets.Dataset.from_list])
def test_rows_in_memory_are_returned_or_written_to_a_folder(make, tmp_path):
    rows = make([{"text": text, "n": n} for n, text in enumerate(["a b", "A b", "c d", "e f"])])
    against = make([{"text": "c d"}])
    assert deduplicate(rows, against=against)["n"][:] == [0, 3]
    made = deduplicate(rows, against=against, output=tmp_path / "made")
    assert made.table()["n"].to_pylist() == [0, 3] and made.table("removed")["n"].to_pylist() == [1, 2]


@pytest.fixture
def files(tmp_path):
    table = pa.table({"text": QUESTIONS, "label": [0, 1, 2, 3], "tags": [["a"], [], ["b"], None]})
    plain = table.drop_columns(["tags"])
    (tmp_path / "rows.txt").write_text("\n".join(QUESTIONS) + "\n")
    (tmp_path / "rows.txt.gz").write_bytes(gzip.compress((tmp_path / "rows.txt").read_bytes()))
    (tmp_path / "rows.jsonl").write_text("".join(f"{json.dumps(row)}\n" for row in table.to_pylist()))
    pa.csv.write_csv(plain, tmp_path / "rows.csv")
    pq.write_table(table, tmp_path / "rows.parquet")
    (tmp_path / "folder").mkdir()
    pa.csv.write_csv(plain, tmp_path / "folder" / "train.csv")
    return tmp_path


@pytest.mark.parametrize("name", ["rows.txt", "rows.txt.gz", "rows.jsonl", "rows.csv", "rows.parquet", "folder"])
def test_every_layout_gives_the_same_rows_with_their_types(files, name):
    folder = deduplicate(input=[str(files / name)], output=str(files / "out"))
    kept, removed = folder.table("train"), folder.table("removed")
    assert kept.column("text").to_pylist() == [QUESTIONS[0], QUESTIONS[3]]
    assert removed.column("representative_row").to_pylist() == [0, 0]
    if "txt" not in name:
        is_csv = name in {"rows.csv", "folder"}
        assert kept.column("label").to_pylist() == (["0", "3"] if is_csv else [0, 3])
    if name in {"rows.jsonl", "rows.parquet"}:
        assert kept.column("tags").to_pylist() == [["a"], None]
    rows = datasets.load_dataset(str(files / "out"), split="train", cache_dir=str(files / "cache"))
    assert rows.column_names == kept.column_names
    gone = datasets.load_dataset(str(files / "out"), "removed", split="removed", cache_dir=str(files / "cache"))
    assert gone["text"][:] == QUESTIONS[1:3]
    card = (files / "out" / "README.md").read_text()
    assert "| removed: exact duplicates | 1 |" in card and "| 1.00         |    1 |" in card


@pytest.mark.parametrize(
    ("name", "delimiter"), [("rows.csv", ","), ("rows.csv", ";"), ("rows.tsv", "\t"), ("folder/train.csv", ";")]
)
def test_values_of_csv_stay_text_whatever_the_delimiter(name, delimiter, tmp_path):
    rows = [["None", "001"], ["NA", "1e5"], ["null", None], ["nan", "true"], ["1.0", 'a "b"']]
    file = tmp_path / name
    file.parent.mkdir(exist_ok=True)
    with file.open("w", newline="") as stream:
        csv.writer(stream, delimiter=delimiter).writerows([["text", "code"], *rows])
    input = file.parent if name.startswith("folder") else file
    folder = deduplicate(input=[str(input)], threshold=1, output=str(tmp_path / "out"))
    kept = folder.table("train")
    assert [list(row.values()) for row in kept.to_pylist()] == rows


def test_several_files_are_one_input_and_clusters_and_columns_are_chosen(files, capsys):
    words = ["--input", f"{files}/rows.csv", f"{files}/rows.csv", "--by", "text", "--clusters", "components"]
    assert main(["deduplicate", *words, "--against", f"{files}/rows.txt", "--output", f"{files}/out"]) == 0
    folder = DataFolder(files / "out")
    assert folder.count("train") == 0 and folder.count("removed") == 8
    assert set(folder.table("removed").column("representative_in").to_pylist()) == {"against"}
    log = capsys.readouterr().err
    assert "of 8 rows" in log and "no row is kept" in log and "load_dataset" not in log


def test_rows_may_be_texts_or_a_file_and_those_before_an_index(files):
    for rows in (files / "rows.csv", str(files / "folder"), QUESTIONS):
        assert deduplicate(rows)["text"][:] == [QUESTIONS[0], QUESTIONS[3]]
    (files / "index").mkdir()
    build_index(SentenceEncoder.from_pretrained(), [QUESTIONS[1:2]], files / "index")
    assert deduplicate(QUESTIONS, against=files / "index")["text"][:] == QUESTIONS[3:]
    folder = deduplicate(files / "rows.txt", against=files / "index", output=files / "o")
    assert folder.table("train").column("text").to_pylist() == QUESTIONS[3:]


def test_a_warning_shows_rows_that_differ_in_negation_alone(caplog):
    rows = ["He has paid the rent.", "He has not paid the rent."]
    assert deduplicate(rows)["text"][:] == rows
    error = caplog.text
    assert "1 rows are near an earlier row but differ" in error and f"{rows[1]}  |  {rows[0]}" in error
    assert deduplicate(rows, remove_contrasts=True)["text"][:] == rows[:1]


@pytest.mark.parametrize("name", ["sentence", "anything"])
def test_columns_are_parted_by_commas_and_other_rows_may_have_other_ones(name):
    rows = datasets.Dataset.from_dict({"q": ["how", "where"], "a": ["is it", "is it"], "n": [1, 2]})
    earlier = datasets.Dataset.from_dict({name: ["How is it"], "n": [1]})
    kept = deduplicate(rows, by="q,a", against=earlier, threshold=1)
    assert kept["q"][:] == ["where"]


def test_sides_of_pairs_are_found_by_their_usual_names():
    rows = datasets.Dataset.from_dict({"anchor": ["how", "How"], "positive": ["is it", "Is it"], "kind": ["a", "b"]})
    assert deduplicate(rows, threshold=1)["kind"][:] == ["a"]


@pytest.mark.parametrize(
    ("words", "message"),
    [
        (["nothing.txt"], "no such file"),
        (["header.csv"], "there are no rows"),
        (["bad.jsonl"], "bad.jsonl:1: not a JSON object"),
        (["latin.jsonl"], "latin.jsonl:1: not UTF-8"),
        (["latin.csv"], "latin.csv:2: not UTF-8"),
        (["bad.parquet"], "bad.parquet: not a readable Parquet file"),
        (["twice.csv"], "column text occurs twice"),
        (["rows.csv", "other.csv"], "the columns are text, topic"),
        (["rows.txt", "rows.csv"], "the files are of several kinds"),
        (["folder", "--split", "dev"], "no split `dev` (the splits are "),
    ],
)
def test_bad_files_are_one_line_and_leave_nothing_behind(files, words, message, capsys):
    (files / "header.csv").write_text("text,label\n")
    (files / "twice.csv").write_text("text,text\na,b\n")
    (files / "other.csv").write_text("text,topic\na,b\n")
    (files / "latin.csv").write_bytes(b"text,label\ncaf\xe9,1\n")
    (files / "latin.jsonl").write_bytes(b'{"text": "caf\xe9"}\n')
    (files / "bad.jsonl").write_text('{"text": \n')
    (files / "bad.parquet").write_bytes((files / "rows.parquet").read_bytes()[:-9])
    before = sorted(files.iterdir())
    paths = [word if word.startswith("-") or word == "dev" else f"{files}/{word}" for word in words]
    assert main(["deduplicate", "--input", *paths, "--output", f"{files}/out"]) == 2
    (error,) = capsys.readouterr().err.splitlines()
    assert error.startswith("hf-paraphrase: error: ") and message in error
    assert sorted(files.iterdir()) == before
