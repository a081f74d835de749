from __future__ import annotations

import pytest


@pytest.fixture(scope="session")
def library():
    """The library sentence-transformers."""
    return pytest.importorskip("sentence_transformers")
