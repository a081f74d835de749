from __future__ import annotations

import pytest

from hf_paraphrase.data.sample import GradedPair, SamplePair, sample_bitext, sample_similarity


@pytest.fixture(scope="session")
def bitext() -> dict[str, list[SamplePair]]:
    return sample_bitext()


@pytest.fixture(scope="session")
def graded() -> dict[str, list[GradedPair]]:
    return sample_similarity()
