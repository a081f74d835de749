from __future__ import annotations

import pytest

from hf_paraphrase.hub.licences import refusal
from hf_paraphrase.registry import SOURCES

ALLOWED = "cc-by-2.0 cc-by-nc-4.0 cc0-1.0 mit odbl CC-BY-4.0"


@pytest.mark.parametrize("licence", ALLOWED.split())
def test_licences_that_allow_redistribution_are_accepted(licence):
    assert refusal({"license": licence}) is None
    assert refusal({"license": [licence, "mit"]}) is None


@pytest.mark.parametrize(
    ("head", "wording"),
    [
        ({}, "states no licence"),
        ({"license": "other"}, "`other`, which does not say"),
        ({"license": "other", "license_name": "ldc"}, "`other` (ldc), which does not say"),
        ({"license": "cc-by-nd-4.0"}, "forbids passing on changed copies"),
        ({"license": "mit-but-not-really"}, "not one that is known"),
        ({"license": ["mit", "other"]}, "`other`, which does not say"),
        ({"license": {"a": 1}}, "not one that is known"),
    ],
)
def test_any_other_licence_is_refused_with_the_reason(head, wording):
    assert wording in (refusal(head) or "")


@pytest.mark.parametrize("name", ["opusparcus", "ppdb", "sick", "simpwiki", "turku"])
def test_the_licences_of_our_own_sources_are_known(name):
    assert refusal({"license": SOURCES[name].LICENSE}) is None
