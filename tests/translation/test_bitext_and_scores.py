from __future__ import annotations

import pytest
from small_runs import bitext_of

from hf_paraphrase.errors import InputError
from hf_paraphrase.jobs.pair_output import merge_reports
from hf_paraphrase.translation.bitext import trainable_rows
from hf_paraphrase.translation.evaluate import translation_table


def test_empty_and_too_long_pairs_are_left_out_and_each_side_is_normalised_by_its_language():
    rows = [("un", "one"), ("", "two"), ("trois", None), ("a b c d", "four"), ("  ", "x")]
    # English puts the comma inside the quotes, other languages leave it outside.
    rows += [("«oui», dit", "“yes”, he says")]
    assert trainable_rows(bitext_of(rows), max_words=3) == (["un", '"oui", dit'], ["one", '"yes," he says'], 4)
    with pytest.raises(InputError, match="none of the 1 sentence pairs has 1 to 3 words"):
        trainable_rows(bitext_of([("un deux trois quatre", "one")]), max_words=3)


def test_counts_of_shards_are_added_up_and_their_skipped_sentences_listed(tmp_path):
    reports = [{"rows": 2, "skipped": [{"id": "é"}]}, {"rows": 3, "skipped": []}]
    assert merge_reports(tmp_path, reports, ["rows"]) == {"rows": 5, "skipped_sentences": 1}
    assert (tmp_path / "skipped.jsonl").read_text(encoding="utf-8") == '{"id": "é"}\n'


def evaluation(split, bleu, case):
    score = {"num_beams": 5, "sentences": 1000, "bleu": bleu, "chrf": 70.0}
    score |= {"bleu_signature": f"case:{case}", "chrf_signature": f"case:{case}"}
    return {"kind": "evaluate-nmt", "bitext": "captions", "split": split, "scores": [score]}


def test_signatures_stand_below_the_table_or_in_it_where_there_are_several():
    table = translation_table({"b": evaluation("test", 50.0, "lc"), "a": evaluation("dev", 40.0, "mixed")})
    first, second = (line for line in table.splitlines() if line.startswith("| captions"))
    assert "dev" in first and "BLEU: `case:mixed`" in first and "50.00" in second and "chrF2: `case:lc`" in second
    table = translation_table({"a": evaluation("test", 50.0, "lc"), "b": {"kind": "evaluate"}})
    assert table.count("| captions") == 1 and "signatures" not in table and table.endswith("chrF2: `case:lc`.")
    assert translation_table({}) == ""
