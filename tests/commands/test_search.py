from __future__ import annotations

import gzip
import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from datasets import load_dataset
from small_runs import run, write
from tiny_encoders import write_average

import hf_paraphrase
from hf_paraphrase.artefacts.provenance import read_provenance
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.encoders.search_embedder import SearchEmbedder
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.searching.index import SearchIndex, build_index

LINES = ["w1 w2", "w2 w1", "w3\u2028w4", "", "W1  w2", "w5 | w6", "w1 w2", "w7", "unheard of"]
KEPT = ["w1 w2", "w2 w1", "w3\u2028w4", "W1  w2", "w5 | w6", "w7", "unheard of"]
NAMES = {"sources", "encoder", "columns"}
MANY = [f"w{number % 9} w{number % 7} w{number % 5}" for number in range(300)]


@pytest.fixture(scope="module")
def model(tmp_path_factory):
    return write_average(tmp_path_factory.mktemp("models") / "first", [*(f"w{number}" for number in range(9)), "|"])


@pytest.fixture(scope="module")
def corpus(tmp_path_factory):
    path = tmp_path_factory.mktemp("corpus") / "text.gz"
    path.write_bytes(gzip.compress("\n".join(LINES).encode()))
    return path


@pytest.fixture(scope="module")
def index(model, corpus, tmp_path_factory):
    folder = tmp_path_factory.mktemp("indexes") / "index"
    assert run("search", "--model", model, "--corpus", corpus, "--output", folder) == 0
    return folder


def sentences_of(folder):
    return SearchIndex(folder).sentences["sentence"].to_pylist()


# ----- building and changing


def test_an_index_folder_is_complete_and_also_a_data_folder(index, model, tmp_path):
    names = {path.name for path in index.iterdir()}
    assert names == {"README.md", "provenance.json", "index.json", "segments", "encoder"}
    data = load_dataset(str(index), split="train", cache_dir=str(tmp_path))
    assert data["sentence"][:] == KEPT and data["position"][:] == [1, 2, 3, 5, 6, 8, 9]
    for path in model.iterdir():
        assert (index / "encoder" / path.name).read_bytes() == path.read_bytes()
    record = read_provenance(index)
    assert record["results"]["rows"] == 7 and record["results"]["zero_rows"] == 1
    assert [item["name"] for item in record["inputs"]] == ["first", "text.gz"]
    card = (index / "README.md").read_text()
    assert "The corpus has 9 texts; 1 empty and 1 repeated texts were left out" in card


def test_an_index_that_grows_is_the_index_of_all_and_encodes_what_is_new_alone(model, tmp_path, monkeypatch, capfd):
    parts = [*MANY[:200], "", "w8 w8"], [*MANY[150:], "w8 w1 w8", "w2"]
    for name, lines in (("one", parts[0]), ("two", parts[1]), ("all", [*parts[0], *parts[1]])):
        (tmp_path / name).write_text("\n".join(lines))
    flags = ["--model", model, "--method", "approximate"]
    for name in ("one", "all"):
        assert run("search", *flags, "--corpus", tmp_path / name, "--output", tmp_path / f"index-{name}") == 0
    encoded = []
    embed = SearchEmbedder.embed

    def record(self, texts, **options):
        encoded.extend(texts)
        return embed(self, texts, **options)

    monkeypatch.setattr(SearchEmbedder, "embed", record)
    assert run("search", "--index", tmp_path / "index-one", "--add", tmp_path / "two") == 0
    assert sorted(encoded) == sorted({*parts[1]} - {*parts[0]})
    grown, whole = (SearchIndex(tmp_path / f"index-{name}") for name in ("one", "all"))
    assert grown.sentences.equals(whole.sentences)
    assert np.array_equal(grown.vectors[0:400], whole.vectors[0:400])
    counts = ("rows", "zero_rows", "read", "empty", "repeated")
    assert [getattr(grown.settings, name) for name in counts] == [getattr(whole.settings, name) for name in counts]
    assert next(grown.search("w8 w1", 3)) == next(whole.search("w8 w1", 3))
    card = (grown.folder / "README.md").read_text()
    assert "sentences of `one, two`" in card and "`first`" in card
    recall = f"{100 * grown.settings.recall:.1f} % of the true"
    assert recall in card and f"finds {recall}" in capfd.readouterr().err


def test_sentences_are_added_and_removed_from_python(index, tmp_path):
    shutil.copytree(index, tmp_path / "i")
    record = read_provenance(tmp_path / "i")
    # Version 0.1 recorded the names of corpus and encoder in the settings alone.
    record["results"] = {name: value for name, value in record["results"].items() if name not in NAMES}
    (tmp_path / "i" / "provenance.json").write_text(json.dumps(record))
    other = SearchIndex(tmp_path / "i")
    assert other.add(["w8", "w1 w2", " "]) == 1 and len(other) == 8
    assert next(other.search("w8", 1))[0].position == 10
    assert other.remove(["W1 w\u200b2", "never seen"]) == 2 and other.remove("w8") == 1
    assert sentences_of(tmp_path / "i") == [text for text in KEPT if text.lower().split() != ["w1", "w2"]]
    assert "w8" not in {item.sentence for item in next(other.search("w8", 9))}
    record = read_provenance(tmp_path / "i")
    assert record["results"]["encoder"] == "first" and record["results"]["sources"] == ["text.gz"]
    assert "sentences of `text.gz`" in (tmp_path / "i" / "README.md").read_text()
    (tmp_path / "lines").write_text("w7\nw5 | w6\n")
    assert run("search", "--index", tmp_path / "i", "--remove", tmp_path / "lines") == 0
    assert sentences_of(tmp_path / "i") == ["w2 w1", "w3\u2028w4", "unheard of"]


def test_a_single_id_is_no_list_of_its_letters(model, tmp_path):
    write(tmp_path / "data", id=["1", "2", "12"], sentence=["w1", "w2", "w3"])
    assert run("search", "--model", model, "--corpus", tmp_path / "data", "--output", tmp_path / "i") == 0
    index = SearchIndex(tmp_path / "i")
    assert index.remove(ids="12") == 1 and sentences_of(tmp_path / "i") == ["w1", "w2"]
    assert index.add("w4", ids="34", columns={}) == 1 and index.remove(ids=2) == 1
    assert index.sentences["id"].to_pylist() == ["1", "34"]


def test_texts_and_tables_of_other_columns_are_no_blocks(index, model, tmp_path):
    with pytest.raises(hf_paraphrase.UsageError, match="a text among the blocks"):
        build_index(SentenceEncoder(model), ["w1 w2", "w3"], tmp_path / "new")
    shutil.copytree(index, tmp_path / "i")
    with pytest.raises(hf_paraphrase.InputError, match="a table without a column sentence"):
        SearchIndex(tmp_path / "i").add(pa.table({"text": ["w1"]}))


def test_an_index_that_cannot_be_changed_stays_as_it_is(index, tmp_path, capfd):
    shutil.copytree(index, tmp_path / "i")
    (tmp_path / "all").write_text("\n".join(KEPT))
    assert run("search", "--index", tmp_path / "i", "--remove", tmp_path / "all") == 2
    assert "nothing would be left" in capfd.readouterr().err and sentences_of(tmp_path / "i") == KEPT
    (tmp_path / "i" / "provenance.json").unlink()
    with pytest.raises(hf_paraphrase.OutputError, match="not made by hf-paraphrase search"):
        SearchIndex(tmp_path / "i").add(["w8"])


def test_a_change_of_which_a_part_cannot_be_done_removes_nothing(model, tmp_path, capfd):
    write(tmp_path / "data", id=[1, 2, 3], sentence=["w1", "w2", "w3"])
    assert run("search", "--model", model, "--corpus", tmp_path / "data", "--output", tmp_path / "i") == 0
    (tmp_path / "lines").write_text("w2\n")
    for flags, message in (
        (["--remove-where", "nope=1"], "no column 'nope'"),
        (["--add", tmp_path / "typo"], "typo"),
        (["--remove", tmp_path / "typo"], "typo"),
    ):
        assert run("search", "--index", tmp_path / "i", "--remove-id", "1", *flags) == 2
        assert message in capfd.readouterr().err and len(SearchIndex(tmp_path / "i")) == 3
    flags = ["--remove", tmp_path / "lines", "--remove-id", "1", "--remove-where", "id<2"]
    assert run("search", "--index", tmp_path / "i", *flags) == 0
    assert "2 sentences were removed" in capfd.readouterr().err and sentences_of(tmp_path / "i") == ["w3"]


def test_the_counts_of_an_addition_are_those_of_the_added_file(model, tmp_path, capfd):
    write(tmp_path / "data", id=[7, 7, 7, 8, 8], sentence=["w1", "w2", "w3", "w4", "w4"])
    assert run("search", "--model", model, "--corpus", tmp_path / "data", "--output", tmp_path / "i") == 0
    write(tmp_path / "more", id=[7, 8], sentence=["w5", "w4"])
    capfd.readouterr()
    assert run("search", "--index", tmp_path / "i", "--add", tmp_path / "more") == 0
    err = capfd.readouterr().err
    assert "1 of 2 sentences are repeated" in err and "1 sentences were added, which replace 3 of the same id" in err


def test_the_licence_of_a_corpus_reaches_the_index_what_is_added_and_the_pairs(model, tmp_path):
    for name, licence in (("one", "cc-by-2.0"), ("two", "cc0-1.0")):
        write(tmp_path / name, sentence=["w1 w2", f"w2 {name}"])
        (tmp_path / name / "README.md").write_text(f"---\nlicense: {licence}\nlanguage: no\n---\n")
    assert run("search", "--model", model, "--corpus", tmp_path / "one", "--output", tmp_path / "i") == 0
    assert run("search", "--index", tmp_path / "i", "--add", tmp_path / "two") == 0
    assert run("search", "--index", tmp_path / "i", "--mine", "--output", tmp_path / "pairs") == 0
    for name in ("i", "pairs"):
        assert "license:\n- cc-by-2.0\n- cc0-1.0" in (tmp_path / name / "README.md").read_text()


# ----- queries


def test_neighbours_are_printed_as_tab_separated_values_or_json_lines(index, tmp_path, capsys):
    assert run("search", "--index", index, "--query", "w1 w2", "w3 w4", "--top-k", "3") == 0
    rows = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert rows[0] == ["query", "rank", "score", "position", "sentence"] and len(rows) == 7
    assert [row[:3] for row in rows[1:4]] == [["w1 w2", str(rank), "1.000000"] for rank in (1, 2, 3)]
    assert {row[4] for row in rows[1:4]} == {"w1 w2", "w2 w1", "W1 w2"}
    # The line separator inside the sentence breaks no line of the output.
    assert rows[4] == ["w3 w4", "1", "1.000000", "3", "w3 w4"]
    (tmp_path / "queries").write_text("w1 w2\nnever\nw6 | w5\n\n")
    flags = ["--query-file", tmp_path / "queries", "--format", "jsonl", "--top-k", 2]
    assert run("search", "--index", index, *flags) == 0
    captured = capsys.readouterr()
    found = [json.loads(line) for line in captured.out.split("\n")[:-1]]
    lengths = {item["query"]: len(item["neighbours"]) for item in found}
    assert lengths == {"w1 w2": 2, "never": 0, "w6 | w5": 2, "": 0}
    assert found[2]["neighbours"][0]["sentence"] == "w5 | w6"
    assert "2 of 4 queries have no neighbours: they are blank, or none of their words is in" in captured.err
    assert run("search", "--index", index, "--query", "never") == 2 and capsys.readouterr().out == ""


# ----- mining


def test_mined_pairs_are_a_data_folder_with_each_pair_once(index, model, tmp_path, capsys):
    assert run("search", "--index", index, "--mine", "--threshold", "0.3", "--output", tmp_path / "pairs") == 0
    vectors = SentenceEncoder.from_pretrained(model).encode(KEPT[:-1], normalize=True).astype(float)
    cosines = vectors @ vectors.T
    expected = {
        (KEPT[i], KEPT[j]): cosines[i, j]
        for i in range(6)
        for j in range(i + 1, 6)
        if cosines[i, j] >= 0.3 and KEPT[i].lower().split() != KEPT[j].lower().split()
    }
    data = DataFolder(tmp_path / "pairs").table().to_pylist()
    found = {(row["sentence1"], row["sentence2"]): row["score"] for row in data}
    assert len(found) == len(data) and found == pytest.approx(expected)
    assert list(found.values()) == sorted(found.values(), reverse=True)
    assert read_provenance(tmp_path / "pairs")["results"] == {"pairs": len(data), "found": len(data), "sentences": 7}
    assert "All sentences were compared" in (tmp_path / "pairs" / "README.md").read_text()
    flags = ["--index", index, "--mine", "--threshold", "0.3", "--max-pairs", "1"]
    assert run("search", *flags, "--output", tmp_path / "best") == 0
    assert len(DataFolder(tmp_path / "best").table()) == 1 and "the best 1 are kept" in capsys.readouterr().err


# ----- from Python, and prompts


def test_from_python_it_gives_the_neighbours_as_they_are_found_also_in_a_corpus_without_an_index(
    model, index, corpus, tmp_path
):
    expected = next(iter(SearchIndex(index).search(["w1 w5"], 3)))
    for searched in ({"index": index}, {"model": model, "corpus": corpus}):
        found = hf_paraphrase.search(**searched, query=["w1 w5"], top_k=3)
        assert list(found.neighbours) == [("w1 w5", expected)]
    mined = hf_paraphrase.search(index=index, mine=True, threshold=0.5, output=tmp_path / "mined")
    assert DataFolder(mined.folder).count() == mined.rows


def test_prompts_are_put_before_queries_only(tmp_path, capfd):
    model = write_average(tmp_path / "model", [f"w{number}" for number in range(9)])
    encoder = SentenceEncoder.from_pretrained(model, prompts={"query": "w1 ", "mine": "w2 w3 "})
    encoder.save_pretrained(tmp_path / "prompted")
    (tmp_path / "corpus").write_text("w4 w5\nw6\n")
    flags = ["search", "--model", tmp_path / "prompted", "--corpus", tmp_path / "corpus", "--query", "w4"]
    for more, text in (([], "w1 w4"), (["--prompt-name", "mine"], "w2 w3 w4"), (["--prompt", "w7 "], "w7 w4")):
        assert run(*flags, "--top-k", "1", *more) == 0
        score = float(capfd.readouterr().out.splitlines()[-1].split("\t")[2])
        plain = SentenceEncoder.from_pretrained(model)
        assert score == pytest.approx(float(plain.similarity(text, ["w4 w5", "w6"]).max()), abs=1e-4)
    assert run(*flags, "--prompt-name", "other") == 2
    assert "prompt_name `other` is unknown" in capfd.readouterr().err
