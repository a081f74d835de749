"""Runs of the scripts of the studies with stand-ins for the programs that they call, shared by their tests."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

from hf_paraphrase.commands.parser import parse
from hf_paraphrase.commands.verbs import recipe_and_flags

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"
STAND_IN = """#!/usr/bin/env bash
# Records its words and makes what it is asked for; fails, or runs for ever, where its words have a given part.
(IFS=$'\\t'; echo "$*" >> "$CALLS")
case "$*" in *"${FAILING:-nothing fails}"*) echo broken >&2; exit 3 ;; esac
case "$*" in *"${ENDLESS:-nothing is endless}"*) exec sleep 600 ;; esac
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
case "$output" in
  "") ;;
  *.json) touch "$output" ;;
  *) mkdir -p "$output" && echo "| bitext | BLEU |" > "$output/README.md" ;;
esac
"""

PYTHON = """#!/usr/bin/env bash
# Prints a number for `-c`, and else records its words and prints a line.
[ "$1" != -c ] || { echo 12; exit; }
(IFS=$'\\t'; echo "$*" >> "$CALLS.python")
echo the table
"""


class StudyRuns:
    """Runs a script of a study in a folder of its own.

    Args:
        folder: The folder.
        script: The script's name.
        python: Whether `python` has a stand-in too.
        places: The words that the script is called with.
    """

    def __init__(
        self, folder: Path, script: str, python: bool = False, places: tuple[str, ...] = ("data", "work")
    ) -> None:
        self.folder = folder
        self.places = places
        self.script = SCRIPTS / script
        self.programs = folder / "bin"
        self.programs.mkdir()
        self._program("hf-paraphrase", STAND_IN)
        if python:
            self._program("python", PYTHON)

    def _program(self, name: str, text: str) -> None:
        (self.programs / name).write_text(text)
        (self.programs / name).chmod(0o755)

    def scripts(self):
        """Returns the words of each call of a script in the last run."""
        lines = (self.folder / "calls.txt.python").read_text().splitlines()
        return [line.split("\t") for line in lines]

    def __call__(self, **environment):
        """Runs the script; gives the finished process, and the words of each call of `hf-paraphrase`."""
        calls = self.folder / "calls.txt"
        calls.write_text("")
        calls.with_name("calls.txt.python").write_text("")
        given = {"CALLS": str(calls), "PATH": f"{self.programs}{os.pathsep}{os.environ['PATH']}", **environment}
        done = subprocess.run(
            ["bash", str(self.script), *self.places],
            cwd=self.folder,
            env={**os.environ, **given},
            capture_output=True,
            text=True,
            check=False,
        )
        return done, [line.split("\t") for line in calls.read_text().splitlines()]


def after(words, flag):
    """Returns the last part of the path behind a flag."""
    return Path(words[words.index(flag) + 1]).name


def parsed(words):
    """Reads a recorded call as the command would."""
    name, recipe, flags = recipe_and_flags(words)
    return parse(recipe.settings, name, flags)
