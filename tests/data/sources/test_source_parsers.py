"""The readers of SimpWiki, Turku, MSRP, the transfer sets and BUCC on what real files do wrong."""

from __future__ import annotations

import json

import pytest
from hypothesis import HealthCheck, settings

from hf_paraphrase.data.sources.bucc import BuccSource
from hf_paraphrase.data.sources.builder import SourceBuilder
from hf_paraphrase.data.sources.graded import (
    Pit2015Source,
    SickSource,
    StsBenchmarkSource,
    StsSource,
)
from hf_paraphrase.data.sources.msrp import MsrpSource
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.data.sources.simpwiki import SimpwikiSource
from hf_paraphrase.data.sources.transfer import TransferSource
from hf_paraphrase.data.sources.turku import TurkuSource
from hf_paraphrase.errors import InputError, UsageError

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])


def rows(options, part=None):
    with SourceRows(options) as corpus:
        chosen = next(iter(corpus.parts)) if part is None else part
        return [row for table in corpus.tables(chosen) for row in table.to_pylist()], corpus


def write(folder, **files):
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


# --- SimpWiki


def simpwiki(folder, normal, simple, **options):
    write(folder, n=normal, s=simple)
    return rows(SimpwikiSource(normal=str(folder / "n"), simple=str(folder / "s"), **options))


def test_simpwiki_keeps_titles_and_paragraphs_and_odd_characters(tmp_path):
    found, _ = simpwiki(tmp_path, 'A "B"\t0\tx\u2028y\x0c\rz\r\n', 'A "B"\t12\tNA\r\n')
    assert found == [
        {
            "id": "simpwiki-000001",
            "sentence1": "x\u2028y\x0c z",
            "sentence2": "NA",
            "title": 'A "B"',
            "paragraph1": 0,
            "paragraph2": 12,
        }
    ]


@pytest.mark.parametrize(
    ("normal", "simple", "message", "file"),
    [
        ("T\t0", "T\t0\tb", "2 tab-separated fields where 3", "n"),
        ("T\t0\ta", "T\t0\tb\tc", "4 tab-separated fields where 3", "s"),
        ("T\tx\ta", "T\t0\tb", "paragraph `x` is not", "n"),
        ("T\t0\ta", "U\t0\tb", "title `U`, but `T`", "s"),
    ],
)
def test_simpwiki_lines_that_do_not_fit_are_named_or_skipped_alone(tmp_path, normal, simple, message, file):
    good = "T\t0\tgood\n"
    with pytest.raises(InputError, match=message) as caught:
        simpwiki(tmp_path, f"{good}{normal}\n{good}", f"{good}{simple}\n{good}")
    assert (caught.value.path, caught.value.line) == (str(tmp_path / file), 2)
    found, corpus = simpwiki(tmp_path, f"{good}{normal}\n{good}", f"{good}{simple}\n{good}", on_error="skip")
    assert [row["id"] for row in found] == ["simpwiki-000001", "simpwiki-000003"]
    assert corpus.counts["train"]["malformed"] == 1


def test_simpwiki_takes_plain_sentences_and_drops_equal_ones(tmp_path):
    found, corpus = simpwiki(tmp_path, "a\nb\n", "a\nc\n", drop_identical=True)
    assert [(row["sentence1"], row["sentence2"]) for row in found] == [("b", "c")]
    assert corpus.counts["train"]["identical"] == 1
    with pytest.raises(InputError, match=r"2 lines, but .* has 3"):
        simpwiki(tmp_path, "a\nb\n", "a\nc\nd\n")
    with pytest.raises(UsageError, match="same file"):
        rows(SimpwikiSource(normal=str(tmp_path / "n"), simple=str(tmp_path / "n")))


# --- Turku


def item(**values):
    return {"txt1": "a", "txt2": "b", "label": "4>i", "fold": 1, "goeswith": None, "rewrites": []} | values


def turku(folder, items, part=None, **options):
    content = items if isinstance(items, str) else json.dumps(items, indent=1)
    (folder / "train.json").write_text(content)
    return rows(TurkuSource(data_dir=str(folder), **options), part)


def test_turku_grades_become_scores_and_ungraded_pairs_go(tmp_path):
    found, corpus = turku(tmp_path, [item(), item(label="2", **{"lex-similarity": "0.25"}), item(label="x")])
    assert [(row["grade"], row["score"], row["lexical_similarity"]) for row in found] == [
        ("4>i", 4.0, None),
        ("2", 2.0, 0.25),
    ]
    assert corpus.counts["train"]["no_grade"] == 1


def test_turku_rewrites_are_pairs_of_their_own(tmp_path):
    items = [item(rewrites=[["x", "y"], ["v", "w"]], goeswith="doc"), item()]
    found, _ = turku(tmp_path, items, "rewrites.train", rewrites=True)
    assert [(row["sentence1"], row["sentence2"], row["document"]) for row in found] == [
        ("x", "y", "doc"),
        ("v", "w", "doc"),
    ]
    with pytest.raises(InputError, match="rewrites are not pairs") as caught:
        turku(tmp_path, [item(), item(rewrites=[["x"]])], "rewrites.train", rewrites=True)
    assert caught.value.line == 2
    with pytest.raises(InputError, match="rewrites are not pairs"):
        turku(tmp_path, [item(rewrites=5)], "rewrites.train", rewrites=True)


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        ({"txt1": None}, "sentence1 `None` is not of the form text"),
        ({"txt1": 3}, "sentence1 is not a text"),
        ({"label": "5"}, "grade `5` is not of the form"),
        ({"fold": "one"}, "fold `one` is not a whole number"),
        ({"lex-similarity": "nan"}, "lexical_similarity `nan`"),
        ({"goeswith": []}, "document is a list"),
        ({"txt2": "\ud800"}, "surrogate"),
    ],
)
def test_turku_items_that_do_not_fit_are_named_by_line_or_skipped_alone(tmp_path, bad, message):
    items = [item(), item(**bad), item()]
    with pytest.raises(InputError, match=message) as caught:
        turku(tmp_path, items)
    assert caught.value.line == 2
    assert len(turku(tmp_path, items, on_error="skip")[0]) == 2


@pytest.mark.parametrize(
    ("text", "message"),
    [("", "empty"), ("{}", "not a JSON list"), ("[\n{},\n{]", "not JSON"), ("[1]", "not an object")],
)
def test_json_that_is_no_list_of_objects_is_refused(tmp_path, text, message):
    with pytest.raises(InputError, match=message):
        turku(tmp_path, text)


# --- MSRP


def test_msrp_is_read_without_quoting_after_its_header(tmp_path):
    header = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
    write(tmp_path, **{"MSR_paraphrase_test.txt": f'{header}1\t10\t20\t"open\tshut"\r\n0\t3\t4\ta\tb\r\n'})
    found, corpus = rows(MsrpSource(data_dir=str(tmp_path)))
    assert found[0] == {"sentence1": '"open', "sentence2": 'shut"', "label": 1, "id1": "10", "id2": "20"}
    assert corpus.source.missing() == ["msr_paraphrase_train.txt"]
    write(tmp_path, **{"MSR_paraphrase_test.txt": f"{header}2\t10\t20\ta\tb\n"})
    with pytest.raises(InputError, match="label `2` is not a whole number from 0 to 1") as caught:
        rows(MsrpSource(data_dir=str(tmp_path)))
    assert caught.value.line == 2


def test_a_file_that_is_there_twice_or_not_at_all_is_refused(tmp_path):
    (tmp_path / "copy").mkdir()
    with pytest.raises(InputError, match="none of the files"):
        rows(MsrpSource(data_dir=str(tmp_path)))
    write(tmp_path, **{"msr_paraphrase_test.txt": "h\n"})
    write(tmp_path / "copy", **{"msr_paraphrase_test.txt": "h\n"})
    with pytest.raises(InputError, match="occurs twice"):
        rows(MsrpSource(data_dir=str(tmp_path)))
    with pytest.raises(InputError, match="no such folder"):
        rows(MsrpSource(data_dir=str(tmp_path / "none")))
    with pytest.raises(UsageError, match="--data-dir"):
        SourceBuilder("msrp", cache_dir=str(tmp_path / "cache"))


# --- transfer sets


def test_blank_lines_of_the_transfer_sets_count_and_a_lone_class_is_refused(tmp_path):
    write(tmp_path, **{"custrev.neg": "bad\n \n", "custrev.pos": "good\n"})
    found, _ = rows(TransferSource(data_dir=str(tmp_path)))
    assert [(row["text"], row["label"]) for row in found] == [("bad", 0), (" ", 0), ("good", 1)]
    (tmp_path / "custrev.pos").unlink()
    with pytest.raises(InputError, match=r"custrev\.pos is not there"):
        rows(TransferSource(data_dir=str(tmp_path)))


@pytest.mark.parametrize("line", ["what is this", "NUM:dist", "FOO:bar a b", "num:dist a"])
def test_questions_without_a_type_are_named_or_skipped_alone(tmp_path, line):
    write(tmp_path, **{"TREC_10.label": f"NUM:dist How far ?\n{line}\nHUM:ind Who ?\n"})
    with pytest.raises(InputError, match="not a question with its type") as caught:
        rows(TransferSource(data_dir=str(tmp_path)))
    assert caught.value.line == 2
    assert len(rows(TransferSource(data_dir=str(tmp_path), on_error="skip"))[0]) == 2


def test_a_set_that_is_not_utf8_is_refused_except_for_trec(tmp_path):
    write(tmp_path, **{"mpqa.neg": b"caf\xe9\n", "mpqa.pos": b"a\n"})
    with pytest.raises(InputError, match="not UTF-8"):
        rows(TransferSource(data_dir=str(tmp_path)))
    (tmp_path / "mpqa.neg").unlink()
    (tmp_path / "mpqa.pos").unlink()
    write(tmp_path, **{"train_5500.label": b"LOC:other Where is a caf\xe9 ?\n"})
    assert rows(TransferSource(data_dir=str(tmp_path)))[0][0]["text"] == "Where is a café ?"


# --- BUCC


def bucc(folder, gold, part=None, foreign="de-000000001\teins\nde-000000002\tzwei\tdrei\n", **options):
    write(folder, **{"de-en.sample.de": foreign, "de-en.sample.en": "en-000000009\tone\n", "de-en.sample.gold": gold})
    return rows(BuccSource(data_dir=str(folder), lang="de", **options), part)


def test_bucc_gold_pairs_carry_their_texts(tmp_path):
    found, corpus = bucc(tmp_path, "de-000000001\ten-000000009\n")
    assert found == [
        {
            "id": "de-000000001 en-000000009",
            "source": "eins",
            "target": "one",
            "source_lang": "de",
            "target_lang": "en",
            "source_id": "de-000000001",
            "target_id": "en-000000009",
        }
    ]
    assert "de-en.training.gold" in corpus.source.missing()
    assert [row["text"] for row in rows(corpus.source, "foreign.sample")[0]] == ["eins", "zwei\tdrei"]


@pytest.mark.parametrize(
    ("gold", "message"),
    [
        ("de-000000007\ten-000000009", "`de-000000007` is not in de-en.sample.de"),
        ("en-000000009\tde-000000001", "source_id `en-000000009` is not of the form"),
        ("de-1\ten-000000009", "source_id `de-1` is not"),
        ("de-000000001", "no tab"),
    ],
)
def test_bucc_alignments_that_do_not_fit_are_named_or_skipped_alone(tmp_path, gold, message):
    good = "de-000000001\ten-000000009\n"
    with pytest.raises(InputError, match=message) as caught:
        bucc(tmp_path, f"{good}{gold}\n{good}")
    assert caught.value.line == 2
    assert len(bucc(tmp_path, f"{good}{gold}\n{good}", on_error="skip")[0]) == 2


# --- graded sets


def test_blank_gold_lines_are_unscored_and_malformed_ones_skipped_when_asked(tmp_path):
    folder = tmp_path / "STS12-en-test"
    folder.mkdir()
    write(
        folder,
        **{"STS.input.MSRpar.txt": "a\tb\nc\td\ne\nf\tg\nh\ti\n", "STS.gs.MSRpar.txt": "1\n\n2\nnan\n5\n"},
    )
    options = StsSource(data_dir=str(tmp_path))
    with pytest.raises(InputError, match="1 tab-separated field"):
        rows(options)
    found, corpus = rows(StsSource(data_dir=str(tmp_path), on_error="skip"))
    assert [(row["sentence1"], row["score"]) for row in found] == [("a", 1.0), ("h", 5.0)]
    assert {row["benchmark"] for row in found} == {"STS12"}
    counts = corpus.counts["STS12"]
    assert (counts["unscored"], counts["malformed"], counts["lines"]) == (1, 2, 5)


def test_pit_labels_follow_the_votes_and_the_expert(tmp_path):
    line = "1\tT\ta{0}\tb\t({0}, {1})\tx\ty\n"
    write(tmp_path, **{"dev.data": "".join(line.format(yes, 5 - yes) for yes in range(6))})
    found, _ = rows(Pit2015Source(data_dir=str(tmp_path)))
    assert [row["label"] for row in found] == [0, 0, None, 1, 1, 1]
    write(tmp_path, **{"test.data": "1\tT\ta\tb\t3\tx\ty\n", "test.label": "----\t0.6000\n"})
    found, _ = rows(Pit2015Source(data_dir=str(tmp_path)), "test")
    assert (found[0]["label"], found[0]["score"], found[0]["judgement"]) == (None, 0.6, "3")
    write(tmp_path, **{"test.label": "maybe\t0.6000\n"})
    with pytest.raises(InputError, match="label `maybe` is not of the form true, false or ----"):
        rows(Pit2015Source(data_dir=str(tmp_path)), "test")


def test_each_graded_source_takes_its_own_files_only(tmp_path):
    write(
        tmp_path,
        **{
            "sts-dev.csv": "g\tf\ty\t1\t3\ta\tb\n",
            "SICK_trial.txt": "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n1\ta\tb\t2\n",
            "dev.data": "1\tT\ta\tb\t(1, 4)\tx\ty\n",
        },
    )
    for options_class in (StsBenchmarkSource, SickSource, Pit2015Source):
        options = options_class(data_dir=str(tmp_path))
        found, corpus = rows(options)
        assert len(found) == 1
        assert list(corpus.parts) == ["validation"]
        assert options.missing() == ["train", "test"]
    with pytest.raises(InputError, match="no file of SemEval STS"):
        rows(StsSource(data_dir=str(tmp_path)))
