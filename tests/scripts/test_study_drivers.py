"""The drivers of the encoders in the package: every call is one that its command understands, and made once."""

from __future__ import annotations

import os
import subprocess
from pathlib import Path

import pytest
from parsed_calls import SCRIPTS, parsed

VERB = """#!/usr/bin/env bash
# Records its words and makes what it is asked for.
(IFS=$'\\t'; echo "$*" >> "$CALLS")
while [ $# -gt 0 ]; do
  [ "$1" != --output ] || mkdir -p "$2"
  shift
done
"""


@pytest.mark.parametrize("name", ["builtin_encoder", "multilingual_encoder"])
def test_every_call_is_understood_learns_from_no_test_set_and_is_not_made_again(name, tmp_path):
    for folder in ("data", "dict", "MINILM", "bin"):
        (tmp_path / folder).mkdir()
    for program in ("hf-paraphrase", "python", "gzip"):
        (tmp_path / "bin" / program).write_text(VERB)
        (tmp_path / "bin" / program).chmod(0o755)
    environment = {**os.environ, "PATH": f"{tmp_path / 'bin'}{os.pathsep}{os.environ['PATH']}"}
    words = ["bash", str(SCRIPTS / f"studies/{name}.sh"), "data", "dict", "MINILM", "work"]
    for run in ("first", "second"):
        subprocess.run(words, cwd=tmp_path, env={**environment, "CALLS": str(tmp_path / run)}, check=True)
    calls = [line.split("\t") for line in (tmp_path / "first").read_text().splitlines()]
    for call in calls:
        if call[0].endswith(".py"):
            source = Path(call[0]).read_text(encoding="utf-8")
            assert f'"{call[1]}": ' in source and all(f'"{word}"' in source for word in call if word[:2] == "--")
        elif call[0] != "-cd":
            parsed(call)
            if call[:2] == ["prepare", "bitext"] or call[0] == "distill":
                assert "--decontaminate" in call and "data/held_out.sha256-16.txt.gz" in call, call
    assert len(calls) > 5 and not (tmp_path / "second").exists()
