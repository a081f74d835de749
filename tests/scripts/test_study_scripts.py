from __future__ import annotations

import re

import pytest
from study_runs import SCRIPTS


@pytest.mark.parametrize("path", sorted((SCRIPTS / "studies").glob("*.sh")), ids=lambda path: path.name)
def test_a_study_says_in_its_first_lines_how_long_it_takes(path):
    first = " ".join(path.read_text(encoding="utf-8").splitlines()[1:4])
    assert re.search(r"\b(seconds|minutes?|hours?)\b", first.lower()), f"{path.name} does not say how long it takes"
