"""The readers of the sources on what real files do wrong."""

from __future__ import annotations

import bz2
import json
from pathlib import Path

import pytest

from hf_paraphrase.data.sources.corpora import (
    PUBLISHED,
    MsrpSource,
    OpusparcusSource,
    PpdbSource,
    SimpwikiSource,
    TransferSource,
    TurkuSource,
    pairs_at_quality,
)
from hf_paraphrase.data.sources.graded import Pit2015Source, SickSource, StsBenchmarkSource, StsSource
from hf_paraphrase.data.sources.pairs import PairsSource
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.errors import InputError, UsageError


def rows(options, part=None):
    with SourceRows(options) as corpus:
        chosen = next(iter(corpus.parts)) if part is None else part
        return [row for table in corpus.tables(chosen) for row in table.to_pylist()], corpus


def write(folder, **files):
    folder.mkdir(parents=True, exist_ok=True)
    for name, content in files.items():
        (folder / name).write_bytes(content if isinstance(content, bytes) else content.encode())


def item(**values):
    return {"txt1": "a", "txt2": "b", "label": "4>i", "fold": 1, "goeswith": None, "rewrites": []} | values


def simpwiki(folder, normal, simple, **options):
    write(folder, n=normal, s=simple)
    return rows(SimpwikiSource(normal=str(folder / "n"), simple=str(folder / "s"), **options))


def turku(folder, items, part=None, **options):
    write(folder, **{"train.json": items if isinstance(items, str) else json.dumps(items, indent=1)})
    return rows(TurkuSource(data_dir=str(folder), **options), part)


def transfer(folder, **options):
    return rows(TransferSource(data_dir=str(folder), **options))


def test_simpwiki_keeps_titles_and_paragraphs_and_odd_characters(tmp_path):
    found, _ = simpwiki(tmp_path, 'A "B"\t0\tx\u2028y\x0c\rz\r\n', 'A "B"\t12\tNA\r\n')
    sides = {"id": "simpwiki-000001", "sentence1": "x\u2028y\x0c z", "sentence2": "NA"}
    assert found == [{**sides, "title": 'A "B"', "paragraph1": 0, "paragraph2": 12}]
    with pytest.raises(InputError, match=r"1 lines, but .* has 2"):
        simpwiki(tmp_path, "T\t0\ta\n", "T\t0\ta\n" * 2)
    with pytest.raises(UsageError, match="same file"):
        rows(SimpwikiSource(normal=str(tmp_path / "n"), simple=str(tmp_path / "n")))


PPDB = "[NN] ||| car ||| auto ||| PPDB2.0Score=5.25 AGigaSim=NA ||| 0-0 ||| ForwardEntailment\n"
PAIR = {"sentence1": "a", "sentence2": "b", "score": 0.5}
MSRP = "\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n"
KINDS = {
    "ppdb": (PpdbSource, {"file": ["n"]}, "n", PPDB),
    "simpwiki": (SimpwikiSource, {"normal": "normal", "simple": "s"}, "s", "T\t0\tb\n"),
    "msrp": (MsrpSource, {"data_dir": "."}, "msr_paraphrase_test.txt", "1\t1\t2\ta\tb\n"),
    "transfer": (TransferSource, {"data_dir": "."}, "TREC_10.label", "NUM:dist How far ?\n"),
    "opusparcus": (OpusparcusSource, {"data_dir": ".", "lang": "fr"}, "fr/dev/fr-dev.txt", "fr-D9\tx\ty\t2\n"),
    "turku": (TurkuSource, {"data_dir": "."}, "train.json", item()),
    "csv": (PairsSource, {"csv": "n", "columns": "sentence1,sentence2"}, "n", '"x\ny",b\n'),
    "jsonl": (PairsSource, {"jsonl": "n", "columns": "sentence1,sentence2,score"}, "n", json.dumps(PAIR) + "\n"),
    "tsv": (PairsSource, {"tsv": "n", "columns": "sentence1,sentence2,score,label"}, "n", "a\tb\t1\t0\n"),
}
HEADERS = {"msrp": MSRP, "csv": "sentence1,sentence2\n"}
"""Sources with their settings, one of their files and a good record."""


@pytest.mark.parametrize(
    ("kind", "bad", "message"),
    [
        ("ppdb", "[NP] ||| a ||| b\n", "3 fields where 5 or 6"),
        ("ppdb", f"{PPDB.strip()} ||| x\n", "7 fields where 5 or 6"),
        ("simpwiki", "T\tx\tb\n", "paragraph2 `x`"),
        ("simpwiki", "U\t0\tb\n", "`U`, but `T`"),
        ("msrp", "2\t1\t2\ta\tb\n", "label `2` is not a whole number from 0 to 1"),
        ("transfer", "FOO:bar a b\n", "not a question with its type"),
        ("opusparcus", "en-D1\ta\tb\t1\n", "id `en-D1` is not of the form fr-D12"),
        ("opusparcus", "fr-D1\ta\tb\tnan\n", "score `nan` is not a number from 1 to 4"),
        ("turku", item(txt1=None), "sentence1 `None` is not of the form text"),
        ("turku", item(fold="one"), "fold `one` is not a whole number"),
        ("turku", item(txt2="\ud800"), "surrogate"),
        ("turku", 1, "not a JSON object"),
        ("csv", "a\n", "1 field where the header has 2"),
        ("csv", '"a"b,c\n', "',' expected after"),
        ("jsonl", json.dumps(PAIR | {"sentence1": 1}) + "\n", "`sentence1` is not text"),
        ("jsonl", json.dumps(PAIR | {"score": [1]}) + "\n", r"score `\[1\]` is not a number"),
        ("jsonl", json.dumps(PAIR | {"score": float("nan")}) + "\n", "score `nan` is not a number"),
        ("jsonl", json.dumps(PAIR | {"sentence1": "\ud800"}) + "\n", "surrogate"),
        ("jsonl", "[]\n", r"something other than.*\(give one object per line"),
        ("tsv", "a\tb\t1,5\t1\n", "score `1,5` is not a number"),
        ("tsv", "a\tb\tinf\t1\n", "score `inf` is not a number"),
        ("tsv", "a\tb\t1\t1.5\n", "label `1.5` is not a label"),
        ("tsv", f"a\tb\t1\t{'9' * 30}\n", "label `9+` is not a label"),
    ],
)
def test_a_malformed_record_is_named_or_skipped_alone(tmp_path, monkeypatch, kind, bad, message):
    source, settings, file, good = KINDS[kind]
    monkeypatch.chdir(tmp_path)
    header, records = HEADERS.get(kind, ""), [good, bad, good]
    content = json.dumps(records) if kind == "turku" else "".join([header, *records])
    line = 2 if kind == "turku" else f"{header}{good}".count("\n") + 1
    write(tmp_path, normal="T\t0\ta\n" * 3)
    write((tmp_path / file).parent, **{Path(file).name: content})
    with pytest.raises(InputError, match=message) as caught:
        rows(source(**settings))
    assert caught.value.line == line and str(caught.value.path) == file
    found, corpus = rows(source(**settings, on_error="skip"))
    assert len(found) == 2 and next(iter(corpus.counts.values()))["malformed"] == 1


def test_rules_of_both_versions_of_ppdb_keep_their_fields(tmp_path):
    write(tmp_path, two=PPDB, one="[NP] ||| a ||| b c ||| Abstract=0 AGigaSim=0.5 ||| 0-0 1-1\n")
    (new, old), _ = rows(PpdbSource(file=[str(tmp_path / "two"), str(tmp_path / "one")]))
    fields = {"lhs": "[NN]", "features": "PPDB2.0Score=5.25 AGigaSim=NA", "alignment": "0-0"}
    assert new == {"sentence1": "car", "sentence2": "auto", **fields, "entailment": "ForwardEntailment"}
    assert (old["sentence2"], old["entailment"]) == ("b c", None)


def test_turku_grades_become_scores_ungraded_pairs_go_and_rewrites_are_pairs_of_their_own(tmp_path):
    items = [
        item(rewrites=[["x", "y"], ["v", "w"]], goeswith="doc"),
        item(label="2", **{"lex-similarity": "0.25"}),
        item(label="x"),
    ]
    found, corpus = turku(tmp_path, items)
    values = [(row["grade"], row["score"], row["lexical_similarity"]) for row in found]
    assert values == [("4>i", 4.0, None), ("2", 2.0, 0.25)] and corpus.counts["train"]["no_grade"] == 1
    found, _ = turku(tmp_path, items, "rewrites.train", rewrites=True)
    assert [tuple(row.values()) for row in found] == [("x", "y", 1, "doc"), ("v", "w", 1, "doc")]
    for rewrites in ([["x"]], 5):
        with pytest.raises(InputError, match="item 2: rewrites are not pairs"):
            turku(tmp_path, [item(), item(rewrites=rewrites)], "rewrites.train", rewrites=True)


def test_json_that_is_no_list_of_objects_is_refused(tmp_path):
    for text, message in (("{}", "is not of the form"), ("[\n{},\n{]", "not a JSON list")):
        with pytest.raises(InputError, match=message):
            turku(tmp_path, text)


def test_msrp_is_read_without_quoting_after_its_header(tmp_path):
    write(tmp_path, **{"MSR_paraphrase_test.txt": f'{MSRP}1\t10\t20\t"open\tshut"\r\n0\t3\t4\ta\tb\r\n'})
    found, corpus = rows(MsrpSource(data_dir=str(tmp_path)))
    assert found[0] == {"sentence1": '"open', "sentence2": 'shut"', "label": 1, "id1": "10", "id2": "20"}
    assert list(corpus.parts) == ["test"]


def test_a_file_that_is_there_twice_or_not_at_all_is_refused(tmp_path):
    with pytest.raises(InputError, match="contains no file of this set"):
        rows(MsrpSource(data_dir=str(tmp_path)))
    for folder in (tmp_path, tmp_path / "copy"):
        write(folder, **{"msr_paraphrase_test.txt": "h\n"})
    with pytest.raises(InputError, match="occurs twice"):
        rows(MsrpSource(data_dir=str(tmp_path)))
    with pytest.raises(InputError, match="no such folder"):
        rows(MsrpSource(data_dir=str(tmp_path / "none")))


def test_blank_lines_of_the_transfer_sets_count_and_a_set_is_whole_and_not_in_latin_1(tmp_path):
    write(tmp_path, **{"custrev.neg": "bad\n \n", "custrev.pos": "good\n"})
    assert [(row["text"], row["label"]) for row in transfer(tmp_path)[0]] == [("bad", 0), (" ", 0), ("good", 1)]
    (tmp_path / "custrev.pos").unlink()
    with pytest.raises(InputError, match=r"custrev\.pos is missing"):
        transfer(tmp_path)
    write(tmp_path / "mpqa", **{"mpqa.neg": b"caf\xe9\n", "mpqa.pos": b"a\n"})
    with pytest.raises(InputError, match="not UTF-8"):
        transfer(tmp_path / "mpqa")


def test_blank_gold_lines_are_unscored_and_malformed_ones_skipped_when_asked(tmp_path):
    sets = {"STS.input.MSRpar.txt": "a\tb\nc\td\ne\nf\tg\nh\ti\n", "STS.gs.MSRpar.txt": "1\n\n2\nnan\n5\n"}
    write(tmp_path / "STS12-en-test", **sets)
    with pytest.raises(InputError, match=r"MSRpar.txt:3: no tab where 2 to"):
        rows(StsSource(data_dir=str(tmp_path)))
    found, corpus = rows(StsSource(data_dir=str(tmp_path), on_error="skip"))
    assert [(row["sentence1"], row["score"], row["benchmark"]) for row in found] == [
        ("a", 1.0, "STS12"), ("h", 5.0, "STS12")
    ]  # fmt: skip
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
    sick = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\n1\ta\tb\t2\n"
    write(tmp_path, **{"sts-dev.csv": "g\tf\ty\t1\t3\ta\tb\n", "SICK_trial.txt": sick})
    write(tmp_path, **{"dev.data": "1\tT\ta\tb\t(1, 4)\tx\ty\n"})
    for source in (StsBenchmarkSource, SickSource, Pit2015Source):
        options = source(data_dir=str(tmp_path))
        found, corpus = rows(options)
        assert len(found) == 1 and list(corpus.parts) == ["validation"]
    with pytest.raises(InputError, match="no file of SemEval STS"):
        rows(StsSource(data_dir=str(tmp_path)))


# ----- Opusparcus

DEV = 'fr-D1\tQuoi ?\tComment "ça ?\t2.5\nfr-D2\tNon .\tOui .\t1.0\nfr-D7\tNA\tnull\t3.5\n'


def train_line(number):
    return f"fr-N{number}\tphrase {number} .\tparole {number} .\t{60 - number}.5\t{number}e-1\t{1 + number % 5}\t3\n"


@pytest.fixture
def distribution(tmp_path):
    for part in ("train", "dev", "test"):
        (tmp_path / "raw" / "fr" / part).mkdir(parents=True)
    lines = "".join(map(train_line, range(1, 21)))
    (tmp_path / "raw/fr/train/fr-train.txt.bz2").write_bytes(bz2.compress(lines.encode()))
    (tmp_path / "raw/fr/dev/fr-dev.txt").write_text(DEV)
    (tmp_path / "raw/fr/test/fr-test.txt").write_text(DEV.replace("-D", "-T"))
    return tmp_path / "raw"


def opusparcus(folder, part="train", **options):
    return rows(OpusparcusSource(data_dir=str(folder), lang="fr", **options), part)


def test_training_pairs_that_are_judged_too_are_left_out_however_short_and_whichever_way(distribution):
    with bz2.open(distribution / "fr/train/fr-train.txt.bz2", "at") as file:
        file.write("fr-N21\tOui .\tNon .\t1.5\t1e-1\t1\t3\nfr-N22\tNon .\tSi .\t1.5\t1e-1\t1\t3\n")
    found, corpus = opusparcus(distribution)
    assert [row["id"] for row in found[19:]] == ["fr-N20", "fr-N22"]
    assert corpus.counts["train"]["evaluation_pair"] == 1 and corpus.counts["train"]["lines"] == 22
    assert len(opusparcus(distribution, part="validation")[0]) == 3


def test_training_pairs_keep_their_order_and_all_seven_fields(distribution):
    found, _ = opusparcus(distribution)
    assert list(found[1].values()) == ["fr-N2", "phrase 2 .", "parole 2 .", "fr", 58.5, 0.2, 3, 3.0, None, None]
    assert [row["id"] for row in found] == [f"fr-N{number}" for number in range(1, 21)]
    # A plain file is taken before its compressed copy.
    (distribution / "fr/train/fr-train.txt").write_text(train_line(1))
    assert [row["id"] for row in opusparcus(distribution)[0]] == ["fr-N1"]


def test_annotated_pairs_keep_every_score_and_the_undecided_ones_have_no_label(distribution):
    found, _ = opusparcus(distribution, "validation")
    assert [(row["score"], row["label"]) for row in found] == [(2.5, None), (1.0, 0), (3.5, 1)]
    assert found[0]["sentence2"] == 'Comment "ça ?'
    labelled, corpus = opusparcus(distribution, "labelled.test")
    assert [(row["id"], row["score"], row["label"]) for row in labelled] == [("fr-T2", 1.0, 0), ("fr-T7", 3.5, 1)]
    assert corpus.counts["labelled.test"]["undecided"] == 1


def test_a_quality_takes_the_best_pairs(distribution, monkeypatch):
    # The published figures go far beyond this small file.
    assert len(opusparcus(distribution, quality=80)[0]) == 20 and pairs_at_quality("fi", 80) == PUBLISHED["fi"][80]
    monkeypatch.setitem(PUBLISHED["fr"], 90, 4)
    assert len(opusparcus(distribution, quality=90)[0]) == 4
    with pytest.raises(UsageError, match="known values are 95, 90, 80, 70, 60"):
        pairs_at_quality("fr", 75)
