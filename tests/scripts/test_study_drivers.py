"""The drivers of studies in bash: every call is one that its command understands, and none is made twice."""

from __future__ import annotations

import gzip
import os
import subprocess
from pathlib import Path

import pytest
from parsed_calls import SCRIPTS, parsed

STUDIES = SCRIPTS / "studies"
DRIVERS = sorted(path.name for path in STUDIES.glob("*.sh") if path.name != "common.sh")
PLACES = {
    "builtin_encoder.sh": ("data", "dict", "MINILM", "work"),
    "multilingual_encoder.sh": ("data", "dict", "MINILM", "work"),
    "opusparcus_row.sh": ("data", "fi", "work"),
}
VERB = """#!/usr/bin/env bash
# Records its words and makes what it is asked for; fails where its words have a given part.
(IFS=$'\\t'; echo "$*" >> "$CALLS")
case "$*" in *"${FAILING:-nothing fails}"*) echo broken >&2; exit 3 ;; esac
verb=$1
while [ $# -gt 0 ]; do
  case "$1" in
    --output) output=$2 ;;
    --model) model=$2 ;;
    --bitext) bitext=$2 ;;
  esac
  shift
done
if [ "$verb" = evaluate-nmt ]; then
  echo "| ${bitext##*/}, test | 20.0 |" >> "$model/README.md"
  exit
fi
[ -z "$output" ] || { mkdir -p "$output" && echo "| bitext | BLEU |" > "$output/README.md"; }
"""
PYTHON = """#!/usr/bin/env bash
# Prints a number for `-c`, and else records its words and prints a line.
[ "$1" != -c ] || { echo 12; exit; }
(IFS=$'\\t'; echo "$*" >> "$CALLS.python")
echo the table
"""


@pytest.fixture
def driver(tmp_path):
    """Runs a driver with stand-ins for the programs; gives the process, and the calls of verbs and of scripts."""
    for name in ("text", "dict", "MINILM"):
        (tmp_path / "data" / name).mkdir(parents=True)
        (tmp_path / name).mkdir()
    (tmp_path / "data/text/news.txt.gz").write_bytes(gzip.compress(b"some news .\n"))
    (tmp_path / "bin").mkdir()
    for name, text in (("hf-paraphrase", VERB), ("python", PYTHON)):
        (tmp_path / "bin" / name).write_text(text)
        (tmp_path / "bin" / name).chmod(0o755)

    def run(name, **environment):
        calls = [tmp_path / "calls", tmp_path / "calls.python"]
        for file in calls:
            file.write_text("")
        path = f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"
        done = subprocess.run(
            ["bash", str(STUDIES / name), *PLACES.get(name, ("data", "work"))],
            cwd=tmp_path,
            env={**os.environ, "CALLS": str(calls[0]), "PATH": path, **environment},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, *([line.split("\t") for line in file.read_text().splitlines()] for file in calls)

    return run


@pytest.mark.parametrize("name", DRIVERS)
def test_every_call_is_understood_learns_from_no_test_set_and_is_not_made_again(driver, name):
    done, calls, scripts = driver(name)
    # `tune` has a stand-in that makes no table, at which a driver ends when it prints it.
    assert calls and (done.returncode == 0 or "table.md" in done.stderr), done.stderr
    for words in calls:
        parsed(words)
        if words[:2] in (["prepare", "pairs"], ["prepare", "bitext"]) and name != "mining.sh":
            assert "--decontaminate" in words and "held_out.sha256-16.txt.gz" in " ".join(words), words
    for script, *words in scripts:
        source = Path(script).read_text(encoding="utf-8")
        assert all(f'"{word}"' in source for word in words if word.startswith("--")), words
        assert Path(script).name != "make_data.py" or f'"{words[0]}": ' in source
    if name != "opusparcus_row.sh":
        again = driver(name)[1]
        assert [words for words in again if not words[0].startswith("evaluate")] == []


def test_a_step_that_fails_ends_a_study_and_the_next_run_continues_there(driver):
    names = {"LANGUAGES": "fr", "SENTENCES": "12", "BEAM": "3"}
    done, calls, _ = driver("translation.sh", FAILING="mixed_nmt --epochs", **names)
    assert done.returncode == 3 and "broken" in done.stderr
    assert calls[-1][calls[-1].index("--output") + 1].endswith("mixed_nmt")
    done, again, _ = driver("translation.sh", **names)
    assert done.returncode == 0 and again[0] == calls[-1]
    assert len([words for words in again if words[0] == "back-translate"]) == 3
