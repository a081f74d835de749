from __future__ import annotations

import gzip
from pathlib import Path

import numpy as np
import pytest
from study_runs import StudyRuns, parsed
from tiny_encoders import write_average

from hf_paraphrase.errors import InputError
from hf_paraphrase.filtering.tokens import tokenize

WORDS = ["you", "don't", "get", "it", "man", "she", "sees", "old", "tree", "never", "house", "green", "walks", "home"]


@pytest.fixture
def study(load_script):
    return load_script("studies/neighbours_table")


def distribution(study, *parts):
    """Two rows of shares of the bins: of the last of some normal distributions, and of the others before it."""
    middles = (study.BINS[1:] + study.BINS[:-1]) / 2
    curves = [weight * np.exp(-(((middles - mean) / deviation) ** 2) / 2) for mean, deviation, weight in parts]
    return np.stack([curves[-1], sum(curves[:-1], 0 * middles)])


@pytest.mark.parametrize(
    ("parts", "expected"),
    [
        ([(0.1, 0.1, 1)], False),
        ([(0.1, 0.1, 1), (0.6, 0.1, 0.2)], True),
        ([(0.1, 0.1, 1), (0.6, 0.1, 0.01)], False),  # smaller than a fiftieth of the peak
        ([(0.1, 0.1, 1), (-0.4, 0.1, 0.2)], False),  # on the left
        ([(0.1, 0.1, 1), (0.25, 0.1, 0.5)], False),  # a shoulder without a valley
    ],
)
def test_a_second_bump_is_a_peak_of_its_own_right_of_the_highest(study, parts, expected):
    found = distribution(study, *parts)
    assert study.has_second_bump(found) is expected
    # The same peak of sentences that are not negated is none of theirs.
    assert not study.has_second_bump(found[::-1])


@pytest.mark.parametrize("narrow", [1.0, 0.1])
@pytest.mark.parametrize("are_negated", [True, False])
def test_a_bump_is_one_of_negated_sentences_whatever_the_range_of_the_cosines(study, narrow, are_negated):
    draws = np.random.default_rng(0)
    near = np.arange(3000) % 6 == 0
    cosines = narrow * np.where(near, draws.normal(0.6, 0.05, 3000), draws.normal(0, 0.1, 3000))
    cosines[0] = 1.0
    vectors = np.stack([cosines, np.sqrt(1 - cosines**2)], axis=1).astype(np.float32)
    sentences = [f"w{n} never" if (near[n] if are_negated or n == 0 else n % 6 == 1) else f"w{n}" for n in range(3000)]
    found, _ = study.look(lambda texts: vectors, study.Words(sentences), [0])
    assert found["bumps"].tolist() == [100.0 * are_negated]


def test_negation_is_a_word_of_its_own_or_the_end_of_one(study):
    assert study.is_negated(["you", "don't"]) and study.is_negated(["never"]) and study.is_negated(["can’t"])
    assert not study.is_negated(["nothingness", "knot", "want"])


def test_every_measure_is_what_a_loop_over_all_sentences_finds(study, monkeypatch):
    monkeypatch.setattr(study, "FUNCTION_WORDS", 3)
    draws = np.random.default_rng(0)
    sentences = list(dict.fromkeys(" ".join(draws.choice(WORDS, 6)) for _ in range(60)))
    vectors = draws.normal(size=(len(sentences), 7)).astype(np.float32)
    words = study.Words(sentences)
    queries = [3, 8, 20]
    found, _ = study.look(lambda texts: vectors, words, queries)
    unit = vectors / np.linalg.norm(vectors, axis=1, keepdims=True)
    for place, query in enumerate(queries):
        cosines = {n: float(unit[n] @ unit[query]) for n in range(len(sentences)) if n != query}
        near = sorted(cosines, key=lambda n: -cosines[n])[:10]
        own = set(tokenize(sentences[query]))
        texts = [set(tokenize(sentences[n])) for n in near]
        assert found["shared"][place] == pytest.approx(10 * sum(len(own & text) / len(text) for text in texts))
        content = own - words.function
        if content:
            assert found["topic"][place] == pytest.approx(
                10 * sum(len(content & text) / len(content) for text in texts)
            )
        negated = [n for n in cosines if {"don't", "never"} & set(sentences[n].split())]
        if not {"n't", "never"} & own:
            assert np.isnan(found["negated"][place]) and np.isnan(found["apart"][place])
            continue
        assert found["negated"][place] == pytest.approx(10 * len(set(near) & set(negated)))
        means = [np.mean([cosines[n] for n in cosines if (n in negated) == side]) for side in (True, False)]
        assert found["apart"][place] == pytest.approx(
            100 * (means[0] - means[1]) / np.std(list(cosines.values())), rel=1e-4
        )
    assert not np.isnan(found["negated"]).all()


def test_queries_are_half_negated_of_five_to_nine_words_and_too_few_are_refused(study, tmp_path):
    path = tmp_path / "text.txt"
    lines = [f"you don't get it man {n}" for n in range(9)] + [f"she sees the old green tree {n}" for n in range(9)]
    path.write_text("\n".join([*lines, *lines, "no", "", "yes " * 12, ""]))
    sentences, queries = study.sample(path, 1000, 10)
    assert sorted(sentences) == sorted({*lines, "no", "yes " * 12})
    assert sum("don't" in sentences[place] for place in queries) == 5 and len(set(queries)) == 10
    with pytest.raises(InputError, match="fewer than 10"):
        study.sample(path, 1000, 20)


def test_a_difference_holds_only_in_the_papers_direction(study):
    draws = np.random.default_rng(0)
    names = list(study.MEASURES)

    def runs(level):
        return {name: level + draws.normal(size=(3, 40)) for name in names}

    rows = study.table({"WA": runs(30.0), "GRAN": runs(20.0)}).splitlines()[2:]
    verdicts = {name: row.split(":")[-1].strip(" |") for name, row in zip(names, rows, strict=True)}
    assert verdicts == {name: "does not" if name == "topic" else "holds" for name in names}


def test_the_table_and_the_picture_are_made_from_folders_of_encoders(run_script, tmp_path, capsys):
    draws = np.random.default_rng(0)
    lines = dict.fromkeys(" ".join(draws.choice(WORDS, 6)) for _ in range(300))
    (tmp_path / "text.txt").write_text("\n".join(lines))
    folders = {
        name: ",".join(str(write_average(tmp_path / f"{name}{seed}", WORDS, seed=seed + base)) for seed in range(3))
        for name, base in (("a", 0), ("b", 10))
    }
    words = ["--encoders", *(f"{name}={value}" for name, value in folders.items()), "--text", tmp_path / "text.txt"]
    assert run_script("studies/neighbours_table", *words, "--queries", 20, "--output", tmp_path) == 0
    rows = (tmp_path / "neighbours.md").read_text().splitlines()
    # All words are among the most frequent ones.
    assert rows[3].split("|")[2].strip() == "0" and rows[3].rstrip(" |").endswith("cannot tell")
    assert len(rows) == 7 and [cell.strip() for cell in rows[0].split("|")[2:5]] == ["queries", "a", "b"]
    assert (tmp_path / "neighbours.png").stat().st_size > 1000
    assert run_script("studies/neighbours_table", "--encoders", "a", "b=x", *words[3:], "--output", tmp_path) == 2
    assert "give NAME=DIR" in capsys.readouterr().err
    for wrong in (["a=x", "a=y"], ["a=x,y", "b=z"]):
        assert run_script("studies/neighbours_table", "--encoders", *wrong, *words[3:], "--output", tmp_path) == 2
        assert "two names, and as many folders" in capsys.readouterr().err


@pytest.fixture
def script(tmp_path):
    (tmp_path / "glove.txt").touch()
    for language in ("fra", "deu"):
        folder = tmp_path / f"data/manythings/{language}-eng"
        folder.mkdir(parents=True)
        (folder / f"{language}.txt.gz").write_bytes(gzip.compress(f"English {language}\tother\n".encode()))
    runs = StudyRuns(tmp_path, "studies/neighbours.sh", python=True)
    # The table is made by the stand-in of `python`, which makes no file.
    for paper in ("003", "000"):
        (tmp_path / "work" / paper).mkdir(parents=True)
        (tmp_path / "work" / paper / "neighbours.md").write_text(f"| table of {paper} |\n")
    return runs


def test_the_script_trains_both_papers_encoders_with_equal_draws_and_is_done_when_all_is_there(script, tmp_path):
    done, calls = script(GLOVE="glove.txt", SEEDS="0 1")
    assert done.returncode == 0, done.stderr
    settings = {words[words.index("--output") + 1].removeprefix("work/"): parsed(words) for words in calls}
    for seed in (0, 1):
        assert settings[f"drawn_{seed}"].seed == settings[f"labelled_{seed}"].negatives == seed
        for kind in ("avg", "gran"):
            labelled, drawn = settings[f"003/{kind}_{seed}"], settings[f"000/{kind}_{seed}"]
            assert (labelled.pairs, drawn.pairs) == (f"work/labelled_{seed}", f"work/drawn_{seed}")
            assert labelled.loss == "contrastive" and drawn.loss == "margin"
            assert labelled.tokenizer == "work/morphs" and drawn.initial_vectors == "glove.txt"
            assert labelled.seed == drawn.seed == seed and labelled.model_type == drawn.model_type == kind
    avoided = {Path(path).name for path in settings["pairs"].decontaminate}
    assert avoided >= {"pit2015", "msrp", "sick", "sts", "held_out.sha256-16.txt.gz"}
    assert (tmp_path / "work/sentences.txt").read_text() == "English fra\nEnglish deu\n"
    assert done.stdout.endswith("| table of 003 |\nthe table\n| table of 000 |\n")
    done, again = script(GLOVE="glove.txt", SEEDS="0 1")
    assert done.returncode == 0 and not again


def test_without_its_text_the_script_ends_and_leaves_no_empty_one(script, tmp_path):
    for path in (tmp_path / "data/manythings").rglob("*.gz"):
        path.unlink()
    done, _ = script(GLOVE="glove.txt")
    assert done.returncode and not (tmp_path / "work/sentences.txt").exists()
