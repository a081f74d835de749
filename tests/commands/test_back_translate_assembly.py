from __future__ import annotations

import json
import weakref

import pytest
from tqdm import tqdm

from hf_paraphrase.commands import main
from hf_paraphrase.data import folder
from hf_paraphrase.jobs import sharded_output, shards
from hf_paraphrase.translation import back_translation

SMALL = ["--num-beams", "3", "--num-return-sequences", "1", "--shard-size", "1", "--precision", "fp32"]


def job(model, bitext, output, *words):
    return main(
        ["back-translate", "--model", str(model), "--bitext", str(bitext), "--output", str(output), *SMALL, *words]
    )


def test_the_card_reads_as_many_pairs_of_a_long_job_as_of_a_short_one(tiny_model, tiny_bitext, tmp_path, monkeypatch):
    read = []
    batches_of = folder.batches_of

    def counted(file, path, **options):
        for batch in batches_of(file, path, **options):
            if ".out.partial" in path.parts:
                read.append(batch.num_rows)
            yield batch

    monkeypatch.setattr(folder, "batches_of", counted)
    assert job(tiny_model, tiny_bitext, tmp_path / "out", "--max-sentences", "30") == 0
    assert 0 < sum(read) <= 5
    card = (tmp_path / "out" / "README.md").read_text()
    assert card.partition("| reference | translation |")[2].partition("## ")[0].count("\n|") == 1 + 5


def test_reports_are_merged_one_at_a_time_and_only_the_first_thousand_sentences_are_kept():
    class Report(dict):
        pass

    alive = weakref.WeakValueDictionary()
    most = []

    def reports():
        for index in range(600):
            skipped = [{"id": f"{index}-{place}", "reason": "empty source"} for place in range(3)]
            alive[index] = report = Report(sentences=5, pairs=2, skipped=skipped)
            most.append(len(alive))
            yield report

    results = {"sentences": 0, "pairs": 0, "skipped_sentences": 0, "skipped": []}
    lines = 0
    for line in back_translation._skipped_lines(reports(), results):
        lines += json.loads(line)["reason"] == "empty source"
    assert lines == 1_800 and max(most) <= 2
    assert (results["sentences"], results["pairs"], results["skipped_sentences"]) == (3_000, 1_200, 1_800)
    assert [entry["id"] for entry in results["skipped"]] == [f"{n // 3}-{n % 3}" for n in range(1_000)]


def test_the_bar_of_a_job_that_is_continued_begins_at_what_is_done(tiny_model, tiny_bitext, tmp_path, monkeypatch):
    class Killed(BaseException):
        pass

    write = shards.write_shard

    def killed(job, shard, *arguments):
        if shard.index == 2:
            raise Killed
        write(job, shard, *arguments)

    with monkeypatch.context() as context:
        context.setattr(shards, "write_shard", killed)
        with pytest.raises(Killed):
            job(tiny_model, tiny_bitext, tmp_path / "out", "--max-sentences", "5")
    bars = []

    def bar(**settings):
        bars.append((tqdm(**settings), settings))
        return bars[-1][0]

    monkeypatch.setattr(sharded_output, "tqdm", bar)
    assert job(tiny_model, tiny_bitext, tmp_path / "out", "--max-sentences", "5", "--resume") == 0
    ((shown, settings),) = bars
    assert (settings["initial"], settings["total"], shown.n) == (2, 5, 5)


def test_a_job_of_more_shards_than_names_is_refused_before_anything_is_written(
    tiny_model, tiny_bitext, tmp_path, monkeypatch, capsys
):
    monkeypatch.setattr(folder.DataFolder, "count", lambda *words: 300_000)
    assert job(tiny_model, tiny_bitext, tmp_path / "out") == 2
    err = capsys.readouterr().err
    assert "300,000 shards" in err and "(--shard-size 4 or more)" in err and err.count("\n") == 1
    assert list(tmp_path.iterdir()) == []
