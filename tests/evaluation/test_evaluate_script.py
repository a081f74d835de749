from __future__ import annotations

import subprocess
import sys
from pathlib import Path

SCRIPTS = Path(__file__).resolve().parents[2] / "scripts"


def test_the_script_named_evaluate_does_not_hide_the_library_of_that_name():
    program = (
        "import importlib.util, runpy, sys\n"
        f"sys.path.insert(0, {str(SCRIPTS)!r})\n"
        f"runpy.run_path({str(SCRIPTS / 'evaluate.py')!r})\n"
        "print(importlib.util.find_spec('evaluate').origin)"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert Path(done.stdout.strip()).parent != SCRIPTS and done.stdout.strip().endswith("__init__.py")
