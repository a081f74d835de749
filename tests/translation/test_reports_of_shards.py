from __future__ import annotations

import pytest

from hf_paraphrase.errors import UsageError
from hf_paraphrase.translation.back_translation import merged_reports
from hf_paraphrase.translation.evaluate import TranslationEvaluationSettings


def test_counts_of_shards_are_added_up_and_their_skipped_sentences_listed(tmp_path):
    reports = [{"rows": 2, "skipped": [{"id": "é"}]}, {"rows": 3, "skipped": []}]
    assert merged_reports(tmp_path, reports, ["rows"]) == {"rows": 5, "skipped_sentences": 1}
    assert (tmp_path / "skipped.jsonl").read_text(encoding="utf-8") == '{"id": "é"}\n'


def test_greedy_search_is_the_narrowest_that_is_scored():
    TranslationEvaluationSettings(model="m", bitext="b", num_beams=[1]).check()
    with pytest.raises(UsageError, match="--num-beams must be at least 1, not 0"):
        TranslationEvaluationSettings(model="m", bitext="b", num_beams=[0]).check()
