from __future__ import annotations

import gzip
import json
import re
import subprocess
import sys
from pathlib import Path

import pytest
from datasets import load_dataset

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.fr").write_text("".join(f"phrase numéro {i}\n" for i in range(60)))
    (tmp_path / "a.en").write_text("".join(f"this is sentence {i}\n" for i in range(60)))
    return tmp_path


def bitext(folder: Path, *more: str, output: str = "out") -> list[str]:
    words = ["prepare", "bitext", "--source-lang", "fr", "--target-lang", "en", "--output", str(folder / output)]
    if not {"--tsv", "--gettext"} & set(more):
        words += ["--source-file", str(folder / "a.fr"), "--target-file", str(folder / "a.en")]
    return [*words, *more]


def snapshot(folder: Path) -> dict[str, bytes]:
    return {str(path.relative_to(folder)): path.read_bytes() for path in sorted(folder.rglob("*")) if path.is_file()}


def fails(capsys, words: list[str], *wordings: str) -> None:
    """One line on standard error, exit code 2, no traceback."""
    assert main(words) == 2
    captured = capsys.readouterr()
    last = captured.err.strip().split("\n")[-1]
    assert last.startswith("hf-paraphrase: error: ")
    assert "Traceback" not in captured.err
    assert captured.out == ""
    for wording in wordings:
        assert re.search(wording, last), last


def test_folder_opens_with_plain_load_dataset_and_streams_the_same_rows(files, tmp_path):
    assert main(bitext(files, "--test-size", "10", "--validation-size", "5", "--shuffle")) == 0
    dataset = load_dataset(str(files / "out"), cache_dir=str(tmp_path / "cache"))
    assert {name: len(rows) for name, rows in dataset.items()} == {"train": 45, "validation": 5, "test": 10}
    assert dataset["train"].column_names == ["id", "source", "target", "source_lang", "target_lang"]
    streamed = load_dataset(str(files / "out"), split="train", streaming=True)
    assert list(streamed) == dataset["train"].to_list() == DataFolder(files / "out").table("train").to_pylist()


def test_card_and_provenance_say_what_was_done(files):
    (files / "eval.txt").write_text("This is sentence 7!\n")
    assert main(bitext(files, "--decontaminate", str(files / "eval.txt"), "--license", "cc-by-2.0")) == 0
    record = json.loads((files / "out" / "provenance.json").read_text())
    assert record["command"] == "hf-paraphrase prepare bitext"
    assert [item["name"] for item in record["inputs"]] == ["a.fr", "a.en", "eval.txt"]
    assert record["results"]["counts"]["train"]["rows"] == 59
    assert record["results"]["contamination"] == {"eval.txt": 1}
    card = (files / "out" / "README.md").read_text()
    assert "license: cc-by-2.0" in card
    assert "| eval.txt | 1 |" in card
    assert "| contaminated | 1 |" in card
    assert str(files) not in card


def test_card_header_is_accepted_by_the_hub_library(files):
    from huggingface_hub import DatasetCard

    assert main(bitext(files, "--test-size", "3")) == 0
    data = DatasetCard.load(files / "out" / "README.md").data
    assert data.language == ["fr", "en"]
    assert [split["num_examples"] for split in data.dataset_info["splits"]] == [57, 3]


def test_same_command_gives_the_same_bytes_and_another_seed_does_not(files):
    words = ["--test-size", "10", "--shuffle", "--seed"]
    for name, seed in (("one", "5"), ("two", "5"), ("three", "6")):
        assert main(bitext(files, *words, seed, output=name)) == 0
    data = [snapshot(files / name / "data") for name in ("one", "two", "three")]
    assert data[0] == data[1] != data[2]


def test_nothing_but_the_artefact_is_left_behind(files):
    before = set(files.iterdir())
    assert main(bitext(files)) == 0
    assert set(files.iterdir()) - before == {files / "out"}
    assert {path.name for path in (files / "out").iterdir()} == {"data", "README.md", "provenance.json"}


def test_messages_go_to_standard_error_and_tell_what_was_left_out(files, capsys):
    (files / "a.fr").write_bytes(b"bad \xff\n\n" + b"phrase\n" * 58)
    assert main(bitext(files, "--on-error", "skip")) == 0
    captured = capsys.readouterr()
    assert captured.out == ""
    assert "train: 58 rows of 60 lines (malformed 1, empty_side 1)" in captured.err
    assert "a.fr:1: not UTF-8" in captured.err


def test_every_rule_is_in_the_funnel_on_standard_error_in_the_card_and_in_the_provenance(files, capsys):
    (files / "a.fr").write_text("oui\nOK\nun deux trois\nun\nun\n" + "phrase\n" * 55)
    (files / "a.en").write_text("yes\nok\none two three\none\none\n" + "".join(f"s{i}\n" for i in range(55)))
    words = ["--drop-identical", "--max-length", "2", "--drop-duplicates", "pair"]
    assert main(bitext(files, *words)) == 0
    error = capsys.readouterr().err
    for line in ("read  100.0%  60", "identical_sides 1 59", "too_long 1 58", "duplicate 1 57"):
        assert any(set(line.split()) <= set(re.split(r"[| ]+", row)) for row in error.split("\n")), line
    card = (files / "out" / "README.md").read_text()
    assert "| identical_sides | 1 | 59 |\n| too_long | 1 | 58 |\n| duplicate | 1 | 57 |" in card
    counts = json.loads((files / "out" / "provenance.json").read_text())["results"]["counts"]["train"]
    assert (counts["identical_sides"], counts["too_long"], counts["duplicate"], counts["rows"]) == (1, 1, 1, 57)


def test_held_out_sources_are_in_the_funnel_and_on_the_card_only_if_they_were_asked_for(files, capsys):
    (files / "a.fr").write_text("".join(f"phrase numéro {i // 2}\n" for i in range(60)))
    for name, flags in (("without", []), ("with", ["--hold-out-sources"])):
        assert main(bitext(files, "--test-size", "6", *flags, output=name)) == 0
        error, card = capsys.readouterr().err, (files / name / "README.md").read_text()
        record = json.loads((files / name / "provenance.json").read_text())
        count = record["results"]["counts"]["train"].get("held_out_source")
        in_funnel = re.search(r"^\W*held_out_source ", error, re.MULTILINE) is not None
        on_card = "Training rows whose fr sentence is in another split" in card
        assert (count is not None) == in_funnel == on_card == bool(flags)
        if flags:
            assert 0 < count <= 6 and f"| held_out_source | {count} | {54 - count} |" in card
            assert record["results"]["counts"]["train"]["rows"] == 54 - count


def test_all_skipped_lines_are_listed_with_file_and_line_and_the_folder_still_opens(files, tmp_path, capsys):
    (files / "a.tsv").write_bytes(b"a\tb\n" + b"no tab\n" * 30 + b"x\ty\tz\n\xff\tb\nlast\tone\n")
    assert main(bitext(files, "--tsv", str(files / "a.tsv"), "--on-error", "skip")) == 0
    listed = (files / "out" / "skipped_lines.tsv").read_text().splitlines()
    assert listed[0] == "file\tline\treason"
    assert sorted(int(line.split("\t")[1]) for line in listed[1:]) == list(range(2, 34))
    assert all(line.split("\t")[0] == str(files / "a.tsv") for line in listed[1:])
    assert capsys.readouterr().err.count("a.tsv:") == 10
    assert "skipped_lines.tsv" in (files / "out" / "README.md").read_text()
    assert len(load_dataset(str(files / "out"), split="train", cache_dir=str(tmp_path / "cache"))) == 2
    assert main(bitext(files, output="clean")) == 0
    assert not (files / "clean" / "skipped_lines.tsv").exists()


def test_a_translation_memory_becomes_a_folder(files, capsys):
    unit = "<tu><tuv xml:lang='{}'><seg>Oui.</seg></tuv><tuv xml:lang='en-GB'><seg>Yes.</seg></tuv></tu>"
    (files / "a.tmx").write_text(f"<tmx version='1.4'><body>{unit.format('fr-FR')}{unit.format('de')}</body></tmx>")
    words = ["prepare", "bitext", "--source-lang", "fr", "--target-lang", "en", "--tmx", str(files / "a.tmx")]
    assert main([*words, "--output", str(files / "out")]) == 0
    assert "train: 1 rows of 2 translation units (other_languages 1)" in capsys.readouterr().err
    assert DataFolder(files / "out").table().to_pylist() == [
        {"id": "fr-en-0000001", "source": "Oui.", "target": "Yes.", "source_lang": "fr", "target_lang": "en"}
    ]
    assert "Of 2 translation units read" in (files / "out" / "README.md").read_text()


def test_catalogues_of_an_installed_package_become_a_folder(files, monkeypatch, capsys):
    place = files / "packaged_words" / "locale" / "fr" / "LC_MESSAGES"
    place.mkdir(parents=True)
    (files / "packaged_words" / "__init__.py").touch()
    (place / "app.po").write_text('msgid "Yes"\nmsgstr "Oui"\n\nmsgid "%d cats"\nmsgstr "%d chats"\n')
    monkeypatch.syspath_prepend(files)
    words = ["prepare", "bitext", "--source-lang", "fr", "--target-lang", "en", "--gettext-package", "packaged_words"]
    assert main([*words, "--gettext-drop-placeholders", "--output", str(files / "out")]) == 0
    assert "train: 1 rows of 2 messages (placeholder 1)" in capsys.readouterr().err
    record = json.loads((files / "out" / "provenance.json").read_text())
    assert [item["name"] for item in record["inputs"]] == ["app.po"]
    assert "messages of packaged_words" in (files / "out" / "README.md").read_text()


def test_ngram_decontamination_is_told_in_card_and_provenance(files):
    (files / "eval.txt").write_text("this is sentence 7 of a longer text\nit says this is sentence 9 and no more\n")
    (files / "a.en").write_text("".join(f"it says this is sentence {i} and no more today\n" for i in range(60)))
    words = ["--decontaminate", str(files / "eval.txt"), "--decontaminate-ngrams", "5", "--decontaminate-share", "0.9"]
    assert main(bitext(files, *words)) == 0
    record = json.loads((files / "out" / "provenance.json").read_text())
    assert record["results"]["contamination"] == {"eval.txt (5-grams)": 1}
    card = (files / "out" / "README.md").read_text()
    assert "| eval.txt (5-grams) | 1 |" in card
    assert "at least 90 % of the 5-grams" in card


BAD_INPUT = {
    "two formats": ({"a.tmx": b"x"}, ("--tmx", "a.tmx"), ["give either --source-file"]),
    "catalogue of no English": ({}, ("--gettext", ".", "--target-lang", "de"), ["give either|are English"]),
    "too short n-grams": (
        {"e.txt": b"one two three four\n"},
        ("--decontaminate", "e.txt", "--decontaminate-ngrams", "2"),
        ["4 words or more"],
    ),
    "n-grams of nothing": ({}, ("--decontaminate-ngrams", "8"), ["is for --decontaminate"]),
    "unequal line counts": ({"a.fr": b"x\n" * 59}, (), ["a.fr:59", "59 lines, but .*a.en has 60", "aligned"]),
    "empty file": ({"a.en": b""}, (), ["a.en: the file is empty"]),
    "missing file": ({"a.en": None}, (), ["a.en: no such file", "check the path"]),
    "not UTF-8": ({"a.en": b"one\ntw\xf6\n" + b"x\n" * 58}, (), ["a.en:2: not UTF-8: byte 0xf6", "convert it"]),
    "no tab": ({"a.tsv": b"a\tb\nno tab\n"}, ("--tsv", "a.tsv"), ["a.tsv:2: no tab", "--columns"]),
    "too many fields": ({"a.tsv": b"a\tb\tc\n"}, ("--tsv", "a.tsv"), ["a.tsv:1: 3 fields where 2"]),
    "truncated gzip": (
        {"a.gz": gzip.compress(b"".join(b"%d\tx%d\n" % (i * i, i) for i in range(900)))[:-9]},
        ("--tsv", "a.gz"),
        ["a.gz:", "damaged or truncated"],
    ),
    "wrong language": ({}, ("--source-lang", "francais"), ["`francais` is not a language code"]),
    "wrong choice": ({}, ("--drop-duplicates", "all"), ["invalid choice"]),
    "wrong number": ({}, ("--test-size", "many"), ["invalid int value"]),
    "unknown flag": ({}, ("--frobnicate",), ["frobnicate"]),
    "held out too many": ({}, ("--test-size", "60"), ["60 rows are to be held out"]),
    "wrong licence": ({}, ("--license", "Creative Commons!"), ["--license"]),
    "nothing to check against": ({"e.txt": b"1.0\n"}, ("--decontaminate", "e.txt"), ["nothing to check against"]),
}


@pytest.mark.parametrize("case", BAD_INPUT)
def test_bad_input_is_one_line_with_the_place_and_harms_nothing(files, capsys, monkeypatch, case):
    contents, more, wordings = BAD_INPUT[case]
    monkeypatch.chdir(files)
    assert main(bitext(files)) == 0
    for name, content in contents.items():
        if content is None:
            (files / name).unlink()
        else:
            (files / name).write_bytes(content)
    before = snapshot(files)
    capsys.readouterr()
    fails(capsys, bitext(files, *more, "--overwrite"), *wordings)
    fails(capsys, bitext(files, *more, output="new"), *wordings)
    assert snapshot(files) == before
    assert not (files / "new").exists()
    assert not list(files.glob(".*"))


def test_a_filled_output_folder_is_refused_before_anything_is_read_and_replaced_when_allowed(files, capsys):
    (files / "out").mkdir()
    (files / "out" / "mine.txt").write_text("precious")
    (files / "out" / "provenance.json").write_text('{"command": "hf-paraphrase verb"}')
    fails(capsys, [*bitext(files), "--tsv", "absent.tsv"], "exists and is not empty", "--overwrite")
    assert (files / "out" / "mine.txt").read_text() == "precious"
    assert main(bitext(files, "--overwrite")) == 0
    assert DataFolder(files / "out").splits == ["train"]
    assert not (files / "out" / "mine.txt").exists()


def test_settings_come_from_a_configuration_file_too(files):
    (files / "c.yaml").write_text("test_size: 7\nshuffle: true\nsource_lang: de\n")
    assert main([*bitext(files)[:2], "--config", str(files / "c.yaml"), *bitext(files)[2:]]) == 0
    assert DataFolder(files / "out").table("test").num_rows == 7
    assert DataFolder(files / "out").table("test")["source_lang"][0].as_py() == "fr"


def test_pairs_become_a_folder_with_typed_columns_in_the_split_asked_for(files):
    (files / "p.tsv").write_text('A "man".\tA guy.\t4.5\tNA\nx\ty\t0\tb\n')
    words = ["prepare", "pairs", "--tsv", str(files / "p.tsv"), "--columns", "sentence1,sentence2,score,kind"]
    assert main([*words, "--split", "dev", "--output", str(files / "pairs")]) == 0
    rows = load_dataset(str(files / "pairs"), split="dev", streaming=True)
    assert list(rows) == [
        {"sentence1": 'A "man".', "sentence2": "A guy.", "score": 4.5, "kind": "NA"},
        {"sentence1": "x", "sentence2": "y", "score": 0.0, "kind": "b"},
    ]
    record = json.loads((files / "pairs" / "provenance.json").read_text())
    assert record["results"]["counts"]["dev"]["rows"] == 2


@pytest.mark.parametrize(
    ("content", "more", "wordings"),
    [
        ("a\tb\n", ("--split", "../up"), ["not a name for a split"]),
        ("a\tb\n", ("--columns", "a,b"), ["--columns `a,b`"]),
        ("a\tb\tx\n", ("--columns", "sentence1,sentence2,score"), ["p.tsv:1: score `x` is not a number"]),
        ("a\tb\n", ("--lang", "english"), ["not a language code"]),
        ("", (), ["the file is empty"]),
    ],
)
def test_bad_pairs_are_one_line_and_leave_nothing(files, capsys, content, more, wordings):
    (files / "p.tsv").write_text(content)
    fails(capsys, ["prepare", "pairs", "--tsv", str(files / "p.tsv"), "--output", str(files / "o"), *more], *wordings)
    assert not (files / "o").exists()
    assert not list(files.glob(".*"))


def test_pivot_takes_prepared_bitexts_and_drops_evaluation_sentences(files, capsys):
    (files / "b.tsv").write_text("Salut\tHi.\nSalut\tHello.\nBon\tI am in the test.\nBon\tI am not in it.\n")
    (files / "eval.txt").write_text("i am in the test\n")
    assert main(bitext(files, "--tsv", str(files / "b.tsv"), output="bitext")) == 0
    words = ["prepare", "pivot", "--bitext", str(files / "bitext"), "--output", str(files / "pivot")]
    assert main([*words, "--decontaminate", str(files / "eval.txt")]) == 0
    assert "train: 1 rows of 2 candidate pairs (contaminated 1)" in capsys.readouterr().err
    assert list(load_dataset(str(files / "pivot"), split="train", streaming=True)) == [
        {"sentence1": "Hi.", "sentence2": "Hello.", "source": "Salut", "source_lang": "fr", "num_pivots": 1}
    ]


def test_finnish_pairs_through_english_are_ranked_by_their_shared_translations(files):
    rows = ["Hi.\tMoi.", "Hi.\tTerve.", "Hello.\tHei.", "Hello.\tTerve!", "Morning.\tTerve.", "Morning.\tHei."]
    (files / "b.tsv").write_text("\n".join(rows) + "\n")
    words = ["--tsv", str(files / "b.tsv"), "--source-lang", "en", "--target-lang", "fi"]
    assert main(["prepare", "bitext", *words, "--output", str(files / "fi")]) == 0
    words = ["prepare", "pivot", "--bitext", str(files / "fi"), "--ranked", "--output", str(files / "pivot")]
    assert main(words) == 0
    rows = list(load_dataset(str(files / "pivot"), split="train", streaming=True))
    assert [(row["sentence1"], row["sentence2"], row["num_pivots"]) for row in rows] == [
        ("Hei.", "Terve!", 2), ("Moi.", "Terve.", 1)
    ]  # fmt: skip
    assert rows[0]["source_lang"] == "en"
    card = (files / "pivot" / "README.md").read_text()
    assert "- fi" in card and "`num_pivots`: how many sentences both are translations of" in card


def test_pivot_pairs_that_contain_an_evaluation_sentence_go_where_ngrams_are_compared(files, capsys):
    (files / "b.tsv").write_text("Bon\tWell, i am in the test set.\nBon\tI am not in it.\n")
    (files / "eval.txt").write_text("i am in the test\n")
    assert main(bitext(files, "--tsv", str(files / "b.tsv"), output="bitext")) == 0
    words = ["prepare", "pivot", "--bitext", str(files / "bitext"), "--decontaminate", str(files / "eval.txt")]
    assert main([*words, "--output", str(files / "pivot")]) == 0
    capsys.readouterr()
    fails(
        capsys, [*words, "--decontaminate-ngrams", "5", "--output", str(files / "none")], r"is left \(contaminated 1\)"
    )
    fails(capsys, [*words, "--decontaminate-ngrams", "1", "--output", str(files / "none")], "4 words or more")


def test_pivot_without_a_bitext_or_without_pairs_is_one_line(files, capsys):
    words = ["prepare", "pivot", "--output", str(files / "pivot"), "--bitext"]
    fails(capsys, [*words, str(files / "absent")], "no such data folder")
    assert main(bitext(files)) == 0
    capsys.readouterr()
    fails(capsys, [*words, str(files / "out")], "no two target sentences share")
    fails(capsys, [*words, str(files / "out"), str(files / "out")], "names a folder twice")
    fails(capsys, [*words, str(files / "out"), "--max-pairs-per-source", "-1"], "must be at least 0")
    assert not (files / "pivot").exists()


def test_kinds_are_listed_and_an_unknown_one_is_refused(capsys):
    assert main(["prepare", "--help"]) == 0
    listed = capsys.readouterr().out
    assert all(kind in listed for kind in ("bitext", "pairs", "pivot"))
    fails(capsys, ["prepare"], "no kind of raw data")
    fails(capsys, ["prepare", "cake"], "unknown kind `cake`")


def test_the_lists_of_kinds_are_made_without_importing_any():
    script = (
        "import re, sys\n"
        "from hf_paraphrase.commands import main\n"
        "assert main(['prepare', '--help']) == main(['analyze', '--help']) == 0\n"
        "rooms = r'hf_paraphrase\\.(data\\.sources|studies\\.\\w+)\\.'\n"
        "sources = {name for name in sys.modules if re.match(rooms, name)}\n"
        "heavy = {'torch', 'transformers', 'datasets', 'numpy', 'pyarrow'} & set(sys.modules)\n"
        "sys.stderr.write(repr(sorted(sources | heavy)))\n"
    )
    done = subprocess.run([sys.executable, "-c", script], capture_output=True, text=True, check=True)
    assert done.stderr == "[]" and all(f"  {kind} " in done.stdout for kind in ("bitext", "comparable", "gates"))


@pytest.mark.parametrize("kind", ["bitext", "pairs", "pivot"])
def test_help_explains_every_flag(kind, capsys):
    with pytest.raises(SystemExit) as caught:
        main(["prepare", kind, "--help"])
    assert caught.value.code == 0
    text = capsys.readouterr().out
    assert "--decontaminate" in text
    assert "--overwrite" in text
