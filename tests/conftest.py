from __future__ import annotations

import importlib.util
import os
import sys
from pathlib import Path

import pytest

# Nothing in the suite may reach the network, and a test must not be slower for a busy second core.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"
SCRIPTS = Path(__file__).resolve().parents[1] / "scripts"


@pytest.fixture(scope="session")
def real_data_dir() -> Path:
    """The folder with the real corpora; tests that need it carry the marker `real_data`."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"the real corpora are not at {REAL_DATA}")
    return REAL_DATA


@pytest.fixture
def load_script(monkeypatch):
    """Loads a file of `scripts/` by its name, in this process, and gives its module."""

    def load(name):
        # A script may add its folder to the path.
        monkeypatch.setattr(sys, "path", [*sys.path])
        specification = importlib.util.spec_from_file_location(name, SCRIPTS / f"{name}.py")
        module = importlib.util.module_from_spec(specification)
        monkeypatch.setitem(sys.modules, name, module)
        specification.loader.exec_module(module)
        return module

    return load


@pytest.fixture
def run_script(load_script, monkeypatch):
    """Runs the `main` of a file of `scripts/` with words of a command line, in this process, and gives its result."""

    def run(name, *words):
        module = load_script(name)
        monkeypatch.setattr(sys, "argv", [name, *map(str, words)])
        return module.main()

    return run
