"""The suite `retrieval`: finding relevant documents by cosine, in the layout of BEIR (Thakur et al. 2021).

A folder has `corpus.jsonl` (`_id`, `title`, `text`), `queries.jsonl` (`_id`, `text`) and `qrels/SPLIT.tsv`: a query,
a document and its relevance per line, with or without a header. Lines of TREC have an iteration after the query. As in
BEIR a document is encoded as its title and text, one with the query's own id is not ranked, and gains are linear. BM25
is a baseline.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from ..artefacts.card_metadata import Measurement
from ..data.readers import json_objects
from ..data.text_files import StrictLines, numbered_lines
from ..encoders.dev_sets.pair_sets import encode_once
from ..errors import InputError
from ..searching.bm25 import Bm25, WordIndex
from ..vectors.exact_search import find_nearest
from .baselines import Scorer
from .suite import Benchmark, Scores, Suite, format_measurements

if TYPE_CHECKING:
    from .evaluate_settings import EvaluateSettings

DEPTH = 1000
"""Number of documents ranked per query."""
_LAYOUT = "the layout is corpus.jsonl, queries.jsonl, qrels/SPLIT.tsv"
_GRADE = re.compile(r"-?[0-9]+(\.0*)?")
_TITLES = {"ndcg_at_10": "nDCG@10 × 100", "recall_at_100": "recall@100 (%)", "map": "MAP × 100"}


@dataclass(frozen=True, eq=False)
class RetrievalSet:
    """Documents, queries with a relevant document, and relevance judgements, all by id."""

    name: str
    split: str
    documents: dict[str, str]
    queries: dict[str, str]
    relevance: dict[str, dict[str, int]]
    paths: tuple[Path, ...]


def read_retrieval_set(folder: Path, split: str = "test") -> RetrievalSet:
    """Read a folder in BEIR's layout, with the relevance judgements of a split."""
    paths = folder / "corpus.jsonl", folder / "queries.jsonl", folder / "qrels" / f"{split}.tsv"
    for path in paths:
        if not path.is_file():
            splits = sorted(file.stem for file in path.parent.glob("*.tsv"))
            remedy = f"--split is one of {', '.join(splits)}" if splits else _LAYOUT
            raise InputError("no such file", path=path, remedy=remedy)
    documents, queries = _read_texts(paths[0]), _read_texts(paths[1])
    relevance: dict[str, dict[str, int]] = {}
    for line, query, document, grade in _read_judgements(paths[2]):
        if query not in queries or document not in documents:
            unknown = f"query {query}" if query not in queries else f"document {document}"
            raise InputError(f"unknown {unknown}", path=paths[2], line=line, remedy="add its text, or remove the line")
        if relevance.setdefault(query, {}).setdefault(document, grade) != grade:
            problem = f"query {query} and document {document} have the grade {relevance[query][document]} already"
            raise InputError(problem, path=paths[2], line=line, remedy="remove one of the two lines")
    relevance = {query: grades for query, grades in relevance.items() if max(grades.values()) > 0}
    if not relevance:
        raise InputError("no query has a relevant document", path=paths[2], remedy="check --split")
    asked = {query: queries[query] for query in relevance}
    return RetrievalSet(folder.resolve().name, split, documents, asked, relevance, paths)


def _read_texts(path: Path) -> dict[str, str]:
    """Read the texts of a file of BEIR by their ids; a null title or text is empty."""
    texts: dict[str, str] = {}
    for line, row in json_objects(path, StrictLines()):
        parts = [row.get("title") or "", row.get("text") or ""]
        if row.get("_id") is None or "text" not in row or not all(isinstance(part, str) for part in parts):
            raise InputError("not JSON with _id and text", path=path, line=line, remedy="fix the line")
        text = " ".join(parts).strip()
        if texts.setdefault(str(row["_id"]), text) != text:
            problem = f"another text has the _id {row['_id']} already"
            raise InputError(problem, path=path, line=line, remedy="give each text its own _id")
    return texts


def _read_judgements(path: Path) -> Iterator[tuple[int, str, str, int]]:
    """Read a query, a document and a grade per line; the lines of TREC have an iteration after the query."""
    for line, text in numbered_lines(path):
        fields = text.split("\t") if "\t" in text else text.split()
        if len(fields) == 4:
            del fields[1]
        if line == 1 and len(fields) == 3 and not any(map(str.isdigit, fields[2])):
            continue  # the header
        if len(fields) != 3 or not _GRADE.fullmatch(fields[2].strip()):
            remedy = "write a query, a document and a whole number, with tabs between them"
            raise InputError("not a judgement", path=path, line=line, remedy=remedy)
        query, document, grade = fields
        yield line, query, document, int(float(grade))


def measure_ranking(ranked: Sequence[str], relevance: Mapping[str, int]) -> tuple[float, float, float]:
    """Compute nDCG@10, recall@100 and average precision of one query, from 0 to 1, as trec_eval defines them.

    `ranked` are ids of documents, the best first, and `relevance` has the judged ones, at least one above 0.
    """
    gains = np.array([max(0, relevance.get(document, 0)) for document in ranked], dtype=np.float64)
    ideal = np.sort([max(0, grade) for grade in relevance.values()])[::-1][:10]
    discounts = 1 / np.log2(np.arange(2, 12))
    total = sum(grade > 0 for grade in relevance.values())
    hits = gains > 0
    precisions = np.cumsum(hits) / np.arange(1, len(hits) + 1)
    ndcg = float(gains[:10] @ discounts[: len(gains[:10])] / (ideal @ discounts[: len(ideal)]))
    return ndcg, float(hits[:100].sum() / total), float(precisions[hits].sum() / total)


def rank_by_vectors(scorer: Scorer, data: RetrievalSet) -> list[list[str]]:
    """Rank the documents for each query by the cosine of the vectors; each distinct text is encoded once.

    Texts with a zero vector, which have no word of the vocabulary, are left out. Relevant documents come last among
    documents with equal cosines, so that ties never count as hits.
    """
    sides = (scorer.queries, data.queries), (scorer.documents, data.documents)
    queries, documents = (
        np.asarray(encode_once(encode or scorer.encode, texts.values())([*texts.values()]), dtype=np.float32)
        for encode, texts in sides
    )
    names = list(data.documents)
    all_rows, cosines = find_nearest(queries, documents, min(DEPTH + 1, len(names)), skip_zero=True)
    rankings = []
    for (query, relevance), rows, own in zip(data.relevance.items(), all_rows, cosines.round(6), strict=True):
        ranked = [(names[row], cosine) for row, cosine in zip(rows, own, strict=True) if row >= 0]
        ranked.sort(key=lambda document: (-document[1], relevance.get(document[0], 0)))
        rankings.append(_remove_query(query, [name for name, _ in ranked]))
    return rankings


def rank_by_bm25(data: RetrievalSet) -> list[list[str]]:
    """Rank the documents for each query by their words."""
    names, words = list(data.documents), Bm25([WordIndex.build([list(data.documents.values())])])
    ranked = {query: words.best(text, DEPTH + 1) for query, text in data.queries.items()}
    return [_remove_query(query, [names[row] for row in rows]) for query, rows in ranked.items()]


def _remove_query(query: str, ranked: Sequence[str]) -> list[str]:
    return [document for document in ranked if document != query][:DEPTH]


def _score_rankings(name: str, kind: str, data: RetrievalSet, ranked: Sequence[Sequence[str]]) -> Scores:
    measures = [
        measure_ranking(own, relevance) for own, relevance in zip(ranked, data.relevance.values(), strict=True)
    ]
    record: dict[str, Any] = dict(zip(_TITLES, (100 * np.mean(measures, axis=0)).tolist(), strict=True))
    measurements = tuple(
        Measurement("text-retrieval", data.name, key, record[key], title, "Retrieval", split=data.split)
        for key, title in _TITLES.items()
    )
    return Scores(name, kind, record=record, measurements=measurements)


def _read(settings: EvaluateSettings) -> Benchmark:
    data = read_retrieval_set(Path(settings.data[0]), settings.split)
    bm25 = _score_rankings("BM25", "baseline", data, rank_by_bm25(data))
    size = f"{len(data.queries):,} queries, {len(data.documents):,} documents"
    return Benchmark(
        lambda scorer: _score_rankings(scorer.name, scorer.kind, data, rank_by_vectors(scorer, data)),
        inputs=data.paths,
        protocol=f"ranking by cosine, {DEPTH:,} documents per query; measures as in BEIR",
        facts={"queries": len(data.queries), "documents": len(data.documents), "bm25": dict(bm25.record)},
        report=lambda scores: f"{format_measurements([bm25, *scores])}\n{size}\n",
        name=f"retrieval {data.name}/{data.split}",
    )


RETRIEVAL = Suite(
    _read,
    lambda path: (path / "corpus.jsonl").is_file() and (path / "queries.jsonl").is_file(),
    settings=("split",),
    heading="Evaluation: retrieval",
)
