from __future__ import annotations

import pytest
import sacrebleu
from small_runs import bitext_of

from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.jobs.pair_output import merge_reports
from hf_paraphrase.translation.bitext import trainable_rows
from hf_paraphrase.translation.bleu import bleu_tokenizer, corpus_scores, translation_table


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


TEXTS = {
    "en": (
        ["The cat sat on the mat.", "A Dog barks at 3.5 cats!"],
        ["the cat sat on a mat.", "A dog barked at 3.5 Cats!"],
    ),
    "zh": (["猫坐在垫子上。", "今天天气很好。"], ["猫坐在那个垫子上。", "今天的天气非常好。"]),
}


@pytest.mark.parametrize("lowercase", [False, True])
@pytest.mark.parametrize(
    ("language", "tokenizer"), [("en", "13a"), ("en-GB", "13a"), ("zh", "zh"), ("zho-Hant", "zh")]
)
def test_scores_and_signatures_are_those_of_sacrebleu_for_the_target_language(language, tokenizer, lowercase):
    hypotheses, references = TEXTS["zh" if tokenizer == "zh" else "en"]
    scores = corpus_scores(hypotheses, references, target_lang=language, lowercase=lowercase)
    metrics = {
        "bleu": sacrebleu.BLEU(trg_lang=tokenizer if tokenizer == "zh" else "en", lowercase=lowercase),
        "chrf": sacrebleu.CHRF(lowercase=lowercase),
        "ter": sacrebleu.TER(**dict.fromkeys(("normalized", "asian_support"), tokenizer == "zh")),
    }
    for name, metric in metrics.items():
        assert scores[name] == metric.corpus_score(hypotheses, [references]).score > 1
        assert scores[f"{name}_signature"] == str(metric.get_signature())


def test_languages_without_spaces_are_scored_by_letters_where_sacrebleus_own_tokenizer_is_missing(monkeypatch):
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    assert {bleu_tokenizer(language) for language in ("ja", "jpn", "ko-KR", "th", "km")} == {"char"}
    assert bleu_tokenizer(None) == bleu_tokenizer("und") == bleu_tokenizer("fr") == "13a"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert [bleu_tokenizer(language) for language in ("ja", "ko")] == ["ja-mecab", "ko-mecab"]
    scores = corpus_scores(["แมวนั่งบนเสื่อ"], ["แมวนั่งบนพรม"], target_lang="th", metrics=["bleu"])
    assert scores["bleu"] > 20 and "tok:char" in scores["bleu_signature"]


def test_a_tokenizer_that_sacrebleu_cannot_load_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    with pytest.raises(UsageError, match=r"sacrebleu cannot load its tokenizer `flores200`.*--bleu-tokenizer char"):
        corpus_scores(["a"], ["a"], tokenizer="flores200")
