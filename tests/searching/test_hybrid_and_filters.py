from __future__ import annotations

import json
import time

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from tiny_encoders import write_average
from tiny_transformers import write_cross_encoder

from hf_paraphrase.classification.classifier import CrossEncoder, tokenize
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.searching.bm25 import Bm25, WordIndex
from hf_paraphrase.searching.filters import select_rows
from hf_paraphrase.searching.index import SearchIndex, build_index

WORDS = [f"w{number}" for number in range(12)]
TEXTS = [" ".join(np.random.default_rng(row).choice(WORDS, size=1 + row % 5)) + f" r{row}" for row in range(200)]
YEARS = [None if row % 10 == 3 else 2000 + row % 25 for row in range(200)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_average(tmp_path_factory.mktemp("models") / "tiny", WORDS)


@pytest.fixture(scope="module")
def index(model, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    encoder = SentenceEncoder.from_pretrained(model)
    build_index(encoder, [pa.table({"sentence": TEXTS, "year": YEARS})], folder, method="ivf")
    return SearchIndex(folder, encoder)


def rows_of(index, query, **options):
    return [item.row for item in next(index.search(query, **options))]


# ----- filters


@pytest.mark.parametrize(
    ("text", "passes"),
    [
        (" number < 2.5 ", lambda row: row["number"] is not None and row["number"] < 2.5),
        ("good=True", lambda row: row["good"] is True),
        ("name=b = c", lambda row: row["name"] == "b = c"),
        ("digits==2", lambda row: row["digits"] == "2"),
        ("time>1970-01-02", lambda row: row["time"] is not None and row["time"].day > 2),
        (f"id>{2**53}", lambda row: row["id"] is not None and row["id"] > 2**53),
        ("id>=0.5", lambda row: row["id"] is not None and row["id"] > 0),
        (f"long={2**53 + 1}", lambda row: row["long"] == str(2**53 + 1)),
        ("share<2", lambda row: row["share"] is not None and row["share"] < 2),
        ("kind=3", lambda row: row["kind"] == 3),
    ],
)
def test_a_filter_passes_the_rows_whose_values_compare_so_and_no_missing_ones(text, passes):
    table = pa.table(
        {
            "number": pa.array([1, 2, 3, None, 0], pa.int64()),
            "share": [0.25, 0.75, float("nan"), None, 1.0],
            "good": [True, False, None, True, False],
            "name": ["a", "b = c", None, "", "d"],
            "digits": ["10", "2", "2.0", "x", None],
            "time": pa.array([86_400, 100_000, None, 180_000, 0], pa.timestamp("s")),
            "id": [2**53, 2**53 + 1, None, -(2**63), 2**63 - 1],
            "long": [str(2**53), str(2**53 + 1), None, "", "x"],
            "kind": pa.array([3, 4, None, 3, 4], pa.int64()).dictionary_encode(),
        }
    )
    expected = [number for number, row in enumerate(table.to_pylist()) if passes(row)]
    assert expected and select_rows(table, [text]).tolist() == expected


TABLE = pa.table(
    {
        "code": ["0012", "12", None, "x OR y"],
        "year": pa.array([1999, 2020, 2024, None], pa.int16()),
        "price": ["7.5", "1200", "30", None],
        "local": ["12.000,00", "7,90", None, "x"],
        "day": pa.array([0, 1, 2, None], pa.date32()),
    }
)


@pytest.mark.parametrize(
    ("text", "rows"),
    [
        ("code='0012'", [0]),
        ("code=12", [1]),
        ("code!=12", [0, 3]),
        ('code="x OR y"', [3]),
        ("year>=2020 AND code=12 OR code='0012'", [0, 1]),
        ("year>=1000 AND (code=12 OR code='0012')", [0, 1]),
        ("((year<2000)OR(year>2021))", [0, 2]),
        ("year<99999", [0, 1, 2]),
        ("year>99999", []),
        ("year!=99999", [0, 1, 2]),
        ("year>=2019.5", [1, 2]),
        ("price>=30", [1, 2]),
        ("price>='30'", [0, 2]),
        ("day>=1970-01-02", [1, 2]),
        ("code='it''s'", []),
    ],
)
def test_a_filter_follows_the_types_of_the_columns(text, rows):
    assert select_rows(TABLE, text).tolist() == rows


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("'year'>=2020", "write year without quotes"),
        ("years=1", "the index has no column 'years' .its columns are code, year"),
        (">=3", "not a filter"),
        ("year", "not a filter: 'year'"),
        ("year>=long ago", "compares a column of type int16 with a text .give a number without quotes"),
        ("year='2020'", "give a number without quotes"),
        ("local>=12.000,00", "a number that is not plain"),
        ("local>=12000", "local has the text '12.000,00'"),
        ("code='0012", "without its closing '"),
        ("code!=0012 code!=0013", "a second condition in the value '0012 code!=0013'"),
        ("year=1 AND ", "not a filter"),
        ("(year=1", "not a filter"),
        ("year=1)", "not a filter"),
        ("(" * 60 + "year=1" + ")" * 60, "nested parentheses"),
        (f"year={'1' * 100_000}", "a filter of 100,005 characters"),
    ],
)
def test_a_filter_that_is_wrong_is_refused_with_a_hint(text, message):
    with pytest.raises(UsageError, match=message):
        select_rows(TABLE, text)


@pytest.mark.parametrize("text", [" " * 9_000, "year" + " " * 9_000 + "x", "code=" + " AND" * 2_000, "(" * 9_000])
def test_no_filter_takes_long(text):
    start = time.process_time()
    with pytest.raises(UsageError):
        select_rows(TABLE, text)
    assert time.process_time() - start < 0.5


def test_a_filtered_search_is_the_search_of_all_without_the_other_rows(index):
    whole = rows_of(index, "w1 w5 w7", k=200, method="exact")
    kept = [row for row in whole if YEARS[row] is not None and 2005 <= YEARS[row] < 2010]
    assert rows_of(index, "w1 w5 w7", k=20, filters=["year>=2005", "year<2010"]) == kept[:20]
    assert (
        rows_of(index, "w1 w5 w7", k=20, filters="year>=2005")
        == [row for row in whole if (YEARS[row] or 0) >= 2005][:20]
    )
    assert rows_of(index, "w1", filters=["year>3000"]) == []
    with pytest.raises(UsageError, match="compares all rows that pass"):
        rows_of(index, "w1", filters=["year>2000"], method="approximate")


# ----- words and vectors together


@pytest.mark.parametrize("filters", [[], ["year>=2012"]])
def test_a_hybrid_search_adds_the_reciprocal_ranks_of_both_rankings(index, filters):
    query = "w3 w9 r77 unheard"
    vectors = rows_of(index, query, k=100, method="exact", filters=filters)
    words = [
        row
        for row in Bm25([WordIndex.build([TEXTS])]).best(query, 200).tolist()
        if not filters or (YEARS[row] or 0) >= 2012
    ][:100]
    scores = dict.fromkeys([*vectors, *words], 0.0)
    for ranking in (vectors, words):
        for rank, row in enumerate(ranking):
            scores[row] += 1 / (61 + rank)
    expected = sorted(scores, key=lambda row: (-scores[row], row))[:10]
    found = next(index.search(query, 10, method="exact", hybrid=True, filters=filters))
    assert [item.row for item in found] == expected
    assert [item.score for item in found] == pytest.approx([scores[row] for row in expected])


def test_a_word_that_the_encoder_does_not_know_is_found_by_a_hybrid_search_alone(index):
    assert rows_of(index, "r42") == [] and rows_of(index, "r42", hybrid=True) == [42]
    assert rows_of(index, "r4242", hybrid=True) == []


def test_one_pair_is_no_list_of_letters_and_sides_of_other_lengths_are_refused(tmp_path):
    model = CrossEncoder.from_pretrained(write_cross_encoder(tmp_path / "cross"))
    assert model.scores("a cat", "a car").tolist() == model.scores(["a cat"], ["a car"]).tolist()
    for pair in (("a cat", ["a car", "the car"]), (["a cat", "the cat"], "a car")):
        with pytest.raises(UsageError, match="do not form pairs"):
            model.scores(*pair)
        with pytest.raises(UsageError, match="do not form pairs"):
            tokenize(model.tokenizer, *pair)


def test_a_reranker_ranks_the_candidates_again(tmp_path, capsys):
    texts = ["the cat sat", "a doctor sat", "the car", "in paris a doctor sat", "a car in paris", "the doctor"]
    encoder = write_average(tmp_path / "model", sorted({word for text in texts for word in text.split()}))
    (tmp_path / "corpus").write_text("\n".join(texts))
    assert (
        main(["search", "--model", str(encoder), "--corpus", f"{tmp_path}/corpus", "--output", f"{tmp_path}/i"]) == 0
    )
    reranker, index = str(write_cross_encoder(tmp_path / "cross")), SearchIndex(tmp_path / "i")
    query = "a doctor in paris"
    scores = dict(zip(texts, CrossEncoder.from_pretrained(reranker).scores([query] * 6, texts), strict=True))
    for options in ({}, {"hybrid": True, "snippets": True}):
        plain = [hit.sentence for hit in next(index.search(query, 9, **options))]
        hits = next(index.search(query, 3, reranker=reranker, **options))
        assert [hit.sentence for hit in hits] == sorted(plain, key=lambda text: -scores[text])[:3] != plain[:3]
        assert [hit.score for hit in hits] == [scores[hit.sentence] for hit in hits]
    capsys.readouterr()
    command = [*f"search --index {tmp_path}/i --top-k 3 --format jsonl --query".split(), query, "--reranker"]
    assert main([*command, reranker]) == 0
    neighbours = json.loads(capsys.readouterr().out)["neighbours"]
    assert [(hit["sentence"], hit["score"]) for hit in neighbours] == [(hit.sentence, hit.score) for hit in hits]
    several = write_cross_encoder(tmp_path / "several", ("entailment", "neutral"))
    for wrong, message in ((several, "2 labels, not one score"), (encoder, "not a cross-encoder")):
        assert main([*command, str(wrong)]) == 2
        error = capsys.readouterr().err
        assert message in error and "give a cross-encoder with one label" in error and error.count("\n") == 1


# ----- the columns of the corpus


def write_corpus(folder, kind):
    """The same rows as a data folder or a file, with a column of lists, which is not kept."""
    rows = [{"text": f"w{row} w{row + 1}", "year": 2019 + row, "by": "ab"[row % 2], "ids": [row]} for row in range(4)]
    path = folder / f"corpus.{kind}"
    if kind == "jsonl":
        path.write_text("".join(f"{json.dumps(row)}\n" for row in rows))
    elif kind == "parquet":
        pq.write_table(pa.Table.from_pylist(rows), path)
    elif kind == "folder":
        write_split(path, "train", [pa.Table.from_pylist(rows)], pa.Table.from_pylist(rows).schema)
    else:
        path.write_text("text,year,by\n" + "".join(f"{row['text']},{row['year']},{row['by']}\n" for row in rows))
    return path


@pytest.mark.parametrize("kind", ["folder", "parquet", "jsonl", "csv"])
def test_an_index_keeps_the_columns_of_its_corpus_and_finds_by_them(model, tmp_path, capsys, kind):
    path = write_corpus(tmp_path, kind)
    assert main(["search", "--model", str(model), "--corpus", str(path), "--output", f"{tmp_path}/i"]) == 0
    assert ("left out: ids" in capsys.readouterr().err) == (kind != "csv")
    index = SearchIndex(tmp_path / "i")
    assert set(index.sentences.column_names) - {"ids"} == {"sentence", "position", "year", "by"}
    flags = ["--query", "w1", "--filter", "year>=2020", "by=a", "--format", "jsonl"]
    assert main(["search", "--index", f"{tmp_path}/i", *flags]) == 0
    (found,) = json.loads(capsys.readouterr().out)["neighbours"]
    year = "2021" if kind == "csv" else 2021
    assert main(["search", "--index", f"{tmp_path}/i", "--query", "w1", "--filter", "year>3000"]) == 2
    out, err = capsys.readouterr()
    assert out == "" and "no row passes --filter year>3000" in err
    assert (found["sentence"], found["position"]) == ("w2 w3", 3)
    assert {name: found["columns"][name] for name in ("year", "by")} == {"year": year, "by": "a"}


def test_columns_with_nan_are_null_in_json_lines(model, tmp_path, capsys):
    pq.write_table(pa.table({"text": ["w1 w2"], "share": [float("nan")]}), tmp_path / "corpus.parquet")
    assert main(f"search --model {model} --corpus {tmp_path}/corpus.parquet --output {tmp_path}/i".split()) == 0
    assert main(f"search --index {tmp_path}/i --query w1 --format jsonl".split()) == 0
    assert '"columns": {"share": null}' in capsys.readouterr().out


def test_sentences_that_are_added_have_their_columns_and_null_where_they_have_none(model, tmp_path):
    path = write_corpus(tmp_path, "folder")
    assert main(["search", "--model", str(model), "--corpus", str(path), "--output", f"{tmp_path}/i"]) == 0
    more = pa.table({"sentence": ["w9"], "year": pa.array([2030], pa.int32()), "other": [1]})
    write_split(tmp_path / "more", "train", [more], more.schema)
    assert main(["search", "--index", f"{tmp_path}/i", "--add", f"{tmp_path}/more"]) == 0
    index = SearchIndex(tmp_path / "i")
    assert rows_of(index, "fresh", hybrid=True) == []
    index.add(["w10 fresh"])
    assert rows_of(index, "fresh", hybrid=True) == [5]
    assert index.sentences.select(["sentence", "position", "year", "by"]).to_pylist()[4:] == [
        {"sentence": "w9", "position": 5, "year": 2030, "by": None},
        {"sentence": "w10 fresh", "position": 6, "year": None, "by": None},
    ]
    bad = pa.table({"sentence": ["w8"], "year": ["long ago"]})
    write_split(tmp_path / "bad", "train", [bad], bad.schema)
    assert main(["search", "--index", f"{tmp_path}/i", "--add", f"{tmp_path}/bad"]) == 2
    assert len(SearchIndex(tmp_path / "i")) == 6
