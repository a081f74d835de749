from __future__ import annotations

import gzip
import random
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hf_paraphrase.data.row_store as row_store
import hf_paraphrase.data.text_blocks as text_blocks
from hf_paraphrase.data.fingerprints import normalise
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.data.sources import bitext_files
from hf_paraphrase.data.sources import corpus as corpus_module
from hf_paraphrase.data.sources.bitext import BitextSource
from hf_paraphrase.data.sources.bitext_files import open_aligned
from hf_paraphrase.data.sources.corpus import Corpus
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.errors import InputError, UsageError


def aligned(folder: Path, rows: list[tuple[str, str]], name: str = "train", **options) -> BitextSource:
    prefix = "" if name == "train" else f"{name}_"
    for side, texts in zip(("source", "target"), zip(*rows, strict=True), strict=True):
        path = folder / f"{name}.{side}"
        path.write_bytes("".join(f"{text}\n" for text in texts).encode())
        options[f"{prefix}{side}_file"] = str(path)
    return BitextSource(**{"source_lang": "fr", "target_lang": "en", **options})


def rows_of(options: BitextSource) -> tuple[dict[str, list[dict]], Corpus]:
    with Corpus(options) as corpus:
        parts = {}
        for split in corpus.parts:
            tables = list(corpus.batches(split))
            assert all(table.schema == BITEXT for table in tables)
            parts[split] = [row for table in tables for row in table.to_pylist()]
            assert len(parts[split]) == corpus.num_rows(split) == corpus.counts[split]["rows"]
    for counts in corpus.counts.values():
        if "lines" in counts:
            assert counts["lines"] == sum(count for rule, count in counts.items() if rule != "lines")
    return parts, corpus


def pairs_of(rows: list[dict]) -> list[tuple[str, str]]:
    return [(row["source"], row["target"]) for row in rows]


WORDS = ["un", "deux", "trois", "rouge", "vert", "chat", "chien", "court", "mange", "grand"]


def random_rows(number: int, seed: int = 0, targets: int = 30) -> list[tuple[str, str]]:
    draw = random.Random(seed)
    return [
        (" ".join(draw.choices(WORDS, k=draw.randint(1, 9))), f"sentence number {draw.randrange(targets)} in English")
        for _ in range(number)
    ]


def test_rows_keep_their_text_and_are_numbered_by_their_input_line(tmp_path):
    rows = [("« été »", 'he said "NA"'), ("", "dropped"), ("null", "a\rb"), ("x\u2028y", "\x0cz")]
    parts, corpus = rows_of(aligned(tmp_path, rows))
    assert pairs_of(parts["train"]) == [rows[0], rows[2], rows[3]]
    assert [row["id"] for row in parts["train"]] == ["fr-en-0000001", "fr-en-0000003", "fr-en-0000004"]
    assert {(row["source_lang"], row["target_lang"]) for row in parts["train"]} == {("fr", "en")}
    assert corpus.counts["train"] == {"lines": 4, "malformed": 0, "empty_side": 1, "rows": 3}


def test_a_tsv_with_english_first_gives_the_same_rows_as_two_files(tmp_path):
    rows = random_rows(50)
    expected, _ = rows_of(aligned(tmp_path, rows))
    path = tmp_path / "a.tsv.gz"
    path.write_bytes(gzip.compress("".join(f"{t}\t{s}\tCC-BY\n" for s, t in rows).encode()))
    options = BitextSource(tsv=str(path), columns="target,source,_", source_lang="fr", target_lang="en")
    assert rows_of(options)[0] == expected


def test_the_columns_that_the_readme_names_for_tatoeba_read_lines_with_and_without_the_attribution(tmp_path):
    attribution = "\tCC-BY 2.0 (France) Attribution: tatoeba.org #2877272 (CM) & #1158250 (Wittydev)"
    path = tmp_path / "fra.txt"
    path.write_text(f"Go.\tVa !{attribution}\nHi.\tSalut !\n", encoding="utf-8")
    options = BitextSource(tsv=str(path), columns="target,source,_", source_lang="fr", target_lang="en")
    parts, corpus = rows_of(options)
    assert pairs_of(parts["train"]) == [("Va !", "Go."), ("Salut !", "Hi.")]
    assert corpus.counts["train"]["malformed"] == 0


@pytest.mark.parametrize("seed", [0, 1])
def test_drawn_parts_have_the_size_asked_for_and_share_no_english_sentence(tmp_path, seed):
    rows = random_rows(400, targets=300)
    rows += [(source, target.upper() + "!") for source, target in rows[:100]]
    parts, corpus = rows_of(aligned(tmp_path, rows, validation_size=40, test_size=60, seed=seed))
    assert [len(parts[name]) for name in ("train", "validation", "test")] == [400, 40, 60]
    english = {name: {normalise(row["target"]) for row in part} for name, part in parts.items()}
    assert not english["train"] & english["validation"]
    assert not english["train"] & english["test"]
    assert not english["validation"] & english["test"]
    assert sorted(row["id"] for part in parts.values() for row in part) == [f"fr-en-{i:07d}" for i in range(1, 501)]
    assert corpus.counts["train"]["to_test"] == 60


def test_the_test_part_does_not_depend_on_the_validation_size_and_the_seed_matters(tmp_path):
    rows = random_rows(200, targets=100000)
    one, _ = rows_of(aligned(tmp_path, rows, validation_size=10, test_size=20))
    two, _ = rows_of(aligned(tmp_path, rows, validation_size=50, test_size=20))
    three, _ = rows_of(aligned(tmp_path, rows, validation_size=10, test_size=20, seed=1))
    assert one["test"] == two["test"] != three["test"]


def sources_of(rows: list[dict]) -> set[str]:
    return {normalise(row["source"]) for row in rows}


def test_training_rows_with_a_source_that_is_held_out_go_only_where_that_is_asked_for(tmp_path):
    # Every source has two translations, the second time with other capitals and punctuation.
    rows = [(f"phrase {i}", f"sentence {i}") for i in range(200)]
    rows += [(f"Phrase {i} !", f"saying {i}") for i in range(200)]
    plain, corpus = rows_of(aligned(tmp_path, rows, validation_size=20, test_size=30))
    held_out = {name: sources_of(plain[name]) for name in ("validation", "test")}
    assert all(sources_of(plain["train"]) & sources for sources in held_out.values())
    assert "held_out_source" not in corpus.counts["train"]
    parts, corpus = rows_of(aligned(tmp_path, rows, validation_size=20, test_size=30, hold_out_sources=True))
    assert {name: parts[name] for name in held_out} == {name: plain[name] for name in held_out}
    left = [row for row in plain["train"] if normalise(row["source"]) not in held_out["test"] | held_out["validation"]]
    assert parts["train"] == left
    assert corpus.counts["train"]["held_out_source"] == len(plain["train"]) - len(left) > 0


def test_sources_of_given_parts_are_held_out_too(tmp_path):
    given = aligned(tmp_path, [("Un chat.", "Another cat.")], "test")
    files = {"test_source_file": given.test_source_file, "test_target_file": given.test_target_file}
    rows = [("un chat", "a cat"), ("un chien", "a dog")]
    parts, corpus = rows_of(aligned(tmp_path, rows, hold_out_sources=True, **files))
    assert pairs_of(parts["train"]) == [("un chien", "a dog")] and pairs_of(parts["test"]) == [
        ("Un chat.", "Another cat.")
    ]
    assert corpus.counts["train"]["held_out_source"] == 1
    parts, _ = rows_of(aligned(tmp_path, rows, **files))
    assert pairs_of(parts["train"]) == rows


def test_shuffling_changes_the_order_of_train_only_and_block_sizes_change_nothing(tmp_path, monkeypatch):
    rows = random_rows(300, targets=10**6)
    plain, _ = rows_of(aligned(tmp_path, rows, test_size=30))
    mixed, _ = rows_of(aligned(tmp_path, rows, test_size=30, shuffle=True))
    assert mixed["test"] == plain["test"]
    assert mixed["train"] != plain["train"]
    assert sorted(mixed["train"], key=lambda row: row["id"]) == plain["train"]
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 100)
    monkeypatch.setattr(row_store, "BATCH_ROWS", 7)
    assert rows_of(aligned(tmp_path, rows, test_size=30, shuffle=True))[0] == mixed


@pytest.mark.parametrize(
    ("by", "kept"), [("none", [0, 1, 2, 3]), ("pair", [0, 1, 2]), ("source", [0, 2]), ("target", [0, 1])]
)
def test_the_first_of_repeated_rows_stays(tmp_path, by, kept):
    rows = [("a", "x"), ("a", "y"), ("b", "x"), ("a", "x")]
    parts, corpus = rows_of(aligned(tmp_path, rows, drop_duplicates=by))
    assert pairs_of(parts["train"]) == [rows[i] for i in kept]
    assert corpus.counts["train"].get("duplicate", 0) == 4 - len(kept)


def test_given_parts_come_out_as_they_are_and_training_rules_do_not_touch_them(tmp_path):
    train = [("court", "short here"), ("un deux trois quatre", "one two three four"), ("long " * 30, "long")]
    held = [("long " * 30, "long"), ("un deux trois quatre", "one two three four"), ("un deux", "one two")]
    given_part = aligned(tmp_path, held, "test")
    options = aligned(
        tmp_path, train, max_length=5, drop_duplicates="target", decontaminate=[given_part.test_target_file]
    )
    options.test_source_file, options.test_target_file = given_part.test_source_file, given_part.test_target_file
    parts, corpus = rows_of(options)
    assert pairs_of(parts["test"]) == [(source, target) for source, target in held]
    assert parts["test"][0]["id"] == "fr-en-test-0000001"
    assert pairs_of(parts["train"]) == [train[0]]
    removed = {
        rule: count for rule, count in corpus.counts["train"].items() if rule not in {"lines", "rows"} and count
    }
    assert removed == {"too_long": 1, "contaminated": 1}
    assert corpus.counts["test"] == {"lines": 3, "malformed": 0, "empty_side": 0, "rows": 3}


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


def test_punctuation_is_normalised_in_all_parts_before_repeats_are_found(tmp_path):
    rows = [("« Oui »", "“Yes”"), ('" Oui "', '"Yes"'), ("x", "y")]
    parts, _ = rows_of(aligned(tmp_path, rows, normalize_punctuation=True, drop_duplicates="target"))
    assert [row["target"] for row in parts["train"]] == ['"Yes"', "y"]


def test_skipping_leaves_out_the_malformed_lines_of_either_side_and_counts_each_once(tmp_path):
    options = aligned(tmp_path, [("a", "w"), ("b", "x"), ("c", "y"), ("d", "z")], on_error="skip")
    Path(options.source_file).write_bytes(b"a\n\xff\n\xfe\nd\n")
    Path(options.target_file).write_bytes(b"w\n\xff\ny\nz\n")
    parts, corpus = rows_of(options)
    assert pairs_of(parts["train"]) == [("a", "w"), ("d", "z")]
    assert corpus.counts["train"]["malformed"] == 2
    assert len(corpus.malformed) == 3


TEXT = st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n\t\r"), max_size=12)


@settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
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


@pytest.mark.parametrize(
    ("change", "error", "wording"),
    [
        ({"source_file": None}, UsageError, "--target-file needs --source-file"),
        ({"source_file": None, "target_file": None}, UsageError, "either --source-file"),
        ({"tsv": "x.tsv"}, UsageError, "either --source-file"),
        ({"source_lang": "french"}, InputError, "--source-lang: `french`"),
        ({"target_lang": ""}, InputError, "--target-lang"),
        ({"test_size": -1}, UsageError, "--test-size must be at least 0"),
        ({"max_length_ratio": 0.5}, UsageError, "--max-length-ratio"),
        ({"max_length_ratio": float("nan")}, UsageError, "--max-length-ratio"),
        ({"drop_duplicates": "all"}, UsageError, "--drop-duplicates"),
        ({"on_error": "ignore"}, UsageError, "ignore"),
        ({"tmx": "x.tmx"}, UsageError, "either --source-file"),
        ({"gettext": "x", "source_file": None, "target_file": None, "target_lang": "de"}, UsageError, "are English"),
        ({"gettext": "absent", "source_file": None, "target_file": None}, InputError, "no such file or folder"),
        ({"gettext_package": "no-name", "source_file": None, "target_file": None}, UsageError, "--gettext-package"),
        ({"gettext_plurals": "both"}, UsageError, "--gettext-plurals"),
        ({"length_unit": "bytes"}, UsageError, "--length-unit"),
        ({"min_length": -1}, UsageError, "--min-length must be at least 0"),
        ({"min_length": 5, "max_length": 4}, UsageError, "--min-length 5 is above"),
        ({"decontaminate_ngrams": 8}, UsageError, "is for --decontaminate"),
        ({"decontaminate_ngrams": 2, "decontaminate": ["x"]}, UsageError, "--decontaminate-ngrams 2"),
        ({"hold_out_sources": True}, UsageError, "--hold-out-sources needs a part that is held out"),
        ({"test_source_file": "x"}, UsageError, "--test-source-file needs --test-target-file"),
        ({"test_size": 2, "test_source_file": "x", "test_target_file": "y"}, UsageError, "exclude each other"),
        ({"validation_source_file": "absent.1", "validation_target_file": "absent.2"}, InputError, "no such file"),
        ({"validation_size": 2, "test_size": 2}, InputError, "4 rows are to be held out"),
        ({"decontaminate": ["absent"]}, InputError, "no such file or folder"),
        ({"max_length": 0, "source_file": "same", "target_file": "./same"}, UsageError, "the same file"),
    ],
)  # fmt: skip
def test_settings_that_cannot_work_are_named(tmp_path, change, error, wording):
    options = aligned(tmp_path, [("a b", "x"), ("c", "y"), ("d", "z")])
    for name, value in change.items():
        setattr(options, name, value)
    with pytest.raises(error, match=wording):
        Corpus(options)


@pytest.mark.parametrize("columns", ["source", "target,target", "source,target,extra", "", "source;target"])
def test_columns_other_than_source_and_target_are_refused(tmp_path, columns):
    (tmp_path / "a.tsv").write_text("a\tb\n")
    with pytest.raises(UsageError, match="--columns"):
        Corpus(BitextSource(tsv=str(tmp_path / "a.tsv"), columns=columns, source_lang="fr", target_lang="en"))


def test_nothing_left_is_an_error_with_the_counts(tmp_path):
    with pytest.raises(InputError, match=r"no row of train is left.*empty_side 2"):
        Corpus(aligned(tmp_path, [("", "a"), ("b", " ")]))
    options = aligned(tmp_path, [("", "a")], "test")
    options.source_file, options.target_file = str(tmp_path / "s"), str(tmp_path / "t")
    for path in (options.source_file, options.target_file):
        Path(path).write_text("word\n")
    with pytest.raises(InputError, match="no row of test is left"):
        Corpus(options)


def test_temporary_rows_are_gone_after_success_and_after_failure(tmp_path):
    work = tmp_path / "work"
    work.mkdir()
    with Corpus(aligned(tmp_path, [("a", "b")]), work=work):
        assert list(work.iterdir())
    assert not list(work.iterdir())
    with pytest.raises(InputError):
        Corpus(aligned(tmp_path, [("", "b")]), work=work)
    assert not list(work.iterdir())


def test_batches_are_bounded_so_that_memory_stays_flat(tmp_path, monkeypatch):
    monkeypatch.setattr(row_store, "BATCH_ROWS", 64)
    with Corpus(aligned(tmp_path, random_rows(500), shuffle=True)) as corpus:
        sizes = [table.num_rows for table in corpus.batches("train")]
        assert isinstance(next(corpus.batches("train")), pa.Table)
    assert max(sizes) <= 64
    assert sum(sizes) == 500


def peak_of_rows_held(folder: Path, number: int) -> tuple[int, int]:
    """Returns the most bytes that Arrow held at a time, and the most rows that were read and not yet stored."""
    folder.mkdir()
    held = {"bytes": 0, "rows": 0, "read": 0, "stored": 0}

    def look(stored: int = 0) -> None:
        held["stored"] += stored
        held["bytes"] = max(held["bytes"], pa.total_allocated_bytes())
        held["rows"] = max(held["rows"], held["read"] - held["stored"])

    def counted(source: str, target: str, errors: LineErrors):
        for lines, fields in open_aligned(source, target, errors):
            held["read"] += len(lines)
            look()
            yield lines, fields

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(bitext_files, "open_aligned", counted)
        patch.setattr(corpus_module, "available_cores", lambda: 2)
        patch.setattr(text_blocks, "BLOCK_BYTES", 20_000)
        patch.setattr(row_store, "BATCH_ROWS", 500)
        patch.setattr(row_store, "GATHER_BYTES", 50_000)
        options = aligned(folder, random_rows(number), shuffle=True, drop_duplicates="pair", validation_size=50)
        with Corpus(options, progress=look) as corpus:
            for split in corpus.parts:
                for table in corpus.batches(split):
                    assert table.num_rows <= 500
                    look()
    assert held["read"] == number
    return held["bytes"], held["rows"]


def test_what_is_held_in_memory_does_not_grow_with_the_corpus(tmp_path):
    small_bytes, small_rows = peak_of_rows_held(tmp_path / "small", 5_000)
    large_bytes, large_rows = peak_of_rows_held(tmp_path / "large", 40_000)
    # Two blocks wait to be cleaned, one is in the reader's hand, four are in work or done, and one is being stored.
    assert large_rows <= 8 * 20_000 // 8
    assert large_rows <= 2 * small_rows
    assert large_bytes <= 2 * small_bytes


def test_the_number_of_cores_changes_nothing(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 300)
    rows = random_rows(300)
    found = []
    for cores in (1, 4):
        monkeypatch.setattr(corpus_module, "available_cores", lambda cores=cores: cores)
        found.append(rows_of(aligned(tmp_path, rows, drop_duplicates="pair", max_length=7, test_size=20))[0])
    assert found[0] == found[1]


def test_a_translation_memory_and_a_catalogue_give_the_rows_of_the_same_pairs_in_a_file(tmp_path):
    rows = [("oui", "yes"), ("non", "no"), ("", "empty"), ("chat", "cat")]
    expected = pairs_of(rows_of(aligned(tmp_path, rows))[0]["train"])
    units = "".join(
        f"<tu><tuv lang='en'><seg>{t}</seg></tuv><tuv lang='fr'><seg>{s}</seg></tuv></tu><tu/>" for s, t in rows
    )
    (tmp_path / "a.tmx").write_text(f"<tmx><body>{units}</body></tmx>")
    (tmp_path / "fr.po").write_text("".join(f'msgid "{t}"\nmsgstr "{s}"\n\n' for s, t in rows))
    languages = {"source_lang": "fr", "target_lang": "en"}
    parts, corpus = rows_of(BitextSource(tmx=str(tmp_path / "a.tmx"), **languages))
    assert pairs_of(parts["train"]) == expected
    assert corpus.counts["train"] == {"lines": 8, "malformed": 0, "other_languages": 4, "empty_side": 1, "rows": 3}
    parts, corpus = rows_of(BitextSource(gettext=str(tmp_path / "fr.po"), **languages))
    assert pairs_of(parts["train"]) == expected
    assert corpus.counts["train"] == {"lines": 4, "malformed": 0, "untranslated": 1, "empty_side": 0, "rows": 3}
    reverse = BitextSource(gettext=str(tmp_path / "fr.po"), source_lang="en", target_lang="fr")
    assert pairs_of(rows_of(reverse)[0]["train"]) == [(target, source) for source, target in expected]


def test_rules_apply_in_their_order_to_training_rows_only(tmp_path):
    rows = [("Oui", "oui"), ("un", "one"), ("un deux trois", "one two three"), ("un deux", "one two")]
    given_part = aligned(tmp_path, rows, "test")
    options = aligned(tmp_path, rows, drop_identical=True, min_length=2, max_length=2)
    options.test_source_file, options.test_target_file = given_part.test_source_file, given_part.test_target_file
    parts, corpus = rows_of(options)
    assert pairs_of(parts["train"]) == [("un deux", "one two")]
    assert list(corpus.counts["train"].items())[2:] == [
        ("empty_side", 0), ("identical_sides", 1), ("too_short", 1), ("too_long", 1), ("rows", 1)
    ]  # fmt: skip
    assert pairs_of(parts["test"]) == rows


def test_rows_that_contain_an_evaluation_sentence_go_only_where_ngrams_are_compared(tmp_path):
    sentence = "the old man walks his small brown dog"
    (tmp_path / "eval.txt").write_text(f"{sentence}\n")
    rows = [("a", f"today {sentence} again"), ("b", sentence.upper()), ("c", "another sentence is here")]
    options = {"decontaminate": [str(tmp_path / "eval.txt")]}
    parts, corpus = rows_of(aligned(tmp_path, rows, **options))
    assert (len(parts["train"]), corpus.contamination, corpus.checked) == (2, {"eval.txt": 1}, ["eval.txt"])
    parts, corpus = rows_of(aligned(tmp_path, rows, decontaminate_ngrams=8, **options))
    assert pairs_of(parts["train"]) == [rows[2]]
    assert corpus.contamination == {"eval.txt": 1, "eval.txt (8-grams)": 1}
    assert corpus.checked == ["eval.txt", "eval.txt (8-grams)"]


@pytest.mark.real_data
def test_multi30k_comes_through_whole_and_decontaminated(real_data_dir):
    folder = real_data_dir / "multi30k"
    options = BitextSource(
        source_file=str(folder / "train.fr.gz"), target_file=str(folder / "train.en.gz"),
        validation_source_file=str(folder / "val.fr.gz"), validation_target_file=str(folder / "val.en.gz"),
        test_source_file=str(folder / "test_2016_flickr.fr.gz"),
        test_target_file=str(folder / "test_2016_flickr.en.gz"),
        source_lang="fr", target_lang="en",
        decontaminate=[str(real_data_dir / name) for name in ("sts", "sick", "held_out.sha256-16.txt.gz")],
    )  # fmt: skip
    parts, corpus = rows_of(options)
    assert [len(parts[name]) for name in ("validation", "test")] == [1014, 1000]
    assert corpus.counts["train"]["lines"] == 29000
    assert corpus.contamination["held_out.sha256-16.txt.gz"] == 542
    assert corpus.contamination["sick/SICK_train.txt"] == 27


@pytest.mark.real_data
def test_tatoeba_english_first_is_split_by_its_english_side(real_data_dir):
    path = real_data_dir / "manythings" / "ces-eng" / "ces.txt.gz"
    options = BitextSource(
        tsv=str(path), columns="target,source", source_lang="cs", target_lang="en", validation_size=100,
        test_size=100, shuffle=True,
    )  # fmt: skip
    parts, _ = rows_of(options)
    assert {name: len(part) for name, part in parts.items()} == {"train": 10374, "validation": 100, "test": 100}
    assert not {row["target"] for row in parts["train"]} & {row["target"] for row in parts["test"]}


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
    every, corpus = rows_of(aligned(tmp_path, rows, max_pairs=1000, **settings))
    assert every == whole and corpus.counts["train"]["not_sampled"] == 0
