from __future__ import annotations

import pytest

from hf_paraphrase.models import matrix_products


@pytest.fixture(autouse=True)
def one_dnn_for_small_products(monkeypatch):
    """Has the models here, which are tiny, compute by oneDNN, as those of a usual size do."""
    monkeypatch.setattr(matrix_products, "_SMALL", 0)
