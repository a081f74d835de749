from __future__ import annotations

import os
from pathlib import Path

import pytest

# Nothing in the suite may reach the network, and a test must not be slower for a busy second core.
os.environ.setdefault("HF_HUB_OFFLINE", "1")
os.environ.setdefault("TOKENIZERS_PARALLELISM", "false")

REAL_DATA = Path(__file__).resolve().parents[2] / "shared" / "data"


@pytest.fixture(scope="session")
def real_data_dir() -> Path:
    """The folder with the real corpora; tests that need it carry the marker `real_data`."""
    if not REAL_DATA.is_dir():
        pytest.skip(f"the real corpora are not at {REAL_DATA}")
    return REAL_DATA
