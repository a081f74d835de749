"""The drivers of the studies: every call is one that its command understands, and none is made twice."""

from __future__ import annotations

import gzip
from pathlib import Path

import pytest
from study_runs import SCRIPTS, StudyRuns, after, parsed

STUDIES = SCRIPTS / "studies"
DRIVERS = sorted(path.name for path in STUDIES.glob("*.sh") if path.name != "common.sh")
PLACES = {
    "builtin_encoder.sh": ("data", "dict", "MINILM", "work"),
    "multilingual_encoder.sh": ("data", "dict", "MINILM", "work"),
    "no_teacher.sh": ("data", "dict", "glove.json", "vocab", "work"),
    "opusparcus_row.sh": ("data", "fi", "work"),
}


@pytest.fixture
def driver(tmp_path):
    for name in ("glove.txt", "glove.json", "wordnet"):
        (tmp_path / name).touch()
    for name in ("text", "dict", "MINILM", "vocab", "pairs", "transfer", "msrp", "manythings/fin-eng"):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / name).mkdir(exist_ok=True, parents=True)
    for name in ("text/news.txt.gz", "manythings/fin-eng/fin.txt.gz", "manythings/fra-eng/fra.txt.gz"):
        (tmp_path / "data" / name).parent.mkdir(exist_ok=True)
        (tmp_path / "data" / name).write_bytes(gzip.compress(b"some news .\tdes nouvelles\n"))
    (tmp_path / "data/manythings/deu-eng").mkdir()
    (tmp_path / "data/manythings/deu-eng/deu.txt.gz").write_bytes(gzip.compress(b"news .\tNeues\n"))
    lines = ["\ufeffQuality\n", *(f"1\t{x}\t{x}\ta {x}\tb {x}\n" for x in range(9))]
    (tmp_path / "data/msrp/msr_paraphrase_train.txt").write_text("".join(lines))
    given = {"GLOVE": "glove.txt", "WORDNET": "wordnet", "ENCODER": "encoder"}

    def run(name, **environment):
        # The stand-in of python makes nothing, so that what it makes is asked for again.
        folder = tmp_path / name
        folder.mkdir(exist_ok=True)
        for entry in tmp_path.iterdir():
            if not entry.name.endswith(".sh") and not (folder / entry.name).exists():
                (folder / entry.name).symlink_to(entry)
        return study_of(folder, name)(**{**given, **environment})

    made: dict[str, StudyRuns] = {}

    def study_of(folder, name):
        if name not in made:
            made[name] = StudyRuns(folder, f"studies/{name}", python=True, places=PLACES.get(name, ("data", "work")))
        return made[name]

    run.scripts = lambda name: made[name].scripts()
    return run


@pytest.mark.parametrize("name", DRIVERS)
def test_every_call_is_understood_learns_from_no_test_set_and_is_not_made_again(driver, name):
    done, calls = driver(name, TOKENS="1")
    # `tune` has a stand-in that makes no table, at which a driver ends when it prints it.
    assert calls and (done.returncode == 0 or "table.md" in done.stderr), done.stderr
    for words in calls:
        parsed(words)
        raw = words[0] == "prepare" and words[1] in {"pairs", "bitext"}
        if raw and name not in {"mining.sh", "detection.sh"}:
            assert "--decontaminate" in words and "held_out.sha256-16.txt.gz" in " ".join(words), words
    for script, *words in driver.scripts(name):
        source = Path(script).read_text(encoding="utf-8")
        assert all(f'"{word}"' in source for word in words if word.startswith("--")), words
        if Path(script).name in {"make_data.py", "vectors.py"}:
            assert f'"{words[0]}": ' in source
        if Path(script).name == "study.py":
            assert Path(words[words.index("--design") + 1]).is_file()
    if name == "opusparcus_row.sh":
        return
    done, again = driver(name, TOKENS="1")
    assert [words for words in again if not words[0].startswith("evaluate")] == []


def test_a_step_that_fails_ends_a_study_and_the_next_run_continues_there(driver):
    names = {"LANGUAGES": "fr", "SENTENCES": "12", "BEAM": "3"}
    done, calls = driver("translation.sh", FAILING="mixed_nmt --epochs", **names)
    assert done.returncode == 3 and "broken" in done.stderr and after(calls[-1], "--output") == "mixed_nmt"
    done, again = driver("translation.sh", **names)
    assert done.returncode == 0 and again[0] == calls[-1]
    assert len([words for words in again if words[0] == "back-translate"]) == 3


def test_a_quarter_of_msrps_training_part_is_tested_on_and_the_rest_trained_on(driver, tmp_path):
    done, _ = driver("sdae.sh")
    assert done.returncode == 0, done.stderr
    whole = (tmp_path / "data/msrp/msr_paraphrase_train.txt").read_text().splitlines()
    made = tmp_path / "sdae.sh/work/transfer"
    train, test = ((made / f"msr_paraphrase_{part}.txt").read_text().splitlines() for part in ("train", "test"))
    assert train == whole[:8] and test == [whole[0], *whole[8:]]
