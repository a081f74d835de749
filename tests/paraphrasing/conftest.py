from __future__ import annotations

import functools

import pytest
from seq2seq_models import save_model


@pytest.fixture(scope="session")
def folders(tmp_path_factory):
    """Makes the folder of a model of transformers' own types when it is first asked for."""
    return functools.cache(lambda kind: save_model(kind, tmp_path_factory.mktemp("seq2seq") / kind))
