from __future__ import annotations

import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hf_paraphrase.data.row_selection as row_selection
import hf_paraphrase.data.text_blocks as text_blocks
from hf_paraphrase.commands import main
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.data.sources import rows as rows_module
from hf_paraphrase.data.sources.bitext import BitextSource
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.text.normalization import normalize_words


def aligned(folder: Path, rows: list[tuple[str, str]], name: str = "train", **options) -> BitextSource:
    prefix = "" if name == "train" else f"{name}_"
    for side, texts in zip(("source", "target"), zip(*rows, strict=True), strict=True):
        path = folder / f"{name}.{side}"
        path.write_bytes("".join(f"{text}\n" for text in texts).encode())
        options[f"{prefix}{side}_file"] = str(path)
    return BitextSource(**{"source_lang": "fr", "target_lang": "en", **options})


def rows_of(options: BitextSource, **others) -> tuple[dict[str, list[dict]], SourceRows]:
    with SourceRows(options, **others) as rows:
        parts = {}
        for split in rows.names():
            tables = list(rows.tables(split))
            assert all(table.schema == BITEXT for table in tables)
            parts[split] = [row for table in tables for row in table.to_pylist()]
    for split, counts in rows.counts.items():
        assert counts["rows"] == len(parts[split])
        assert "lines" not in counts or 2 * counts["lines"] == sum(counts.values())
    return parts, rows


def pairs_of(rows: list[dict]) -> list[tuple[str, str]]:
    return [(row["source"], row["target"]) for row in rows]


WORDS = ["un", "deux", "trois", "rouge", "vert", "chat", "chien", "court", "mange", "grand"]


def random_rows(number: int, seed: int = 0, targets: int = 30) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    return [
        (" ".join(draw.choices(WORDS, k=draw.randint(1, 9))), f"sentence number {draw.randrange(targets)} in English")
        for _ in range(number)
    ]


def test_drawn_parts_have_the_size_asked_for_and_share_no_english_sentence(tmp_path):
    rows = random_rows(400, targets=300)
    rows += [(source, target.upper() + "!") for source, target in rows[:100]]
    parts, corpus = rows_of(aligned(tmp_path, rows, validation_size=40, test_size=60))
    assert [len(parts[name]) for name in ("train", "validation", "test")] == [400, 40, 60]
    english = {name: {normalize_words(row["target"]) for row in part} for name, part in parts.items()}
    assert not english["train"] & english["validation"]
    assert not english["train"] & english["test"]
    assert not english["validation"] & english["test"]
    assert sorted(row["id"] for part in parts.values() for row in part) == [f"fr-en-{i:07d}" for i in range(1, 501)]
    assert corpus.counts["train"]["to_test"] == 60


def test_the_test_part_does_not_depend_on_the_validation_size_and_the_seed_matters(tmp_path):
    rows = random_rows(200, targets=100000)
    one, two, three = (
        rows_of(aligned(tmp_path, rows, validation_size=size, test_size=20, seed=seed))[0]["test"]
        for size, seed in ((10, 0), (50, 0), (10, 1))
    )
    assert one == two != three


def test_shuffling_changes_the_order_of_train_only_and_block_sizes_change_nothing(tmp_path, monkeypatch):
    rows = random_rows(300, targets=10**6)
    plain, _ = rows_of(aligned(tmp_path, rows, test_size=30))
    mixed, _ = rows_of(aligned(tmp_path, rows, test_size=30, shuffle=True))
    assert mixed["test"] == plain["test"]
    assert mixed["train"] != plain["train"]
    assert sorted(mixed["train"], key=lambda row: row["id"]) == plain["train"]
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 100)
    monkeypatch.setattr(row_selection, "BATCH_ROWS", 7)
    for cores in (1, 4):
        monkeypatch.setattr(rows_module, "available_cores", lambda cores=cores: cores)
        assert rows_of(aligned(tmp_path, rows, test_size=30, shuffle=True))[0] == mixed


@pytest.mark.parametrize(
    ("by", "kept"), [("none", [0, 1, 2, 3]), ("pair", [0, 1, 2]), ("source", [0, 2]), ("target", [0, 1])]
)
def test_the_first_of_repeated_rows_stays(tmp_path, by, kept):
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")]
    parts, corpus = rows_of(aligned(tmp_path, rows, drop_duplicates=by))
    assert pairs_of(parts["train"]) == [rows[i] for i in kept]
    assert corpus.counts["train"].get("duplicate", 0) == 4 - len(kept)


def test_contaminated_rows_leave_training_and_are_counted_by_set_over_training_rows_only(tmp_path):
    rows = random_rows(300, targets=200)
    (tmp_path / "eval.txt").write_text("".join(f"Sentence NUMBER {i}, in english.\n" for i in range(100)))
    options = aligned(tmp_path, rows, test_size=50, decontaminate=[str(tmp_path / "eval.txt")])
    parts, corpus = rows_of(options)
    clean, _ = rows_of(aligned(tmp_path, rows, test_size=50))
    assert parts["test"] == clean["test"]
    bad = {f"sentence number {i} in English" for i in range(100)}
    assert parts["train"] == [row for row in clean["train"] if row["target"] not in bad]
    assert corpus.contamination == {"eval.txt": len(clean["train"]) - len(parts["train"])}
    assert corpus.counts["train"]["contaminated"] == corpus.contamination["eval.txt"] > 0


def test_a_sentence_of_an_evaluation_set_is_kept_out_on_either_side_of_a_bitext(tmp_path):
    (tmp_path / "eval.txt").write_text("One two three four.\n")
    rows = [("one two three four", "a b c d"), ("e f g h", "One two three four!"), ("i j k l", "m n o p")]
    parts, _ = rows_of(aligned(tmp_path, rows, decontaminate=[str(tmp_path / "eval.txt")]))
    assert pairs_of(parts["train"]) == [rows[2]]


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t\r"), max_size=12)


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(TEXT, TEXT), min_size=1, max_size=30),
    drop=st.sampled_from(["none", "pair", "source", "target"]),
    sizes=st.tuples(st.integers(0, 4), st.integers(0, 4)),
    shuffle=st.booleans(),
    limit=st.integers(0, 3),
)
def test_every_line_is_accounted_for_and_every_row_is_a_line_of_the_input(tmp_path, rows, drop, sizes, shuffle, limit):
    path = tmp_path / "a.tsv"
    path.write_bytes("".join(f"{s}\t{t}\n" for s, t in rows).encode())
    options = BitextSource(
        tsv=str(path), source_lang="fr", target_lang="en", drop_duplicates=drop, validation_size=sizes[0],
        test_size=sizes[1], shuffle=shuffle, max_length=limit,
    )  # fmt: skip
    try:
        parts, corpus = rows_of(options)
    except InputError:
        return
    rows[0] = (rows[0][0].removeprefix("\ufeff"), rows[0][1])
    assert corpus.counts["train"]["lines"] == len(rows)
    ids = [row["id"] for part in parts.values() for row in part]
    assert len(ids) == len(set(ids))
    for part in parts.values():
        for row in part:
            assert (row["source"], row["target"]) == rows[int(row["id"].split("-")[-1]) - 1]


def test_a_sample_of_the_training_pairs_leaves_the_held_out_parts_as_they_are(tmp_path):
    rows = random_rows(300, targets=100000)
    settings = {"validation_size": 20, "test_size": 30}
    whole, _ = rows_of(aligned(tmp_path, rows, **settings))
    parts, corpus = rows_of(aligned(tmp_path, rows, max_pairs=40, **settings))
    assert {name: parts[name] for name in ("validation", "test")} == {
        name: whole[name] for name in ("validation", "test")
    }
    assert len(parts["train"]) == 40 and corpus.counts["train"]["not_sampled"] == 210
    kept = {row["id"] for row in parts["train"]}
    assert parts["train"] == [row for row in whole["train"] if row["id"] in kept]
    assert rows_of(aligned(tmp_path, rows, max_pairs=40, **settings))[0] == parts
    assert rows_of(aligned(tmp_path, rows, max_pairs=40, seed=1, **settings))[0]["train"] != parts["train"]


def test_given_parts_come_out_as_they_are_and_training_rules_do_not_touch_them(tmp_path):
    train = [("court", "short here"), ("un deux trois quatre", "one two three four"), ("long " * 30, "long")]
    held = [("long " * 30, "long"), ("un deux trois quatre", "one two three four"), ("un deux", "one two")]
    given_part = aligned(tmp_path, held, "test")
    rules = {"max_length": 5, "drop_duplicates": "target", "decontaminate": [given_part.test_target_file]}
    options = aligned(tmp_path, train, **rules)
    options.test_source_file, options.test_target_file = given_part.test_source_file, given_part.test_target_file
    parts, corpus = rows_of(options)
    assert pairs_of(parts["test"]) == held
    assert parts["test"][0]["id"] == "fr-en-test-0000001"
    assert pairs_of(parts["train"]) == [train[0]]
    counts = corpus.counts["train"]
    assert (counts["too_long"], counts["contaminated"], counts["lines"]) == (1, 1, 3)
    assert corpus.counts["test"] == {"lines": 3, "malformed": 0, "empty_side": 0, "rows": 3}


@pytest.mark.parametrize(
    ("change", "error", "wording"),
    [
        ({"source_file": None}, UsageError, "--target-file needs --source-file"),
        ({"tsv": "x.tsv"}, UsageError, "either --source-file"),
        ({"source_lang": "french"}, InputError, "--source-lang: `french`"),
        ({"gettext": "x", "source_file": None, "target_file": None, "target_lang": "de"}, UsageError, "are English"),
        ({"decontaminate_ngrams": 2, "decontaminate": ["x"]}, UsageError, "--decontaminate-ngrams must be at least 4"),
        ({"validation_source_file": "absent.1", "validation_target_file": "absent.2"}, InputError, "no such file"),
        ({"validation_size": 2, "test_size": 2}, InputError, "4 rows are to be held out"),
        ({"source_file": "same", "target_file": "./same"}, UsageError, "the same file"),
        ({"min_length": 9}, InputError, "no row of train is left.*too_short 3"),
    ],
)
def test_settings_that_cannot_work_are_named_and_no_temporary_rows_stay(tmp_path, change, error, wording):
    options = aligned(tmp_path, [("a b", "x"), ("c", "y"), ("d", "z")])
    for name, value in change.items():
        setattr(options, name, value)
    before = set(tmp_path.iterdir())
    with pytest.raises(error, match=wording):
        rows_of(options, work=tmp_path)
    assert set(tmp_path.iterdir()) == before


def test_equal_languages_of_a_bitext_are_reported_once(tmp_path, capsys):
    (tmp_path / "a.tsv").write_text("one\ttwo\n")
    words = ["prepare", "bitext", "--tsv", str(tmp_path / "a.tsv"), "--source-lang", "en", "--target-lang"]
    for language, count in (("eng", 1), ("fr", 0)):
        assert main([*words, language, "--output", str(tmp_path / language)]) == 0
        assert capsys.readouterr().err.count("prepare pairs reads pairs in one language") == count


def most_held(folder: Path, number: int) -> int:
    """Returns the most bytes that Arrow holds at a time."""
    folder.mkdir()
    most = 0
    with pytest.MonkeyPatch.context() as patch:
        for module, name, value in ((text_blocks, "BLOCK_BYTES", 20_000), (row_selection, "BATCH_ROWS", 500)):
            patch.setattr(module, name, value)
        patch.setattr(row_selection, "GATHER_BYTES", 50_000)
        patch.setattr(rows_module, "available_cores", lambda: 2)
        options = aligned(folder, random_rows(number), shuffle=True, drop_duplicates="pair", validation_size=50)
        with SourceRows(options) as rows:
            for split in rows.names():
                for table in rows.tables(split):
                    assert table.num_rows <= 500
                    most = max(most, pa.total_allocated_bytes())
    return most


def test_what_is_held_in_memory_does_not_grow_with_the_corpus(tmp_path):
    assert most_held(tmp_path / "large", 40_000) <= 2 * most_held(tmp_path / "small", 5_000)
