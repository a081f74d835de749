from __future__ import annotations

import pytest
from tiny_encoders import write_average

from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder


@pytest.fixture(scope="session")
def encoder(tmp_path_factory):
    """An encoder of the words w0 to w29, for servers."""
    words = [f"w{number}" for number in range(30)]
    return SentenceEncoder.from_pretrained(write_average(tmp_path_factory.mktemp("model"), words, hidden_size=8))
