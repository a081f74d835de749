from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.studies.mining.evaluation import evaluate_mining
from hf_paraphrase.studies.mining.parallel_classification import ParallelClassifier
from hf_paraphrase.studies.mining.report import file_stems
from hf_paraphrase.studies.mining.run import EncoderFolders, MiningRun
from hf_paraphrase.studies.mining.task import TaskPart, random_pair_curve

sys.path.append(str(Path(__file__).parents[1] / "studies" / "mining"))
from mined_corpora import write_classifier, write_encoder, write_task

from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.evaluation.translation_retrieval import translation_retrieval


@pytest.fixture(scope="module")
def originals(tmp_path_factory):
    folder = tmp_path_factory.mktemp("study")
    write_encoder(folder / "encoder", noise=1.2)
    write_encoder(folder / "better", noise=0.1, seed=1)
    write_classifier(folder / "keep"), write_classifier(folder / "zero", seed=1)
    write_task(folder, "training", seed=1)
    write_task(folder, "test", seed=2)
    return folder


@pytest.fixture
def work(originals, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    for path in originals.iterdir():
        (tmp_path / path.name).symlink_to(path)
    return tmp_path


STUDY = "--task fr-en --encoder encoder --recall-sizes 1 5 60 --candidates 5"


def evaluate(words):
    return main(["evaluate-mining", *words.split()])


@pytest.fixture(scope="module")
def study(originals, tmp_path_factory):
    """The report of a study with everything in it."""
    output = tmp_path_factory.mktemp("report") / "report"
    names = {name: originals / name for name in ("encoder", "better", "keep", "zero")}
    words = f"--task {originals}/fr-en --encoder {names['encoder']} --recall-sizes 1 5 60 --candidates 5"
    words += f" --scoring-encoder {names['better']} --classifier {names['keep']} {names['zero']} --random-negatives 50"
    assert evaluate(f"{words} --output {output}") == 0
    return output


def test_report_holds_tables_curves_and_figures_of_every_way(study):
    results = json.loads((study / "results.json").read_text())
    found = {(row["score"], row["one_to_one"], row["threshold_is"]) for row in results["candidates"]}
    assert {("keep", False, "fixed"), ("keep", False, "tuned"), ("zero", True, "tuned")} < found
    assert {("filter cosine", False, "tuned"), ("better ratio margin", True, "tuned")} < found
    assert ("keep × better ratio margin", True, "tuned") in found
    assert {path.name for path in (study / "plots").iterdir()} == {
        f"{name}.{ending}" for name in ("candidates", "random_pairs") for ending in ("png", "svg")
    }
    assert {path.name for path in (study / "curves" / "random_pairs").iterdir()} == {"keep.tsv", "zero.tsv"}
    header, *points = (study / "curves" / "candidates" / "better_ratio_margin_one_to_one.tsv").read_text().splitlines()
    assert header.split("\t") == ["threshold", "precision", "recall", "f1", "found", "right"]
    assert float(points[-1].split("\t")[2]) > 0.5
    report = (study / "report.html").read_text()
    assert report.count('<img src="data:image/png;base64,') == 2 and "True pairs among" in report
    card = (study / "README.md").read_text()
    assert "True pairs among the 5 best candidates" in card and "| test | test | 60 | 60 | 15 | 300 |" in card
    assert not (study / "work").exists() and not (study / "job.json").exists()


def test_recall_of_the_filter_bounds_every_way_and_better_encoders_and_matching_help(study):
    results = json.loads((study / "results.json").read_text())
    rows = {row["n"]: row for row in results["recall"]["the filter (encoder)"]}
    assert rows[60]["share"] == 100 and rows[60]["pairs"] == 3600
    assert rows[1]["found"] < rows[5]["found"] < 15
    for row in results["candidates"]:
        assert row["test"]["recall"] <= rows[5]["found"] / 15
    tuned = [row for row in results["candidates"] if row["threshold_is"] == "tuned"]
    f1 = {(row["score"], row["one_to_one"]): row["test"]["f1"] for row in tuned}
    assert f1["better cosine", False] > f1["filter cosine", False]
    assert f1["better cosine", True] >= f1["better cosine", False] > 0.6


def test_thresholds_are_those_of_the_tuning_part(study, originals, monkeypatch, tmp_path):
    rows = json.loads((study / "results.json").read_text())["candidates"]
    row = next(row for row in rows if row["score"] == "filter ratio margin" and row["one_to_one"])
    monkeypatch.chdir(originals)
    words = "--layout bucc --source fr-en.test.fr --target fr-en.test.en --gold fr-en.test.gold --encoder encoder"
    words += " --candidates 5 --margin --one-to-one --tune-on fr-en.training"
    assert main(["mine", *words.split(), "--output", str(tmp_path / "mined")]) == 0
    record = json.loads((tmp_path / "mined" / "provenance.json").read_text())["results"]
    assert record["threshold"] == row["threshold"] and record["measures"] == row["test"]
    # The same pairs, measured by themselves.
    words = f"--pairs {tmp_path}/mined --gold fr-en.test.gold --output {tmp_path}/measured"
    assert evaluate(words) == 0
    measured = json.loads((tmp_path / "measured" / "results.json").read_text())
    assert measured[f"{tmp_path}/mined"]["all"] == row["test"]


@pytest.mark.parametrize(
    "words", [{"task": "fr-en", "encoder": "encoder", "recall_sizes": [1, 5]}, {"pairs": ["p"], "gold": "test.gold"}]
)
def test_a_finished_report_gives_its_tables_again(work, words):
    write_pairs("p", [("fr-1", "en-1", 0.5)])
    Path("test.gold").write_text("fr-1\ten-1\n")
    options = {**words, "output": "report", "resume": True}
    first = evaluate_mining(**options)
    assert first.tables and first.results
    again = evaluate_mining(**options)
    assert again.tables == first.tables and again.results == json.loads(json.dumps(first.results))


def test_codes_of_languages_may_have_hyphens(work):
    for part in ("training", "test"):
        for old, new in (("fr", "pt-BR"), ("en", "zh-Hant"), ("gold", "gold")):
            Path(f"pt-BR-zh-Hant.{part}.{new}").write_text(Path(f"fr-en.{part}.{old}").read_text())
    part = TaskPart.read("pt-BR-zh-Hant", "test")
    assert [path.suffix for path in part.files] == [".pt-BR", ".zh-Hant", ".gold"]
    assert evaluate(f"{STUDY.replace('fr-en', 'pt-BR-zh-Hant')} --output o") == 0


def test_random_pairs_are_scored_as_the_classifier_does_and_none_of_them_is_true(originals, tmp_path, monkeypatch):
    part = TaskPart.read(str(originals / "fr-en"), "test")
    folder = str(originals / "encoder")
    run = MiningRun((part.source, part.target), EncoderFolders(folder, folder), tmp_path / "run", candidates=3)
    scored = []
    probabilities = run.probabilities
    monkeypatch.setattr(run, "probabilities", lambda *given: scored.append(given[1:]) or probabilities(*given))
    curve = random_pair_curve(part, run, str(originals / "keep"), 40, 3)
    source, target = (np.concatenate([pair[side] for pair in scored]) for side in (0, 1))
    true = {tuple(pair) for pair in part.gold.tolist()}
    drawn = list(zip(source[15:].tolist(), target[15:].tolist(), strict=True))
    assert not true & set(drawn) and 500 < len(drawn) <= 600
    wanted = ParallelClassifier.from_pretrained(originals / "keep").probabilities(
        [part.source.sentences[row] for row in source], [part.target.sentences[row] for row in target]
    )
    threshold = float(np.median(wanted))
    measures = curve.at(threshold)
    assert measures["found"] == pytest.approx((wanted >= threshold).sum(), abs=2)
    assert measures["right"] == pytest.approx((wanted[:15] >= threshold).sum(), abs=1)


def write_pairs(folder, pairs):
    rows = [{"source_id": one, "target_id": two, "score": score} for one, two, score in pairs]
    schema = pa.schema([("source_id", pa.string()), ("target_id", pa.string()), ("score", pa.float64())])
    write_split(folder, "train", [pa.Table.from_pylist(rows, schema)], schema)


def test_measures_of_mined_folders_are_printed(work, capsys):
    gold = [line.split("\t") for line in Path("fr-en.test.gold").read_text().splitlines()]
    right = [(one, two, 10.0 - place) for place, (one, two) in enumerate(gold[:6])]
    write_pairs("pairs", [*right, ("fr-000000001", "en-000000002", 3.0), ("a", "b", 2.0)])
    write_pairs("none", [])
    assert evaluate("--pairs pairs none --gold fr-en.test.gold") == 0
    out = capsys.readouterr().out
    assert "75.00" in out and "40.00" in out and "100.00" in out


@pytest.mark.parametrize(
    ("pairs", "text"),
    [
        ([("fr-1", "en-1", 1.0), ("fr-1", "en-1", 2.0)], "is in it twice"),
        ([("1", "2", 1.0)], "of another form than those of the gold pairs"),
    ],
)
def test_pairs_that_are_not_those_of_the_gold_are_refused(work, capfd, pairs, text):
    write_pairs("pairs", pairs)
    assert evaluate("--pairs pairs --gold fr-en.test.gold") == 2
    assert text in capfd.readouterr().err.splitlines()[-1]


def test_rows_of_like_names_have_curve_files_of_their_own():
    assert file_stems(["run-1.tsv", "run_1.tsv", "Run 1 tsv", "a × b"]) == [
        "run_1_tsv",
        "run_1_tsv_2",
        "run_1_tsv_3",
        "a_x_b",
    ]


BAD_WORDS = {
    "nothing to do": ("", "either --pairs with --gold, or --task"),
    "no encoder": ("--task fr-en --output o", "candidates need an encoder"),
    "no languages": (f"{STUDY.replace('fr-en', 'nowhere')} --output o", "not a pair of languages"),
    "two of one name": (f"{STUDY} --output o --classifier keep ./keep", "two folders are called `keep`"),
}


@pytest.mark.parametrize("case", BAD_WORDS)
def test_arguments_that_do_not_fit_are_one_line_and_leave_nothing(work, capfd, case):
    words, text = BAD_WORDS[case]
    before = sorted(Path().iterdir())
    assert evaluate(words) == 2
    out, err = capfd.readouterr()
    assert text in err.splitlines()[-1] and "Traceback" not in err and out == ""
    assert sorted(Path().iterdir()) == before


TINY = ["--dimension", "12", "--epochs", "8", "--subsampling", "0", "--aligned-weight", "10", "--batch-size", "16"]
TINY += ["--learning-rate", "0.02"]


def run(*words):
    return main(["train-bilingual-vectors", *map(str, words)])


@pytest.fixture(scope="module")
def bitext(tmp_path_factory, write_bitext, number_pairs):
    folder = tmp_path_factory.mktemp("bilingual") / "numbers"
    return write_bitext(folder, train=number_pairs(200, 100), validation=number_pairs(16, 20))


def test_the_output_holds_two_encoders_in_one_space_with_the_retrieval_that_its_card_names(bitext, tmp_path, capsys):
    folder = tmp_path / "vectors"
    assert run("--bitext", bitext, "--output", folder, *TINY) == 0
    out, err = capsys.readouterr()
    assert out == "" and "% of the translations among 16" in err
    encoders = [SentenceEncoder.from_pretrained(folder / side) for side in ("source", "target")]
    assert encoders[0].dimension == 12
    near = encoders[0].similarity(["trois"], ["trois"])
    assert near[0, 0] == pytest.approx(1.0)
    vectors = [
        encoder.encode(texts, normalize=True)
        for encoder, texts in zip(encoders, (["un", "trois", "huit"], ["one", "three", "eight"]), strict=True)
    ]
    assert (vectors[0] @ vectors[1].T).argmax(1).tolist() == [0, 1, 2]
    table = DataFolder(bitext).table("validation")
    texts = [table[side].to_pylist() for side in ("source", "target")]
    found = translation_retrieval(
        *texts, *(encoder.encode(side) for encoder, side in zip(encoders, texts, strict=True))
    )
    results = json.loads((folder / "provenance.json").read_text())["results"]
    assert results["retrieval"]["mean"] == pytest.approx(found.mean) and results["pairs"] == 200
    for place, languages in (("", "- fr\n- en\n"), ("source", "- fr\n"), ("target", "- en\n")):
        card = (folder / place / "README.md").read_text()
        assert card.startswith(f"---\nlanguage:\n{languages}library_name") and f"{found.mean:.2f}" in card
    assert not {"checkpoints", "job.json"} & {path.name for path in folder.iterdir()}
