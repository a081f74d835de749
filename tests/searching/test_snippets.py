from __future__ import annotations

import json
from itertools import pairwise

import numpy as np
import pyarrow as pa
import pytest
from tiny_encoders import write_average

from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.searching.index import SearchIndex, build_index
from hf_paraphrase.searching.server import Service
from hf_paraphrase.searching.snippets import split_passages

WORDS = [f"w{number}" for number in range(40)]


def document(seed):
    """A text of sentences of known words and a number, and its sentences; a short text is one."""
    random = np.random.default_rng(seed)
    ends = random.choice([". ", "! ", "?” ", "。", "\n\n"], size=1 + seed % 9)
    bodies = [" ".join(random.choice(WORDS, size=12)) + f" r{seed}x{number}" for number in range(len(ends))]
    sentences = [body + end for body, end in zip(bodies, ends, strict=True)]
    text = "".join(sentences)
    return text, [sentence.strip() for sentence in sentences] if len(text) > 200 else [text]


DOCUMENTS = dict(map(document, range(80)))


@pytest.fixture(scope="module")
def index(tmp_path_factory):
    folder, model = tmp_path_factory.mktemp("index"), tmp_path_factory.mktemp("model")
    encoder = SentenceEncoder.from_pretrained(write_average(model, WORDS))
    table = pa.table({"sentence": list(DOCUMENTS), "year": list(range(len(DOCUMENTS)))})
    build_index(encoder, [table], folder, method="ivf")
    (folder / "encoder").symlink_to(model)
    return SearchIndex(folder)


@pytest.mark.parametrize(
    "options",
    [{}, {"method": "exact"}, {"hybrid": True}, {"filters": "year>=30"}, {"hybrid": True, "filters": "year<9"}],
)
def test_a_snippet_is_the_sentence_of_the_greatest_cosine_whatever_kind_of_search_found_the_text(index, options):
    queries = [" ".join(np.random.default_rng(seed).choice(WORDS, size=3)) for seed in range(90)]
    texts = [*queries, *(sentence for sentences in DOCUMENTS.values() for sentence in sentences)]
    vectors = dict(zip(texts, index.encoder.encode(texts, normalize=True), strict=True))
    plain = index.search(queries, 4, **options)
    for query, items, same in zip(queries, index.search(queries, 4, snippets=True, **options), plain, strict=True):
        assert items and [(item.row, item.score) for item in items] == [(item.row, item.score) for item in same]
        for item in items:
            cosines = {part: float(vectors[part] @ vectors[query]) for part in DOCUMENTS[item.sentence]}
            assert cosines[item.snippet] == pytest.approx(max(cosines.values()), abs=1e-6)


def test_a_query_of_unknown_words_gets_the_passage_that_has_them(index):
    (item, *_) = next(index.search("r17x5", hybrid=True, snippets=True))
    assert item.row == 17 and "r17x5" in item.snippet and "r17x4" not in item.snippet


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", [""]),
        (" " * 300, [""]),
        ("One. Two. Three.", ["One. Two. Three."]),
        ("x" * 250, ["x" * 200, "x" * 150]),
        ("图书馆星期一不开放。" * 21, ["图书馆星期一不开放。图书馆星期一不开放。"] * 10 + ["图书馆星期一不开放。"]),
        (
            f"Opening hours\n\nDr. J. Smith opens, e.g. at 8.30 {'x ' * 40}here. {'y ' * 60}",
            [f"Opening hours\n\nDr. J. Smith opens, e.g. at 8.30 {'x ' * 40}here.", ("y " * 60).strip()],
        ),
    ],
)
def test_texts_are_split_at_the_ends_of_sentences_and_a_short_one_goes_with_the_next(text, expected):
    assert split_passages(text) == expected


def test_windows_of_a_long_run_of_words_overlap_and_leave_no_word_out():
    windows = split_passages(" ".join(f"{number:05}" for number in range(300)))
    places = [list(map(int, window.split())) for window in windows]
    assert max(map(len, windows)) <= 200 and places[0][0] == 0 and places[-1][-1] == 299
    assert all(place == list(range(place[0], place[-1] + 1)) for place in places)
    assert {later[0] - earlier[0] for earlier, later in pairwise(places)} == {17}


def test_the_command_and_the_server_give_the_snippets_of_the_index(index, capsys):
    query = "w1 w5 r17x2"
    expected = [item.record() for item in next(index.search(query, 3, hybrid=True, snippets=True))]
    flags = ["search", "--index", str(index.folder), "--query", query, "--top-k", "3", "--hybrid", "--snippets"]
    assert main([*flags, "--format", "jsonl"]) == 0
    assert json.loads(capsys.readouterr().out)["neighbours"] == expected and expected[0]["snippet"]
    assert main(flags) == 0
    lines = [line.split("\t") for line in capsys.readouterr().out.splitlines()]
    assert [line[5] for line in lines] == ["snippet", *(" ".join(item["snippet"].split()) for item in expected)]
    service = Service(index.encoder, "tiny", index)
    body = {"query": query, "top_k": 3, "hybrid": True}
    assert service.search({**body, "snippets": True})["results"][0]["neighbours"] == expected
    assert "snippet" not in service.search(body)["results"][0]["neighbours"][0]
    with pytest.raises(UsageError, match="snippets is 'yes', not true or false"):
        service.search({**body, "snippets": "yes"})
