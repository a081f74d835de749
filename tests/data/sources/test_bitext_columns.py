from __future__ import annotations

import pytest
from datasets import ClassLabel, Dataset, Features, Value, load_dataset

from hf_paraphrase import prepare_bitext, prepare_pairs

ESCAPED = "l &apos; &quot; &amp;lt; a @-@ b &#124; &#91;x&#93;"
PLAIN = "l ' \" &lt; a-b | [x]"


@pytest.mark.parametrize("moses_escapes", [False, True])
def test_escapes_of_moses_are_decoded_in_bitext_and_pairs_on_request_only(tmp_path, moses_escapes):
    (tmp_path / "a.tsv").write_text(f"{ESCAPED}\tthe @-@ dog\n")
    options = {"tsv": tmp_path / "a.tsv", "moses_escapes": moses_escapes}
    bitext = prepare_bitext(source_lang="fr", target_lang="en", output=tmp_path / "bitext", **options).table()
    pairs = prepare_pairs(output=tmp_path / "pairs", **options).table()
    expected = (PLAIN, "the-dog") if moses_escapes else (ESCAPED, "the @-@ dog")
    assert (bitext["source"][0].as_py(), bitext["target"][0].as_py()) == expected
    assert (pairs["sentence1"][0].as_py(), pairs["sentence2"][0].as_py()) == expected


@pytest.mark.parametrize("sides", ["translation", "codes"])
def test_other_columns_of_a_bitext_are_kept_with_their_types_on_request_only(tmp_path, sides):
    texts = {"fr": ["un chat", " ", "un chien"], "en": ["a cat", "b", "a dog"]}
    columns = {"domain": [0, 1, 1], "score": [0.5, 0.25, None]}
    rows = [dict(zip(texts, row, strict=True)) for row in zip(*texts.values(), strict=True)]
    columns |= {"translation": rows} if sides == "translation" else texts
    kinds = {"domain": ClassLabel(names=["law", "news"]), "score": Value("float64")}
    text = Value("string")
    kinds |= {"translation": {"fr": text, "en": text}} if sides == "translation" else {"fr": text, "en": text}
    (tmp_path / "raw").mkdir()
    Dataset.from_dict(columns, features=Features(kinds)).to_parquet(tmp_path / "raw" / "train.parquet")
    for side, line in (("fr", "oui\n"), ("en", "yes\n")):
        (tmp_path / f"test.{side}").write_text(line)
    options = {"dataset": tmp_path / "raw", "source_lang": "fr", "target_lang": "en"}
    tests = {"test_source_file": tmp_path / "test.fr", "test_target_file": tmp_path / "test.en"}
    assert prepare_bitext(output=tmp_path / "plain", **options).schema().names[5:] == []
    prepare_bitext(output=tmp_path / "kept", keep_columns=True, **options, **tests)
    made = load_dataset(str(tmp_path / "kept"), cache_dir=str(tmp_path / "cache"))
    assert made["train"].features["domain"].names == ["law", "news"]
    kept = [(row["source"], row["domain"], row["score"]) for row in made["train"]]
    assert kept == [("un chat", 0, 0.5), ("un chien", 1, None)]
    assert [(row["source"], row["domain"], row["score"]) for row in made["test"]] == [("oui", None, None)]
