from __future__ import annotations

import gzip
import json
import shutil

import numpy as np
import pyarrow as pa
import pytest
from study_runs import StudyRuns, parsed

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.filtering.tuning.grids import filter_ranges

VERBS = ["train-classifier", "score", "filter"]


@pytest.fixture
def run(tmp_path):
    (tmp_path / "glove.txt").touch()
    (tmp_path / "data/text").mkdir(parents=True)
    (tmp_path / "data/text/news.txt.gz").write_bytes(gzip.compress(b"some news .\n"))
    study = StudyRuns(tmp_path, "studies/filters.sh", python=True)

    def again(**environment):
        done, calls = study(**{"LANGUAGES": "fr de", "GLOVE": "glove.txt", **environment})
        return done, [words for words in calls if words[0] in (*VERBS, "tune", "back-translate", "analyze")]

    return again


def test_every_sentence_is_translated_and_every_call_is_one_that_its_command_understands(run):
    # The stand-in makes folders without tables, at which the script ends when it prints them.
    _, calls = run()
    found: dict[str, list] = {}
    for words in calls:
        found.setdefault(words[0], []).append(parsed(words))
    for language in ("fr", "de"):
        made = [words[0] for words in calls if f"work/{language}/" in parsed(words).output]
        assert made == [*["back-translate"] * 3, *VERBS, "analyze", "filter"]
    beams = {(item.max_sentences, item.num_beams, item.num_return_sequences) for item in found["back-translate"]}
    assert beams == {(10**6, 5, 5)}
    assert all(item.unseen_only and item.idf_text == "work/documents.txt" for item in found["analyze"])
    tuned = {item.output: item for item in found["tune"]}
    avg, gran, *bins = (tuned[f"work/{name}"] for name in ("avg", "gran", "bins_avg", "bins_gran"))
    assert len(tuned) == 4 and all(item.largest_share == 0.2 and item.resume for item in tuned.values())
    assert len(avg.seeds) == 10 and len(gran.seeds) == 5
    assert all(set(item.data_sets) == {"fr", "de"} for item in tuned.values())
    assert [(len(item.seeds), item.grid_seeds) for item in bins] == [(10, 10), (5, 5)]
    # Cost in three ways, each a grid of its own.
    for item in (avg, gran):
        assert item.sample == 8000
        names = {point.filter for point in filter_ranges(item.filters, item.keep)}
        assert {"cost", "cost_with_end", "cost_in_length", "length", "bleu"} <= names


def test_the_language_with_few_sentences_holds_fewer_of_them_out(run):
    _, calls = run(LANGUAGES="cs")
    (classified,) = (parsed(words) for words in calls if words[0] == "train-classifier")
    assert (classified.train_size, classified.dev_size, classified.test_size) == (8000, 1000, 1000)
    (scored,) = (parsed(words) for words in calls if words[0] == "score")
    assert scored.hold_out == 8000


def test_what_is_there_is_not_made_again_and_the_tables_are_printed(run, tmp_path):
    run()
    tables = ("avg", "gran", "bins_avg", "bins_gran")
    for name in tables:
        (tmp_path / "work" / name / "table.md").write_text(f"| {name} |\n")
    done, calls = run()
    assert done.returncode == 0, done.stderr
    assert [words[0] for words in calls] == []
    assert done.stdout.endswith("".join(f"| {name} |\n" for name in tables))
    assert (tmp_path / "work/documents.txt").read_text() == "some news .\n"


def test_a_language_that_fails_ends_the_study_and_the_next_run_continues_there(run):
    done, calls = run(FAILING="work/de/scored")
    assert done.returncode == 3 and "tune" not in {words[0] for words in calls}
    _, calls = run()
    assert [words[0] for words in calls][:4] == ["score", "filter", "analyze", "filter"]


def test_the_classifiers_of_a_language_draw_as_many_references_as_it_has_with_the_settings_chosen(tmp_path):
    (tmp_path / "glove.txt").touch()
    study = StudyRuns(tmp_path, "studies/classifiers.sh", python=True)
    best = "echo --negatives hardest --embedding-penalty 1e-6"
    (tmp_path / "bin/python").write_text(f'#!/usr/bin/env bash\ncase "$*" in *best_classifier*) {best} ;; esac\n')
    done, calls = study(LANGUAGES="fr cs", GLOVE="glove.txt")
    assert done.returncode == 0, done.stderr
    translated = [parsed(words) for words in calls if words[0] == "back-translate"]
    assert {(item.max_sentences, item.num_beams) for item in translated} == {(10**6, 5)}
    found = [parsed(words) for words in calls if words[0] == "train-classifier"]
    for first, size in ((0, 20_000), (23, 8000)):
        tried, used = found[first : first + 8], found[first + 8 : first + 23]
        assert [(item.body, item.negatives, item.embedding_penalty) for item in tried] == [
            (body, negatives, penalty)
            for body in ("avg", "lstm")
            for negatives in ("random", "hardest")
            for penalty in (0, 1e-6)
        ]
        assert {(item.seed, item.train_size, item.test_size) for item in tried} == {(0, size, size // 8)}
        assert [(item.seed, item.body, item.train_size, item.test_size) for item in used] == [
            (seed, body, factor * size, size // 8)
            for seed in range(5)
            for body, factor in (("avg", 1), ("lstm", 1), ("avg", 4))
        ]
        assert {(item.negatives, item.embedding_penalty) for item in used} == {("hardest", 1e-6)}
    assert study(LANGUAGES="fr cs", GLOVE="glove.txt")[1] == []
    shutil.rmtree(tmp_path / "work/cs/classifiers")
    done, calls = study(LANGUAGES="fr cs", GLOVE="glove.txt", FAILING="avg_hardest_0")
    assert done.returncode == 3 and calls[-1][-1] == "0"


def test_the_settings_of_the_classifier_that_is_best_on_dev_are_taken(run_script, tmp_path, capsys):
    for name, dev, test, negatives in (("a", 70, 90, "random"), ("b", 71, 60, "hardest"), ("c", 71, 95, "random")):
        (tmp_path / name).mkdir()
        results = {"dev": {"accuracy": dev}, "test": {"accuracy": test}}
        record = {"settings": {"negatives": negatives, "embedding_penalty": 1e-6}, "results": results}
        (tmp_path / name / "provenance.json").write_text(json.dumps(record))
    assert run_script("studies/best_classifier", *(tmp_path / name for name in "abc")) == 0
    assert capsys.readouterr().out == "--negatives hardest --embedding-penalty 1e-06\n"
    assert run_script("studies/best_classifier", tmp_path / "a", tmp_path / "none") == 2
    assert "not the record of a classifier" in capsys.readouterr().err


def test_cost_in_length_is_the_share_of_equal_length_that_costs_no_more(load_script, run_script, tmp_path):
    module = load_script("studies/cost_in_length")
    generator = np.random.default_rng(0)
    costs = generator.integers(0, 9, size=200) / 4
    costs[::17] = np.nan
    lengths = generator.integers(1, 60, size=200).astype(float)
    shares = module.shares_in_length(costs, lengths)
    for place, (cost, length) in enumerate(zip(costs, lengths, strict=True)):
        alike = np.minimum(lengths, module.LONGEST) == min(length, module.LONGEST)
        alike &= ~np.isnan(costs)
        expected = np.nan if np.isnan(cost) else (costs[alike] <= cost).mean()
        assert shares[place] == pytest.approx(expected, nan_ok=True)
    table = pa.table(
        {"sentence1": ["a"] * 4, "sentence2": ["b"] * 4, "cost": [1.0, 2.0, 3.0, 9.0], "length": [3, 3, 5, 5]}
    )
    write_split(tmp_path / "kept", "train", [table], table.schema)
    assert run_script("studies/cost_in_length", "--pairs", tmp_path / "kept", "--output", tmp_path / "pool") == 0
    assert DataFolder(tmp_path / "pool").table().column("cost_in_length").to_pylist() == [0.5, 1.0, 0.5, 1.0]


def test_half_of_every_length_is_left_however_the_cost_goes_with_it(load_script):
    generator = np.random.default_rng(1)
    lengths = generator.integers(2, 30, size=20_000).astype(float)
    costs = 1 / lengths + generator.random(20_000) / 10
    shares = load_script("studies/cost_in_length").shares_in_length(costs, lengths)
    kept = [(shares[lengths == length] <= 0.5).mean() for length in range(2, 30)]
    assert min(kept) > 0.49 and max(kept) <= 0.5


def test_joined_folders_have_all_rows_and_ids_that_differ(run_script, tmp_path, capsys):
    for name, text in (("captions_back", "a dog"), ("help_back", "a file")):
        table = pa.table(
            {"id": ["0", "1"], "sentence1": [text] * 2, "sentence2": [f"the {text[2:]}"] * 2, "rank": [0, 1]}
        )
        write_split(tmp_path / name, "train", [table], table.schema)
    folders = [tmp_path / "captions_back", tmp_path / "help_back"]
    assert run_script("studies/joined_pairs", "--pairs", *folders, "--output", tmp_path / "joined") == 0
    rows = DataFolder(tmp_path / "joined").table().to_pylist()
    assert [row["id"] for row in rows] == ["captions_back/0", "captions_back/1", "help_back/0", "help_back/1"]
    assert [row["rank"] for row in rows] == [0, 1, 0, 1] and rows[2]["sentence1"] == "a file"
    assert run_script("studies/joined_pairs", "--pairs", folders[0], folders[0], "--output", tmp_path / "twice") == 2
    assert "same name" in capsys.readouterr().err and not (tmp_path / "twice").exists()


def test_the_table_of_classifiers_judges_by_seeds_and_for_all_rows(run_script, tmp_path, capsys):
    accuracies = {"avg": (64.0, 63.5, 64.5), "lstm": (66.0, 65.4, 66.6), "more": (65.0, 63.0, 64.6)}
    for kind, values in accuracies.items():
        for seed, value in enumerate(values):
            (tmp_path / f"{kind}_{seed}").mkdir()
            test = {"accuracy": value, "references": value - 5, "translations": value + 5}
            (tmp_path / f"{kind}_{seed}/provenance.json").write_text(json.dumps({"results": {"test": test}}))
    assert run_script("studies/classifier_table", f"fr={tmp_path}") == 0
    rows = [[cell.strip() for cell in line.strip("|\n").split("|")] for line in capsys.readouterr().out.splitlines()]
    assert rows[2] == ["fr: Avg", "64.0 ± 0.5", "59.0 ± 0.5", "69.0 ± 0.5"]
    # Differences of 2.0, 1.9 and 2.1, which are of a deviation of 0.1; two rows: 6.205 for Student's t.
    assert rows[8] == ["fr: the LSTM is better than averaging", "+2.0 [+1.6, +2.4]", "holds"]
    assert rows[9][0] == "fr: more references help" and rows[9][2] == "cannot tell"
    (tmp_path / "none").mkdir()
    assert run_script("studies/classifier_table", f"fr={tmp_path / 'none'}") == 2
    assert "no classifiers" in capsys.readouterr().err


def test_the_picture_has_the_gains_of_the_first_table_and_fills_what_leaves_zero_out(load_script, tmp_path):
    pytest.importorskip("matplotlib")
    picture = load_script("studies/filters_picture")
    for encoder, cells in (("avg", "-0.13 [-0.70, -0.04] | does not"), ("gran", "+1.4 [+0.3, +2.6] |  holds")):
        (tmp_path / encoder).mkdir()
        first = f"| filter | minus random | helps |\n| --- | --: | --: |\n| random | | |\n| cost | {cells} |\n"
        (tmp_path / encoder / "table.md").write_text(f"{first}\n| cost | fr | +9.9 [+9.8, +9.9] | holds |\n")
    found = picture.gains((tmp_path / "gran/table.md").read_text())
    assert found == {"cost": picture.Interval(1.4, 0.3, 2.6)}
    (finer,) = picture.gains((tmp_path / "avg/table.md").read_text()).values()
    assert finer == picture.Interval(-0.13, -0.7, -0.04)
    tables = [str(tmp_path / encoder / "table.md") for encoder in ("avg", "gran")]
    picture.main(["--tables", *tables, "--output", str(tmp_path / "filters.png")])
    assert (tmp_path / "filters.png").read_bytes().startswith(b"\x89PNG")
