from __future__ import annotations

import os
import subprocess
from pathlib import Path

SCRIPT = Path(__file__).resolve().parents[2] / "scripts" / "run_quickstart.sh"


def test_the_last_line_is_the_command_by_which_the_shell_learns_the_programs(tmp_path):
    programs = tmp_path / "an environment" / "bin"
    programs.mkdir(parents=True)
    for name in ("python", "hf-paraphrase"):
        (programs / name).write_text('#!/usr/bin/env bash\necho "called: $*"\n')
        (programs / name).chmod(0o755)
    (programs / "activate").write_text("echo activated\n")
    environment = {**os.environ, "VENV": str(programs.parent)}
    done = subprocess.run(
        ["bash", str(SCRIPT), str(tmp_path / "out")], env=environment, capture_output=True, text=True, check=True
    )
    lines = done.stdout.splitlines()
    assert lines[-2] == f"called: quickstart --output {tmp_path / 'out'} --resume"
    again = subprocess.run(["bash", "-c", lines[-1]], cwd=tmp_path, capture_output=True, text=True, check=True)
    assert again.stdout == "activated\n"
