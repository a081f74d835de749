from __future__ import annotations

from hf_paraphrase.translation.bleu import translation_table


def evaluation(split, bleu, case):
    score = {"num_beams": 5, "sentences": 1000, "bleu": bleu, "chrf": 70.0}
    score |= {"bleu_signature": f"case:{case}", "chrf_signature": f"case:{case}"}
    return {"kind": "evaluate-nmt", "bitext": "captions", "split": split, "scores": [score]}


def test_every_row_says_which_signature_is_its_own():
    table = translation_table({"b": evaluation("test", 50.0, "lc"), "a": evaluation("dev", 40.0, "mixed")})
    first, second = (line for line in table.splitlines() if line.startswith("| captions"))
    assert "dev" in first and first.endswith(" 1 |") and "50.00" in second and second.endswith(" 2 |")
    assert "1: BLEU: `case:mixed`; chrF2: `case:mixed`; 2: BLEU: `case:lc`" in table


def test_a_single_signature_stands_below_and_other_or_unreadable_results_are_passed_over():
    table = translation_table({"a": evaluation("test", 50.0, "lc"), "b": {"kind": "evaluate"}, "c": 5, "d": {}})
    assert table.count("| captions") == 1 and "signature |" not in table and table.endswith("chrF2: `case:lc`.")
    damaged = {"kind": "evaluate-nmt", "bitext": "captions", "split": "test", "scores": [{"bleu": "high"}]}
    assert translation_table({"a": damaged}) == "" == translation_table({})
