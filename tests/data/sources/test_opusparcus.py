from __future__ import annotations

import bz2

import pytest

from hf_paraphrase.data.sources.opusparcus import PUBLISHED, OpusparcusSource, pairs_at_quality
from hf_paraphrase.data.sources.rows import SourceRows
from hf_paraphrase.errors import UsageError

DEV = 'fr-D1\tQuoi ?\tComment "ça ?\t2.5\nfr-D2\tNon .\tOui .\t1.0\nfr-D7\tNA\tnull\t3.5\n'


def train_line(number, lang="fr"):
    return (
        f"{lang}-N{number}\tphrase {number} .\tparole {number} .\t{60 - number}.5\t{number}e-1\t{1 + number % 5}\t3\n"
    )


@pytest.fixture
def distribution(tmp_path):
    for part in ("train", "dev", "test"):
        (tmp_path / "raw" / "fr" / part).mkdir(parents=True)
    lines = "".join(map(train_line, range(1, 21)))
    (tmp_path / "raw/fr/train/fr-train.txt.bz2").write_bytes(bz2.compress(lines.encode()))
    (tmp_path / "raw/fr/dev/fr-dev.txt").write_text(DEV)
    (tmp_path / "raw/fr/test/fr-test.txt").write_text(DEV.replace("-D", "-T"))
    return tmp_path / "raw"


def rows(folder, part="train", lang="fr", **options):
    with SourceRows(OpusparcusSource(data_dir=str(folder), lang=lang, **options)) as corpus:
        return [row for table in corpus.tables(part) for row in table.to_pylist()], corpus


def test_training_pairs_that_are_judged_too_are_left_out_however_short_and_whichever_way(distribution):
    with bz2.open(distribution / "fr/train/fr-train.txt.bz2", "at") as file:
        file.write("fr-N21\tOui .\tNon .\t1.5\t1e-1\t1\t3\nfr-N22\tNon .\tSi .\t1.5\t1e-1\t1\t3\n")
    found, corpus = rows(distribution)
    assert [row["id"] for row in found[19:]] == ["fr-N20", "fr-N22"]
    assert corpus.counts["train"]["evaluation_pair"] == 1 and corpus.counts["train"]["lines"] == 22
    assert len(rows(distribution, part="validation")[0]) == 3


def test_training_pairs_keep_their_order_and_all_seven_fields(distribution):
    found, _ = rows(distribution)
    assert list(found[1].values()) == ["fr-N2", "phrase 2 .", "parole 2 .", "fr", 58.5, 0.2, 3, 3.0, None, None]
    assert [row["id"] for row in found] == [f"fr-N{number}" for number in range(1, 21)]
    # A plain file is taken before its compressed copy.
    (distribution / "fr/train/fr-train.txt").write_text(train_line(1))
    assert [row["id"] for row in rows(distribution)[0]] == ["fr-N1"]


def test_annotated_pairs_keep_every_score_and_the_undecided_ones_have_no_label(distribution):
    found, _ = rows(distribution, "validation")
    assert [(row["score"], row["label"]) for row in found] == [(2.5, None), (1.0, 0), (3.5, 1)]
    assert found[0]["sentence2"] == 'Comment "ça ?'
    labelled, corpus = rows(distribution, "labelled.test")
    assert [(row["id"], row["score"], row["label"]) for row in labelled] == [("fr-T2", 1.0, 0), ("fr-T7", 3.5, 1)]
    assert corpus.counts["labelled.test"]["undecided"] == 1


def test_a_quality_takes_the_best_pairs(distribution, monkeypatch):
    # The published figures go far beyond this small file.
    assert len(rows(distribution, quality=80)[0]) == 20 and pairs_at_quality("fi", 80) == PUBLISHED["fi"][80]
    monkeypatch.setitem(PUBLISHED["fr"], 90, 4)
    assert len(rows(distribution, quality=90)[0]) == 4
    with pytest.raises(UsageError, match="known are 95, 90, 80, 70, 60"):
        pairs_at_quality("fr", 75)
