from __future__ import annotations

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import sacrebleu
from small_runs import bitext_of, write_bitext

from hf_paraphrase.errors import InputError, UsageError
from hf_paraphrase.jobs.sharded_output import merge_reports
from hf_paraphrase.translation import tokenized_bitext
from hf_paraphrase.translation.bitext import clean_rows, languages_of, open_bitext
from hf_paraphrase.translation.bleu import bleu_tokenizer, corpus_scores, translation_table
from hf_paraphrase.translation.tokenized_bitext import ArrowRows, write_texts, write_tokens


def test_empty_and_too_long_pairs_are_left_out_and_each_side_is_normalised_by_its_language():
    rows = [("un", "one"), ("", "two"), ("trois", None), ("a b c d", "four"), ("  ", "x")]
    # English puts the comma inside the quotes, other languages leave it outside.
    rows += [("«oui», dit", "“yes”, he says")]
    assert clean_rows(bitext_of(rows), max_words=3) == (["un", '"oui", dit'], ["one", '"yes," he says'], 4)
    assert clean_rows(bitext_of(rows), max_words=3, moses=False).sources == ["un", "«oui», dit"]


def test_a_bitext_of_several_batches_is_written_as_one_of_one_batch_would_be(tmp_path, monkeypatch, tiny_tokenizer):
    pairs = [(f"un deux {number}", f"one two {number}") for number in range(25)] + [("un " * 9, "one"), ("", "x")]
    bitext = open_bitext(str(write_bitext(tmp_path / "bitext", train=pairs)), "train")
    written = []
    for rows in (100, 4):
        monkeypatch.setattr(tokenized_bitext, "_ROWS_PER_BATCH", rows)
        monkeypatch.setattr(tokenized_bitext, "_ROWS_WORTH_A_PROCESS", 10 if rows == 4 else 1_000)
        monkeypatch.setattr(tokenized_bitext, "available_cores", lambda: 2)
        assert write_texts(tmp_path / "texts", [bitext, bitext], max_words=5, moses=True) == 4
        texts = ArrowRows(tmp_path / "texts")
        assert write_tokens(tmp_path / "tokens", texts, tiny_tokenizer) == 0
        written.append([ArrowRows(tmp_path / "tokens")[index] for index in range(len(texts))])
    assert written[0] == written[1] and len(written[0]) == 50
    expected = tiny_tokenizer("un deux 3")["input_ids"], tiny_tokenizer(text_target="one two 3")["input_ids"]
    assert tuple(written[0][28].values()) == expected
    assert ArrowRows(tmp_path / "tokens").lengths().tolist() == [max(map(len, row.values())) for row in written[0]]
    with pytest.raises(InputError, match="none of the 54 sentence pairs has 1 to 1 words"):
        write_texts(tmp_path / "texts", [bitext, bitext], max_words=1, moses=True)
    with pytest.raises(InputError, match="none of the 50 sentence pairs has at most 1 tokens"):
        write_tokens(tmp_path / "tokens", texts, tiny_tokenizer, max_tokens=1)


def test_variants_of_a_language_are_one_and_other_languages_are_refused(tmp_path):
    folders = []
    for name, language in (("a", "pt"), ("b", "pt-BR"), ("c", "es")):
        table = bitext_of([("um", "one")])
        table = table.set_column(table.column_names.index("source_lang"), "source_lang", pa.array([language]))
        (tmp_path / name).mkdir()
        pq.write_table(table, tmp_path / name / "train.parquet")
        folders.append(open_bitext(str(tmp_path / name), "train"))
    assert languages_of(folders[:2]) == ("pt", "en")
    with pytest.raises(InputError, match="this bitext is es→en, but the first one is pt→en"):
        languages_of(folders)


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
    assert {bleu_tokenizer(language) for language in ("zh-TW", "zho", "yue_Hant", "nan", "hak", "gan")} == {"zh"}
    assert bleu_tokenizer(None) == bleu_tokenizer("und") == bleu_tokenizer("fr") == "13a"
    monkeypatch.setattr("importlib.util.find_spec", lambda name: object())
    assert [bleu_tokenizer(language) for language in ("ja", "ko")] == ["ja-mecab", "ko-mecab"]
    scores = corpus_scores(["แมวนั่งบนเสื่อ"], ["แมวนั่งบนพรม"], target_lang="th", metrics=["bleu"])
    assert scores["bleu"] > 20 and "tok:char" in scores["bleu_signature"]


def test_a_tokenizer_that_sacrebleu_cannot_load_is_one_clear_line(monkeypatch):
    monkeypatch.setitem(__import__("sys").modules, "sentencepiece", None)
    with pytest.raises(UsageError, match=r"sacrebleu cannot load its tokenizer `flores200`.*--bleu-tokenizer char"):
        corpus_scores(["a"], ["a"], tokenizer="flores200")
