from __future__ import annotations

import json
import math

import numpy as np
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation.baselines import Scorer
from hf_paraphrase.evaluation.retrieval import (
    measure_ranking,
    rank_by_bm25,
    rank_by_vectors,
    read_retrieval_set,
)

DOCUMENTS = {"d1": "a red fox", "d2": "a red red car", "d3": "a green house of the fox", "q2": "a green tea"}
QUERIES = {"q1": "red fox", "q2": "green tea", "q3": "never judged"}


@pytest.fixture
def folder(tmp_path):
    rows = [{"_id": name, "title": text[:1], "text": text[2:]} for name, text in DOCUMENTS.items()]
    (tmp_path / "corpus.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    rows = [{"_id": name, "text": text} for name, text in QUERIES.items()]
    (tmp_path / "queries.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "qrels").mkdir()
    judged = "query-id\tcorpus-id\tscore\nq1\td1\t2\nq1\td3\t1\nq1\td2\t0\nq2\td3\t1\n"
    (tmp_path / "qrels" / "test.tsv").write_text(judged)
    return tmp_path


def test_measures_are_those_of_the_formulas():
    ndcg, recall, average = measure_ranking(["d2", "d1", "d9", "d3"], {"d1": 2, "d3": 1, "d2": 0, "d7": 1})
    gain = 2 / math.log2(3) + 1 / math.log2(5)
    assert ndcg == pytest.approx(gain / (2 + 1 / math.log2(3) + 1 / math.log2(4)))
    assert recall == pytest.approx(2 / 3) and average == pytest.approx((1 / 2 + 2 / 4) / 3)
    late = [f"x{place}" for place in range(100)] + ["d1"]
    assert measure_ranking(late, {"d1": 1}) == (0, 0, pytest.approx(1 / 101))


def test_documents_are_ranked_by_cosine_and_one_with_the_id_of_the_query_is_left_out(folder):
    def encode(texts):
        return np.array([[text.count("red"), text.count("green"), 0.1] for text in texts], dtype=np.float32)

    data = read_retrieval_set(folder)
    assert data.documents == DOCUMENTS and list(data.queries) == ["q1", "q2"], "another one was not judged"
    assert data.relevance == {"q1": {"d1": 2, "d3": 1, "d2": 0}, "q2": {"d3": 1}}
    first, second = rank_by_vectors(Scorer("m", "model", encode), data)
    assert {*first[:2]} == {"d1", "d2"} and second[0] == "d3" and "q2" not in second


@pytest.mark.parametrize("value", [0, 1])
def test_zero_vectors_rank_nothing_and_ties_are_no_hits(folder, value):
    def encode(texts):
        return np.full((len(texts), 3), value, dtype=np.float32)

    ranked = rank_by_vectors(Scorer("m", "model", encode), read_retrieval_set(folder))
    # Of equal documents the relevant ones, d1 and d3 for q1 and d3 for q2, are last.
    assert ranked == ([["d2", "q2", "d3", "d1"], ["d1", "d2", "d3"]] if value else [[], []])


def test_null_texts_are_empty_and_other_types_are_refused(folder):
    with (folder / "corpus.jsonl").open("a") as file:
        file.write('{"_id": "null", "title": null, "text": null}\n')
    assert read_retrieval_set(folder).documents["null"] == ""
    for row in ('{"_id": null, "text": "x"}', '{"_id": "n", "text": 5}'):
        (folder / "queries.jsonl").write_text(row + "\n")
        with pytest.raises(InputError, match="not JSON with _id and text"):
            read_retrieval_set(folder)


def test_bm25_is_the_formula_and_ranks_only_documents_with_a_common_word(folder):
    data = read_retrieval_set(folder)
    tokens = {name: text.split() for name, text in DOCUMENTS.items()}
    mean = np.mean([len(own) for own in tokens.values()])

    def naive(query, name):
        score = 0.0
        for word in query.split():
            df = sum(word in own for own in tokens.values())
            tf = tokens[name].count(word)
            idf = math.log(1 + (len(tokens) - df + 0.5) / (df + 0.5))
            score += idf * tf * 1.9 / (tf + 0.9 * (0.6 + 0.4 * len(tokens[name]) / mean))
        return score

    for query, ranked in zip(("q1", "q2"), rank_by_bm25(data), strict=True):
        scores = {name: naive(QUERIES[query], name) for name in DOCUMENTS if name != query}
        expected = sorted((name for name in scores if scores[name] > 0), key=lambda name: -scores[name])
        assert ranked == expected


@pytest.mark.parametrize(
    "judged",
    [
        "q1\td1\t2.0\nq1\td2\t0.0\n",
        "query-id\tcorpus-id\tscore\nq1\td1\t2.0\nq1\td2\t0\n",
        "query-id corpus-id score\nq1 d1 2\nq1 d2 0\n",
        "q1 0 d1 2\nq1 0 d2 0\n",
        "q1\tQ0\td1\t2\nq1\tQ0\td2\t0\n",
    ],
)
def test_judgements_of_other_tools_lose_no_line(folder, judged):
    (folder / "qrels" / "test.tsv").write_text(judged)
    assert read_retrieval_set(folder).relevance == {"q1": {"d1": 2, "d2": 0}}


def test_a_missing_split_is_told_with_those_that_exist(folder):
    with pytest.raises(InputError, match="--split is one of test"):
        read_retrieval_set(folder, "dev")


@pytest.mark.parametrize(
    ("name", "content", "message"),
    [
        ("corpus.jsonl", "{}\n", "not JSON with _id and text"),
        ("corpus.jsonl", '{"_id": 1, "text": "x"}\n{"_id": "1", "text": "y"}\n', "another text has the _id 1 already"),
        ("qrels/test.tsv", "q1\td1\t0.5\nq1\td2\t1\n", "not a judgement"),
        ("qrels/test.tsv", "q1\td1\t1\nq1\td2\t0.5\n", "not a judgement"),
        ("qrels/test.tsv", "q1\td1\t1\nq1\td1\t0\n", "query q1 and document d1 have the grade 1 already"),
        ("qrels/test.tsv", "q1\td1\t1\nq1\tgone\t1\n", "unknown document gone"),
        ("qrels/test.tsv", "q1\td1\t0\n", "no query has a relevant document"),
    ],
)
def test_damaged_files_are_named(folder, name, content, message):
    (folder / name).write_text(content)
    with pytest.raises(InputError, match=message) as raised:
        read_retrieval_set(folder)
    assert str(raised.value.path).endswith(name)


def test_bm25_stands_beside_the_scorers(folder, tmp_path, capsys):
    output = tmp_path / "results.json"
    words = ["evaluate", "--suite", "retrieval", "--data", folder, "--baseline", "words", "--output", output]
    assert main([str(word) for word in words]) == 0
    out = capsys.readouterr().out
    header, _, first, *_ = out.splitlines()
    assert [cell.strip() for cell in header.strip("|").split("|")][2:] == ["BM25", "words"]
    record = json.loads(output.read_text())
    assert set(record["results"][0]) >= {"ndcg_at_10", "recall_at_100", "map"}
    assert f"{record['bm25']['ndcg_at_10']:.1f}" in first and "2 queries, 4 documents" in out
