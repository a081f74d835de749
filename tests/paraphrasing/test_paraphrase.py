from __future__ import annotations

import json
import math
import os
from types import SimpleNamespace

import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from hf_paraphrase import paraphrase, paraphrase_file
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import SENTENCES
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.paraphrasing.paraphraser import Paraphraser
from hf_paraphrase.paraphrasing.seq2seq import RoundTrip, RoundTrips
from hf_paraphrase.translation.beam_search import Hypothesis

LANGUAGES = {"language": "eng_Latn", "pivots": ["fra_Latn", "deu_Latn"]}
TEXTS = ["one cat", "two four three", "", "three"]
GARDEN = "the dog sleeps in the garden"


class Table:
    """A translator that looks lists up: text → {translation: log-probability}."""

    def __init__(self, source_lang, target_lang, lists):
        self.model = SimpleNamespace(config=SimpleNamespace(source_lang=source_lang, target_lang=target_lang))
        self.lists = lists
        self.asked = []

    def nbest_lists(self, sources, language=None, *, progress=lambda _: None):
        self.asked += sources
        progress(len(sources))
        return [
            [Hypothesis(text, log_prob, len(text.split()), True) for text, log_prob in self.lists[source].items()]
            if source in self.lists
            else "empty source"
            for source in sources
        ]


def made(*trips, num=5, **settings):
    """A paraphraser over tables: for each round trip the lists there and those back."""
    function = Paraphraser(("a", "b") * len(trips), num=num, **{"min_similarity": -1.0, **settings})
    opened = [RoundTrip(Table("en", "fr", there), Table("fr", "en", back)) for there, back in trips]
    function.__dict__["opened"] = RoundTrips(opened)
    return function


def reported(function, texts):
    return function.process(pa.table({"id": list("0123456789")[: len(texts)], "sentence": texts}, schema=SENTENCES))


def test_every_way_to_a_text_counts_and_round_trips_are_averaged():
    first = (
        {"a big dog": {"x": -1.0, "y": -2.0}, "big dogs": {"x": -1.0}},
        {"x": {"a large hound": -0.5, "huge dogs": -3.0}, "y": {"A large hound!": -0.1}},
    )
    second = ({"a big dog": {"z": -0.7}}, {"z": {"a large hound": -1.5}})
    function = made(first, second)
    pairs, report = reported(function, ["a big dog", "big dogs"])
    rows = {row["sentence2"]: row for row in pairs.to_pylist() if row["id"] == "0"}
    expected = math.log((math.exp(-1.5) + math.exp(-2.1) + math.exp(-2.2)) / 2)
    assert rows["a large hound"]["round_trip_log_prob"] == pytest.approx(expected)
    assert rows["a large hound"]["source"] == "x", "the likeliest way"
    assert rows["huge dogs"]["round_trip_log_prob"] == pytest.approx(-4.0 - math.log(2))
    assert [rows[text]["log_prob"] for text in ("a large hound", "huge dogs")] == [-0.5, -3.0], "of sentence2 alone"
    assert [rows["huge dogs"][name] for name in ("num_tokens", "num_pivot_tokens")] == [2, 1]
    assert set(rows) == {"a large hound", "huge dogs"}
    assert (report["candidates"], report["pairs"], report["skipped"]) == (4, 4, [])
    assert function.opened.trips[0].backward.asked == ["x", "y"], (
        "a translation of two sentences is translated back once"
    )


def test_copies_loops_near_copies_and_dissimilar_texts_are_counted_and_left_out():
    candidates = {
        "The DOG, sleeps in the garden": -1.0,
        "the dog sleeps in the gardens": -1.1,
        "so it is so it is so it is so it is": -1.2,
        "stock markets fell sharply": -1.3,
        "in the garden a dog is sleeping": -1.4,
    }
    texts = [GARDEN, "no way back", ""]
    function = made(({texts[0]: {"x": -1.0}, texts[1]: {"y": -1.0}}, {"x": candidates}), min_similarity=0.6)
    pairs, report = reported(function, texts)
    assert pairs.column("sentence2").to_pylist() == ["in the garden a dog is sleeping"]
    expected = dict.fromkeys(("pairs", "copies", "loops", "near_copies", "dissimilar"), 1)
    assert {name: report[name] for name in function.COUNTS} == {"sentences": 3, "candidates": 5, **expected}
    assert report["skipped"] == [
        {"id": "1", "reason": "no translation comes back"},
        {"id": "2", "reason": "empty source"},
    ]
    assert {"overlap_1", "bleu", "edit_distance", "similarity"} <= set(pairs.column_names)


@pytest.mark.parametrize(
    ("sentence", "back", "num", "min_similarity", "first"),
    [
        # Of likely ones of the same words only one is chosen, but not an unlikely one instead of the other.
        ("let us go", {"we must go home": -1.0, "we must go home now": -1.1, "it is time": -3.0}, 2, -1.0, {2}),
        ("let us go", {"we must go home": -1.0, "we must go home now": -1.1, "it is time": -60.0}, 2, -1.0, {0, 1}),
        # What is hardly similar enough comes last, though it differs most.
        (GARDEN, {"a dog is in the kitchen now": -1.0, "in the garden a dog is sleeping": -1.0}, 1, 0.4, {1}),
    ],
)
def test_likely_similar_and_different_paraphrases_come_first(sentence, back, num, min_similarity, first):
    function = made(({sentence: {"x": 0.0}}, {"x": back}), num=num, min_similarity=min_similarity)
    pairs, _ = reported(function, [sentence])
    assert pairs.column("rank").to_pylist() == list(range(num))
    assert {list(back)[index] for index in first} <= set(pairs.column("sentence2").to_pylist())


@pytest.mark.parametrize(("num", "problem"), [(0, "not 0"), (-1, "not -1"), (2.5, "num is 2.5, not a whole number")])
def test_a_number_of_paraphrases_below_1_is_refused(num, problem):
    function = made(({"a dog": {"x": 0.0}}, {"x": {"the hound": 0.0}}))
    for refused in (lambda: function(["a dog"], num=num), lambda: function([], num=num), lambda: made(num=num)):
        with pytest.raises(UsageError, match=problem):
            refused()
    with pytest.raises(UsageError, match="a round trip needs models"):
        _ = Paraphraser(()).opened
    assert function(["a dog"], num=1) == [["the hound"]]


def test_the_built_in_encoder_is_for_english():
    for language, encoder, used in (("en", None, "builtin"), ("de", None, None), ("de", "e", "e")):
        function = Paraphraser(("a", "b"), encoder=encoder)
        function.__dict__["opened"] = RoundTrips([RoundTrip(Table(language, "fr", {}), Table("fr", language, {}))])
        assert function.used_encoder == used


# ----- with models


@pytest.fixture
def model(folders):
    """One model of several languages."""
    return str(folders("nllb"))


COMMON = {"num": 3, "num_beams": 3, "min_similarity": -1.0, "min_edit_distance": 0.0, "device": "cpu"}


def test_the_function_and_the_verb_give_the_same_from_every_kind_of_input(model, tmp_path, monkeypatch):
    expected = paraphrase(TEXTS, models=model, **LANGUAGES, **COMMON)
    assert [len(found) for found in expected] == [len(set(found)) for found in expected]
    assert expected[2] == [] and sum(map(len, expected)) > 3
    (tmp_path / "lines.txt").write_text("".join(f"{text}\n" for text in TEXTS))
    table = pa.table({"number": [1] * len(TEXTS), "text": TEXTS})
    pq.write_table(table, tmp_path / "rows.parquet")
    write_split(tmp_path / "folder", "train", [table], table.schema)
    for name, more in {"lines.txt": {}, "rows.parquet": {}, "folder": {"column": "text"}}.items():
        options = {**LANGUAGES, **COMMON, **more, "input": tmp_path / name, "output": str(tmp_path / f"out {name}")}
        rows = paraphrase_file(models=model, **options).table().to_pylist()
        found = [[row["sentence2"] for row in rows if row["id"] == str(index)] for index in range(len(TEXTS))]
        assert found == expected, name
        assert all(row["sentence1"] == TEXTS[int(row["id"])] for row in rows)
    output = tmp_path / "out lines.txt"
    card, record = (output / "README.md").read_text(), json.loads((output / "provenance.json").read_text())
    assert "| `fra_Latn` | `nllb` | `nllb` |" in card and "| `deu_Latn` | `nllb` | `nllb` |" in card
    assert str(tmp_path) not in card
    assert record["results"]["sentences"] == 4 and record["results"]["pairs"] == sum(map(len, expected))
    assert [json.loads(line)["id"] for line in (output / "skipped.jsonl").read_text().splitlines()] == ["2"]


def test_columns_of_labelled_data_are_kept(model, tmp_path, capsys):
    labels = [2, 0, 1, 0]
    table = pa.table({"text": TEXTS, "label": labels, "topic": ["a", None, "b", "c"]})
    pq.write_table(table, tmp_path / "rows.parquet")
    options = {**LANGUAGES, **COMMON, "models": model, "input": str(tmp_path / "rows.parquet")}
    pairs = paraphrase_file(**options, keep_columns=["label,topic", "label"], output=str(tmp_path / "out")).table()
    plain = paraphrase_file(**options, output=str(tmp_path / "plain")).table()
    assert pairs.drop_columns(["label", "topic"]).to_pylist() == plain.to_pylist()
    rows = [int(row) for row in pairs.column("id").to_pylist()]
    assert len(set(rows)) == 3 and pairs.column("label").to_pylist() == [labels[row] for row in rows]
    assert pairs.column("topic").to_pylist() == [["a", None, "b", "c"][row] for row in rows]


def test_a_column_to_keep_that_cannot_be_kept_is_refused_before_any_translation(model, tmp_path, monkeypatch):
    monkeypatch.setattr(RoundTrips, "candidates", lambda *_, **__: pytest.fail("translated"))
    pq.write_table(pa.table({"text": TEXTS, "overlap_1": [1] * len(TEXTS)}), tmp_path / "rows.parquet")
    options = {**LANGUAGES, **COMMON, "models": model, "input": str(tmp_path / "rows.parquet")}
    for name, problem in (("overlap_1", "--keep-columns `overlap_1` is a col"), ("other", "missing column other")):
        with pytest.raises((InputError, UsageError), match=problem):
            paraphrase_file(**options, keep_columns=[name], output=str(tmp_path / "out"))


def test_sentences_come_from_standard_input(model, tmp_path, capfd):
    words = ["paraphrase", "--models", model, "--language", "eng_Latn", "--pivots", "fra_Latn", "--input", "-"]
    words += ["--output", str(tmp_path / "out"), "--num-beams", "2", "--min-similarity", "-1"]
    (tmp_path / "lines").write_text("one cat\nthree\n")
    standard_input = os.dup(0)
    try:
        with (tmp_path / "lines").open() as lines:
            os.dup2(lines.fileno(), 0)
            assert main(words) == 0
    finally:
        os.dup2(standard_input, 0)
        os.close(standard_input)
    assert DataFolder(tmp_path / "out").table().num_rows > 0 and capfd.readouterr().out == ""


def test_languages_that_do_not_meet_are_refused(monkeypatch):
    languages = {"there": ("en", "fr"), "from_de": ("de", "en"), "into_de": ("fr", "de")}
    monkeypatch.setattr(Paraphraser, "_open_translator", lambda self, name, *_: Table(*languages[name], {}))
    for back in ("from_de", "into_de"):
        with pytest.raises(UsageError, match=rf"no round trip: there translates en→fr, but {back} "):
            _ = Paraphraser(("there", back)).opened


def test_inputs_without_sentences_are_one_line(model, tmp_path):
    pq.write_table(pa.table({"number": [1]}), tmp_path / "numbers.parquet")
    (tmp_path / "none").mkdir()
    pq.write_table(SENTENCES.empty_table(), tmp_path / "none" / "train.parquet")
    (tmp_path / "empty.txt").write_text("")
    (tmp_path / "lines.txt").write_text("one\n")
    common = {"models": model, **LANGUAGES, "output": str(tmp_path / "out")}
    for name, more, problem in (
        ("numbers.parquet", {}, "no text column is called"),
        ("none", {}, "the input has no rows"),
        ("empty.txt", {}, "empty"),
        ("absent.txt", {}, "no such"),
        ("lines.txt", {"column": "title"}, "missing column title"),
    ):
        with pytest.raises(InputError, match=problem):
            paraphrase_file(**common, **more, input=tmp_path / name)
    assert not (tmp_path / "out").exists()
