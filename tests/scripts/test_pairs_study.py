from __future__ import annotations

import gzip
import json

import numpy as np
import pyarrow as pa
import pytest
import yaml
from study_runs import SCRIPTS, StudyRuns, after, parsed

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.encoders.initial_vectors import read_initial_vectors, read_word_list
from hf_paraphrase.evaluation.graded_set import GradedSet
from hf_paraphrase.filtering.tuning.choice import TuningRun

AVERAGE = {"file": "paper_000_avg.yaml", "hidden_size": 4, "epochs": 1, "seeds": 2}
DESIGN = {
    "encoders": {"avg": AVERAGE, "avg dense": {**AVERAGE, "dense_optimizer": True}},
    "columns": {"dev": ["STS16"], "held out": ["graded kept"], "short": ["length 1 to 8"]},
    "cells": ["avg one all"],
    "claims": [
        ["more is better", "avg one 30", "above", "avg one 10"],
        ["dense is the same", "avg dense two 20", "little", "avg two 20"],
    ],
    "examples": ["avg one 30", "avg one 10"],
    "examples_of": "STS12 MSRpar",
}

TRANSLATION = ["train-nmt", "evaluate-nmt", "back-translate", "filter"]


@pytest.fixture
def folder(tmp_path):
    first = [f"a{x} c{x % 7} b{(x * 5) % 11}" for x in range(40)]
    second = [f"b{(x * 5) % 11} d{x % 7} a{x}" for x in range(40)]
    for name, order in (("one", first), ("two", first[::-1])):
        table = pa.table({"sentence1": order, "sentence2": second})
        write_split(tmp_path / name, "train", [table], table.schema)
    graded = pa.table({"sentence1": first, "sentence2": second[::-1], "score": [float(x % 5) for x in range(40)]})
    write_split(tmp_path / "kept", "test", [graded], graded.schema)
    for year, name in (("STS12-en-test", "MSRpar"), ("STS16-en-test", "headlines")):
        at = tmp_path / "sts" / year
        at.mkdir(parents=True)
        (at / f"STS.input.{name}.txt").write_text("".join(f"{first[x]}\t{second[(x * x) % 9]}\n" for x in range(30)))
        (at / f"STS.gs.{name}.txt").write_text("".join(f"{x % 5}\n" for x in range(30)))
    words = sorted({word for text in (*first, *second) for word in text.split()})
    values = np.random.default_rng(0).normal(size=(len(words), 4)).round(3)
    lines = [f"{word} {' '.join(map(str, row))}\n" for word, row in zip(words, values, strict=True)]
    (tmp_path / "glove.txt").write_text("".join([*lines, "elsewhere 1 2 3 4\n"]))
    return tmp_path


@pytest.fixture
def study(folder, run_script, capsys):
    def run(output="out", seeds=10, **changes):
        (folder / "design.yaml").write_text(yaml.safe_dump({**DESIGN, **changes}))
        words = ["--design", folder / "design.yaml"]
        words += ["--pairs", *(f"{name}={folder / name}" for name in ("one", "two"))]
        words += ["--initial-vectors", folder / "glove.txt", "--dev-data", folder / "sts/STS16-en-test"]
        words += ["--data", folder / "sts", "--graded", f"kept={folder / 'kept'}", "--runs", folder / "runs"]
        capsys.readouterr()
        code = run_script(
            "studies/pairs_study", *words, "--output", folder / output, "--most-seeds", seeds, "--picture"
        )
        return code, *capsys.readouterr()

    return run


def cells(text):
    return [[cell.strip() for cell in line.strip("|\n").split("|")] for line in text.splitlines()]


def notes(folder, source):
    return [json.loads(line) for line in (folder / "runs" / source / "runs.jsonl").read_text().splitlines()]


def test_cells_are_trained_once_and_claims_are_judged_in_every_column(study, folder):
    assert study(seeds=1)[0] == 0
    table, claims = (cells((folder / f"out/{name}.md").read_text()) for name in ("table", "claims"))
    assert [row[:4] for row in table[2:]] == [
        ["avg", "one", "40", "1"],
        ["avg", "one", "30", "1"],
        ["avg", "one", "10", "1"],
        ["avg dense", "two", "20", "1"],
        ["avg", "two", "20", "1"],
    ]
    assert claims[0] == ["claim", "dev", "held out", "short"] and len(claims) == 4
    # One seed tells nothing, whatever the difference.
    assert {cell.partition(": ")[2] for row in claims[2:] for cell in row[1:]} == {"cannot tell"}
    assert len(cells((folder / "out/examples.md").read_text())) == 14
    assert (folder / "out/claims.png").read_bytes().startswith(b"\x89PNG")
    assert [note["pairs"] for note in notes(folder, "one")] == [40, 30, 10] and len(notes(folder, "two")) == 2
    before = (folder / "runs/one/runs.jsonl").read_text()
    # Another design finds the runs that it shares, and a source by itself those that were made with others.
    code, again, _ = study("other", seeds=1, cells=["avg one 20"], claims=DESIGN["claims"][:1])
    assert code == 0 and len(notes(folder, "one")) == 4
    assert (folder / "runs/one/runs.jsonl").read_text().startswith(before)
    assert [row for row in cells(again) if row in table[2:]] == table[3:5]


def test_a_draw_of_fewer_pairs_has_those_of_a_larger_one(study, folder, load_script):
    module = load_script("studies/pairs_study")
    pool = module.SelectionPool(folder / "one", (), None)
    few, more = (set(pool.select((), number, 1)[0]) for number in (10, 30))
    assert len(few) == 10 and few < more


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"cells": ["avg one"]}, "is not a cell"),
        ({"cells": ["avg three 10"]}, "unknown source"),
        ({"cells": ["avg one 41"]}, "there are 40 pairs"),
        ({"claims": [["it is better", "avg one 10", "over", "avg one 20"]]}, "is not a claim"),
        ({"columns": {"test": ["STS14"]}}, "no set STS14"),
    ],
)
def test_a_design_that_does_not_fit_is_refused_before_anything_is_trained(study, folder, changes, message):
    code, _, err = study(**changes)
    assert code == 2 and message in err and not (folder / "out").exists()
    assert not list(folder.glob("runs/*/runs.jsonl"))


def test_pairs_are_binned_by_the_words_of_both_sides(load_script):
    module = load_script("studies/pairs_study")
    texts = [" ".join("w" * length) for length in range(1, 30)]
    graded = GradedSet("OnWN", "STS13", texts, texts, np.arange(29.0))
    dev = GradedSet("headlines", "STS16", texts, texts, np.arange(29.0))
    bins = module.by_length([graded, dev])
    assert [(item.key, len(item)) for item in bins] == [
        ("length 1 to 8", 8),
        ("length 9 to 12", 4),
        ("length 13 to 20", 8),
        ("length over 20", 9),
    ]
    assert bins[1].scores.tolist() == [8.0, 9.0, 10.0, 11.0]


def test_examples_are_those_that_one_side_places_better(load_script):
    module = load_script("studies/pairs_study")
    scores = np.arange(20.0)
    graded = GradedSet("headlines", "STS16", [f"pair {x}" for x in range(20)], [""] * 20, scores)

    def run(values):
        return TuningRun(0, 1, 1, 0.0, 1.0, 0.0, (), {}, {graded.key: values}, 0.0)

    turned = scores.copy()
    turned[[3, 17]] = turned[[17, 3]]
    rows = cells(module.examples([run(scores)], [run(turned)], graded))
    assert {row[1] for row in rows[2:4]} == {"pair 3", "pair 17"} and rows[2][0] == "first"
    rows = cells(module.examples([run(turned)], [run(scores)], graded))
    assert {row[1] for row in rows[-6:-4]} == {"pair 3", "pair 17"} and rows[-6][0] == "second"


def test_vectors_are_kept_of_the_words_that_occur(folder, run_script):
    words = ["--vectors", folder / "glove.txt", "--text", folder / "one", "--data", folder / "sts"]
    assert run_script("studies/used_vectors", *words, "--output", folder / "used.txt") == 0
    assert (folder / "used.txt").read_text() == (folder / "glove.txt").read_text().replace("elsewhere 1 2 3 4\n", "")


def test_components_that_are_kept_preserve_the_cosines_of_sentences_as_well_as_their_number_allows(folder, run_script):
    words = ["--vectors", "builtin", "--text", folder / "one", folder / "two", "--data", folder / "sts"]
    whole = read_initial_vectors("builtin", read_word_list(folder / "glove.txt"))
    kept = {}
    for count in (2, 60):
        assert run_script("studies/used_vectors", *words, "--components", count, "--output", folder / "few.txt") == 0
        found = read_initial_vectors(folder / "few.txt", whole.words)
        assert found.matrix.shape[1] == count and set(found.words) == set(whole.words) - {"elsewhere"}
        order = [whole.words.index(word) for word in found.words]
        pairs = np.array([[one, (one * 7 + 3) % len(order)] for one in range(len(order))])
        sums = [matrix[pairs].sum(1) for matrix in (whole.matrix[order], found.matrix)]
        one, other = (rows / np.linalg.norm(rows, axis=1, keepdims=True) for rows in sums)
        kept[count] = np.abs(one @ one.T - other @ other.T).max()
    assert kept[60] < 0.2 < kept[2]


def test_no_phrase_that_is_held_out_is_trained_on(tmp_path, run_script):
    judged = [f"{1 + x % 5}.0\t[NP]\tthe {x // 4}\ta {x % 150}\t1.0" for x in range(300)]
    words = [f"word{chr(97 + x % 26)} other{chr(97 + x // 26)} third" for x in range(60)] + ["3/4 4/5", "alone"]
    # The third of the first phrases that is held out has one of these.
    judged += ["5.0\t[NN]\t" + "\t".join(line.split()[:2]) + "\t5.0" for line in words[:20]]
    for name, lines in (("ppdb-sample.annotated.tsv.gz", judged), ("ppdb-xl.retrofitting.txt.gz", words)):
        (tmp_path / name).write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    held, train = tmp_path / "held.tsv", tmp_path / "train.tsv"
    run_script("studies/phrase_pairs", "--ppdb", tmp_path, "--held-out", held, "--train", train, "--words", 40)
    rows = [line.split("\t") for line in held.read_text().splitlines()]
    pairs = [tuple(line.split("\t")) for line in train.read_text().splitlines()]
    phrases = {phrase for row in rows for phrase in row[2:4]}
    assert set(held.read_text().splitlines()) <= set(judged) and 0 < len(rows) < len(judged)
    assert sum(first.startswith("word") and second.startswith("other") for first, second in pairs[-40:]) == 40
    trained = {tuple(line.split("\t")[2:4]): line for line in judged}
    assert not {tuple(row[2:4]) for row in rows} & set(pairs)
    assert any(row[2].startswith("word") for row in rows)
    for pair in pairs[:-40]:
        assert not phrases & set(pair) and trained[pair][0] in "345"
    assert len(pairs) > 60 and len(pairs) - 40 + len(rows) < len(judged)


@pytest.fixture
def script(tmp_path):
    (tmp_path / "glove.txt").touch()
    return StudyRuns(tmp_path, "studies/encoders.sh", python=True)


def test_every_source_is_free_of_what_it_is_judged_on_and_every_call_is_understood(script):
    done, calls = script(GLOVE="glove.txt")
    assert done.returncode == 0, done.stderr
    verbs = [words[0] for words in calls]
    assert verbs == [*["prepare"] * 5, *TRANSLATION]
    for words in calls:
        parsed(words)
    made = [words for words in calls if words[0] == "prepare" and after(words, "--output") != "held_out"]
    assert len(made) == 4 and all({"data/sts", "data/msrp"} <= set(words) for words in made)
    assert done.stdout.count("the table\n") == 15
    done, calls = script(GLOVE="glove.txt", TABLES="adam")
    assert [words[0] for words in calls] == [] and done.returncode == 0


def test_tables_without_back_translations_need_no_translation_model(script):
    done, calls = script(GLOVE="glove.txt", TABLES="adam starts")
    assert done.returncode == 0, done.stderr
    assert [words[0] for words in calls] == ["prepare"] * 5 and done.stdout.count("the table\n") == 8


def test_an_encoder_with_a_start_of_its_own_knows_the_words_of_the_others(study, folder):
    encoders = {"avg": AVERAGE, "own": {**AVERAGE, "initial_vectors": "builtin", "hidden_size": None}}
    claims = [["it is better", "own one 10", "above", "avg one 10"]]
    changes = {"encoders": encoders, "cells": [], "claims": claims, "examples": ["avg one 10", "avg one 10"]}
    assert study(seeds=1, **changes)[0] == 0
    lines = (folder / "sts/STS16-en-test/STS.input.headlines.txt").read_text().splitlines()
    vectors = read_initial_vectors("builtin", (folder / "glove.txt").read_text().split()[::5])
    table = dict(zip(vectors.words, vectors.matrix, strict=True))
    sums = [[sum(table[word] for word in text.split()) for text in line.split("\t")] for line in lines]
    cosines = [one @ other / np.linalg.norm(one) / np.linalg.norm(other) for one, other in sums]
    expected = 100 * np.corrcoef(cosines, [x % 5 for x in range(30)])[0, 1]
    assert notes(folder, "one")[1]["untrained"] == pytest.approx(expected, abs=0.01)


def test_its_designs_are_understood(load_script):
    module = load_script("studies/pairs_study")
    for name in ("adam", "inputs", "lengths", "rates", "recurrent", "sizes", "sources", "starts"):
        design = yaml.safe_load((SCRIPTS / "studies/designs" / f"{name}.yaml").read_text())
        claims = module.read_claims(design["claims"])
        assert {cell.encoder for claim in claims for cell in (claim.first, claim.second)} <= design["encoders"].keys()
        for given in design["encoders"].values():
            more = {key: value for key, value in given.items() if key not in ("file", "seeds")}
            assert module.encoder_settings(f"a={module.CONFIGS / given['file']}", **more)
            assert given["seeds"] >= 3


def test_sources_of_free_pairs_can_be_chosen(tmp_path, load_script, capsys):
    (tmp_path / "wikisplit").mkdir()
    line = b"a long sentence .\ta sentence .\tit is long .\n"
    (tmp_path / "wikisplit/wikisplit.tsv.gz").write_bytes(gzip.compress(line))
    module = load_script("studies/free_pairs")
    words = ["--data", str(tmp_path), "--output", str(tmp_path / "pairs.tsv.gz")]
    assert module.main([*words, "--only", "splits"]) == 0
    text = gzip.decompress((tmp_path / "pairs.tsv.gz").read_bytes()).decode()
    assert text == "a long sentence .\ta sentence . it is long .\n"
    for only in (["--only", "gossip"], ["--only", "synonyms"], []):
        with pytest.raises(SystemExit):
            module.main([*words, *only])
    assert "one of shared translations" in capsys.readouterr().err


def test_a_claim_is_judged_over_seeds_and_pairs_for_the_whole_table(load_script):
    module = load_script("studies/pairs_study")
    generator = np.random.default_rng(0)
    graded = GradedSet("OnWN", "STS13", [""] * 400, [""] * 400, generator.normal(size=400))

    def run(seed, noise):
        values = graded.scores + noise * generator.normal(size=400)
        return TuningRun(seed, 1, 1, 0.0, 1.0, 0.0, (), {}, {graded.key: values}, 0.0)

    near, far = module.PairsCell("gran", "a", 1), module.PairsCell("gran", "b", 1)
    runs = {near: [run(seed, 0.5) for seed in range(3)], far: [run(seed, 2.0) for seed in range(3)]}
    claims = module.read_claims([["it is", "gran a 1", "above", "gran b 1"], ["so", "gran b 1", "above", "gran a 1"]])
    rows = cells(module.claims_table(module.judge(claims, runs, {"all": [0]}, [graded]), ["all"]))
    assert rows[2][1].endswith("]: holds") and rows[3][1].endswith("]: does not")
    alone = cells(module.claims_table(module.judge(claims[:1], runs, {"all": [0]}, [graded]), ["all"]))[2][1]
    low, low_alone = (float(text.partition("[")[2].partition(",")[0]) for text in (rows[2][1], alone))
    assert 0 < low < low_alone
