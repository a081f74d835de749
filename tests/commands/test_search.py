from __future__ import annotations

import gzip
import json

import pyarrow as pa
import pytest
from datasets import load_dataset
from tiny_encoders import write_average

from hf_paraphrase.artefacts.provenance import read_provenance
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.encoders.search.index import SearchIndex
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder

LINES = ["w1 w2", "w2 w1", "w3\u2028w4", "", "W1  w2", "w5 | w6", "w1 w2", "w7", "unheard of"]
KEPT = ["w1 w2", "w2 w1", "w3\u2028w4", "W1  w2", "w5 | w6", "w7", "unheard of"]


def save_model(folder, seed):
    return write_average(folder, [*(f"w{number}" for number in range(9)), "|"], seed=seed)


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "first", 0)


@pytest.fixture(scope="module")
def other_model(tmp_path_factory):
    return save_model(tmp_path_factory.mktemp("models") / "second", 1)


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "text.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    return path


def run(*words):
    return main(["search", *map(str, words)])


@pytest.fixture(scope="module")
def index(model, corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes") / "index"
    assert run("--model", model, "--corpus", corpus, "--output", folder) == 0
    return folder


def rows_of(text):
    return [line.split("\t") for line in text.splitlines()]


# ----- building


def test_an_index_folder_is_complete_and_also_a_data_folder(index, model, tmp_path):
    names = {path.name for path in index.iterdir()}
    assert names == {"README.md", "provenance.json", "index.json", "vectors.npy", "keys.npy", "data", "encoder"}
    data = load_dataset(str(index), split="train", cache_dir=str(tmp_path))
    assert data["sentence"][:] == KEPT and data["position"][:] == [1, 2, 3, 5, 6, 8, 9]
    for path in model.iterdir():
        assert (index / "encoder" / path.name).read_bytes() == path.read_bytes()
    record = read_provenance(index)
    assert record["results"]["rows"] == 7 and record["results"]["zero_rows"] == 1
    assert [item["name"] for item in record["inputs"]] == ["first", "text.gz"]
    card = (index / "README.md").read_text()
    assert "Of 9 texts read, 1 had no character but space and 1 had been there" in card


def test_the_columns_of_a_data_folder_are_read_row_by_row(model, tmp_path):
    table = pa.table(
        {"sentence1": ["w1", "w3"], "sentence2": ["w2", None], "score": [0.5, 0.5], "other": ["w7", "w8"]}
    )
    write_split(tmp_path / "pairs", "dev", [table], table.schema)
    flags = ["--model", model, "--corpus", tmp_path / "pairs", "--split", "dev"]
    assert run(*flags, "--output", tmp_path / "i") == 0
    assert DataFolder(tmp_path / "i").table()["sentence"].to_pylist() == ["w1", "w2", "w3"]
    assert run(*flags, "--output", tmp_path / "j", "--columns", "other") == 0
    assert DataFolder(tmp_path / "j").table()["sentence"].to_pylist() == ["w7", "w8"]
    assert run(*flags, "--output", tmp_path / "k", "--columns", "other,sentence1") == 0
    assert DataFolder(tmp_path / "k").table()["sentence"].to_pylist() == ["w7", "w1", "w8", "w3"]


def test_an_approximate_index_says_how_much_it_finds(model, tmp_path, capfd):
    lines = [f"w{number % 9} w{number % 7} w{number % 5}" for number in range(300)]
    (tmp_path / "text").write_text("\n".join(lines))
    flags = ["--model", model, "--corpus", tmp_path / "text", "--method", "approximate", "--lists", "6"]
    assert run(*flags, "--probes", "2", "--output", tmp_path / "i") == 0
    captured = capfd.readouterr()
    error = captured.err
    assert captured.out == ""
    recall = json.loads((tmp_path / "i" / "index.json").read_text())["recall"]
    assert f"6 lists, of which a query reads 2: they find {100 * recall:.1f} %" in error
    assert f"{100 * recall:.1f} % of the true" in (tmp_path / "i" / "README.md").read_text()
    for flags in (["--probes", "6"], ["--method", "exact"]):
        assert run("--index", tmp_path / "i", "--query", "w1 w2", *flags) == 0
    nothing, first, second = capfd.readouterr().out.split("query\t")
    assert first == second and nothing == ""


# ----- queries


def test_neighbours_are_printed_as_tab_separated_values(index, capsys):
    assert run("--index", index, "--query", "w1 w2", "w3 w4", "--top-k", "3") == 0
    rows = rows_of(capsys.readouterr().out)
    assert rows[0] == ["query", "rank", "score", "position", "sentence"] and len(rows) == 7
    assert [row[:3] for row in rows[1:4]] == [["w1 w2", str(rank), "1.000000"] for rank in (1, 2, 3)]
    assert {row[4] for row in rows[1:4]} == {"w1 w2", "w2 w1", "W1 w2"}
    # The line separator inside the sentence breaks no line of the output.
    assert rows[4] == ["w3 w4", "1", "1.000000", "3", "w3 w4"]


def test_a_file_of_queries_gives_one_object_a_line_in_its_order(index, tmp_path, capsys):
    queries = ["w1 w2", "never", "w6 | w5", ""]
    (tmp_path / "queries").write_text("\n".join([*queries, ""]))
    assert run("--index", index, "--query-file", tmp_path / "queries", "--format", "jsonl", "--top-k", "2") == 0
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.split("\n")[:-1]]
    assert [item["query"] for item in found] == queries
    assert [len(item["neighbours"]) for item in found] == [2, 0, 2, 0]
    assert found[2]["neighbours"][0]["sentence"] == "w5 | w6"
    assert "1 of 4 queries have no neighbours: they are blank" in captured.err
    assert "1 of 4 queries have no neighbours: none of their words is in the encoder's vocabulary" in captured.err


def test_a_corpus_is_searched_without_an_index_of_its_own_to_the_same_answer(model, corpus, index, capsys, tmp_path):
    assert run("--index", index, "--query", "w1 w5", "--identical", "drop") == 0
    expected = capsys.readouterr().out
    assert run("--model", model, "--corpus", corpus, "--query", "w1 w5", "--identical", "drop") == 0
    assert capsys.readouterr().out == expected
    assert run("--index", index, "--model", model, "--query", "w1 w5", "--identical", "drop") == 0
    assert capsys.readouterr().out == expected


def test_two_encoders_stand_side_by_side_in_a_markdown_table(model, other_model, corpus, index, tmp_path, capsys):
    flags = ["--query", "w6 | w5", "--top-k", "2"]
    assert run("--model", model, "--compare", other_model, "--corpus", corpus, *flags) == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:4] == ["**w6 \\| w5**", "", "| first | cosine | second | cosine |", "| --- | ---: | --- | ---: |"]
    assert len(lines) == 7 and "w5 \\| w6" in lines[4]
    assert run("--model", other_model, "--corpus", corpus, "--output", tmp_path / "second") == 0
    assert run("--index", index, "--compare", tmp_path / "second", *flags) == 0
    assert capsys.readouterr().out.splitlines()[4:] == lines[4:]


# ----- mining


def test_mined_pairs_are_a_data_folder_with_each_pair_once(index, model, tmp_path, capsys):
    assert run("--index", index, "--mine", "--threshold", "0.3", "--output", tmp_path / "pairs") == 0
    vectors = SentenceEncoder.from_pretrained(model).encode(KEPT[:-1], normalize=True).astype(float)
    cosines = vectors @ vectors.T
    expected = {
        (KEPT[i], KEPT[j]): cosines[i, j]
        for i in range(6)
        for j in range(i + 1, 6)
        if cosines[i, j] >= 0.3 and KEPT[i].lower().split() != KEPT[j].lower().split()
    }
    data = load_dataset(str(tmp_path / "pairs"), split="train", cache_dir=str(tmp_path / "cache"))
    found = {(row["sentence1"], row["sentence2"]): row["score"] for row in data}
    assert len(found) == len(data) and found == pytest.approx(expected)
    assert data["score"][:] == sorted(data["score"][:], reverse=True)
    assert read_provenance(tmp_path / "pairs")["results"] == {"pairs": len(data), "found": len(data), "sentences": 7}
    assert "All sentences were compared" in (tmp_path / "pairs" / "README.md").read_text()
    flags = ["--index", index, "--mine", "--threshold", "0.3", "--identical", "keep", "--max-pairs", "1"]
    assert run(*flags, "--output", tmp_path / "best") == 0
    assert len(DataFolder(tmp_path / "best").table()) == 1 and "the best 1 are kept" in capsys.readouterr().err


def test_the_licence_of_a_corpus_reaches_the_index_and_the_pairs(model, tmp_path):
    table = pa.table({"sentence": ["w1 w2", "w2 w1"]})
    write_split(tmp_path / "data", "train", [table], table.schema)
    (tmp_path / "data" / "README.md").write_text("---\nlicense: cc-by-2.0\nlanguage: no\n---\n")
    assert run("--model", model, "--corpus", tmp_path / "data", "--output", tmp_path / "i") == 0
    assert run("--index", tmp_path / "i", "--mine", "--output", tmp_path / "pairs") == 0
    for name in ("i", "pairs"):
        assert "license:\n- cc-by-2.0" in (tmp_path / name / "README.md").read_text()


# ----- bad input


@pytest.mark.parametrize(
    ("flags", "message"),
    [
        ([], "give either --corpus or --index"),
        (["--index", "i", "--corpus", "c"], "give either"),
        (["--model", "m", "--corpus", "c"], "name the folder to make"),
        (["--index", "i", "--output", "o"], "nothing to do with the index"),
        (["--index", "i", "--mine"], "name the folder to make"),
        (["--index", "i", "--query", "w1", "--output", "o"], "neighbours are printed"),
        (["--index", "i", "--query", " "], "a --query is empty"),
        (["--index", "i", "--mine", "--output", "o", "--compare", "j"], "--compare needs --query"),
        (["--index", "i", "--query", "w1", "--compare", "j", "--format", "tsv"], "printed as markdown"),
        (["--index", "i", "--query", "w1", "--compare", "j", "--model", "m"], "leave --model out"),
        (["--index", "i", "--mine", "--output", "o"], "no such index folder"),
        (["--model", "m", "--corpus", "c", "--output", "o"], "c: no such file"),
    ],
)
def test_flags_that_do_not_fit_are_one_line_and_leave_nothing(tmp_path, monkeypatch, capsys, flags, message):
    monkeypatch.chdir(tmp_path)
    assert run(*flags) == 2
    captured = capsys.readouterr()
    assert captured.out == "" and captured.err.count("\n") == 1 and message in captured.err
    assert list(tmp_path.iterdir()) == []


def test_from_python_it_gives_the_neighbours_as_they_are_found(model, index, corpus, tmp_path):
    import hf_paraphrase

    ((query, (neighbours,)),) = hf_paraphrase.search(index=index, query=["w1 w2"], top_k=3).neighbours
    assert query == "w1 w2" and neighbours == next(iter(SearchIndex(index).neighbours(["w1 w2"], 3)))
    made = hf_paraphrase.search(model=model, corpus=corpus, output=tmp_path / "index")
    assert made.folder == tmp_path / "index" and made.rows == len(SearchIndex(index)) and not list(made.neighbours)
    mined = hf_paraphrase.search(index=index, mine=True, threshold=0.5, output=tmp_path / "mined")
    assert DataFolder(mined.folder).count() == mined.rows
    with pytest.raises(hf_paraphrase.UsageError, match="give either --corpus or --index"):
        hf_paraphrase.search(query=["w1"])
