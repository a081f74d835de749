"""Any sequence-to-sequence model of transformers as a translation model, against transformers itself."""

from __future__ import annotations

import json
import math
import shutil

import pyarrow as pa
import pytest
from seq2seq_models import KINDS, LANGUAGES, SLOW, SOURCES, log_prob_of, translated
from small_runs import bitext_of, write_bitext
from transformers import BertConfig, BertModel

from hf_paraphrase import BackTranslator, BeamSearchConfig, back_translate, evaluate_nmt
from hf_paraphrase.errors import HubError, InputError, ModelError, UsageError
from hf_paraphrase.filtering.measuring import Measures, add_measures
from hf_paraphrase.translation.back_translation import is_copy, is_loop
from hf_paraphrase.translation.beam_search import translate_batch
from hf_paraphrase.translation.forced_decoding import score_translations
from hf_paraphrase.translation.loading import decoder_prefix_ids, encode_sources, load_translation_model
from hf_paraphrase.translation.translator import translate

FORCED = dict.fromkeys(("m2m100", "nllb"), "forced_bos_token_id") | {"mbart": "decoder_start_token_id"}
PREFIX = {"t5": "two four: "}
LIMIT = 12


@pytest.fixture(params=KINDS)
def opened(request, folders):
    """The kind, the model and the tokenizer."""
    kind = request.param
    if kind in SLOW:
        pytest.importorskip("sentencepiece")
    return kind, *load_translation_model(folders(kind), device="cpu", **LANGUAGES.get(kind, {}))


def as_users_do(folder, kind, texts, **settings):
    """Translates with transformers alone, sentence by sentence; returns lists of (text, decoder units)."""
    from transformers import AutoModelForSeq2SeqLM, AutoTokenizer

    model, tokenizer = AutoModelForSeq2SeqLM.from_pretrained(folder).eval(), AutoTokenizer.from_pretrained(folder)
    if kind in FORCED:
        tokenizer.src_lang = LANGUAGES[kind]["source_lang"]
        # As the model cards of these types say to find the unit of the target language.
        unit_of = tokenizer.get_lang_id if kind == "m2m100" else tokenizer.convert_tokens_to_ids
        settings[FORCED[kind]] = unit_of(LANGUAGES[kind]["target_lang"])
    first, lists = 1 + (FORCED.get(kind) == "forced_bos_token_id"), []
    for text in texts:
        batch = tokenizer(PREFIX.get(kind, "") + text, return_tensors="pt")
        rows = model.generate(**batch, num_beams=4, num_return_sequences=4, early_stopping=False, **settings).tolist()
        texts_of_rows = [tokenizer.decode(row[first:], skip_special_tokens=True).strip() for row in rows]
        lists.append([(batch, text_of_row, row) for text_of_row, row in zip(texts_of_rows, rows, strict=True)])
    return model, tokenizer, lists


def test_lists_are_those_of_generate_and_scores_those_of_teacher_forcing(opened, folders):
    kind, model, tokenizer = opened
    first = 1 + (FORCED.get(kind) == "forced_bos_token_id")
    theirs, _, expected = as_users_do(folders(kind), kind, SOURCES, max_new_tokens=LIMIT + 2)
    model.generation_config.max_length = LIMIT + first
    units, options = encode_sources(model, tokenizer, SOURCES), BeamSearchConfig(4, 4, max_length_ratio=100)
    found = translate_batch(model, tokenizer, units, options, scorer=model)
    end = model.generation_config.eos_token_id
    assert len({item.text for nbest in found for item in nbest}) > 3
    for nbest, others in zip(found, expected, strict=True):
        # A text that was cut at the limit is no translation, but `generate` lists it like one.
        rows = [item for item in others if end in item[2][first:] and item[2].index(end, first) - first < LIMIT]
        rows = [(batch, text, row[: row.index(end, first) + 1]) for batch, text, row in rows]
        scores = [log_prob_of(theirs, row, first, **batch) for batch, _, row in rows]
        assert all(item.finished for item in nbest) and len(nbest) >= len(rows) > 0
        nbest = nbest[: len(rows)]
        assert [item.text for item in nbest] == [text for _, text, _ in rows]
        assert [item.num_tokens for item in nbest] == [len(row) - first - 1 for _, _, row in rows]
        assert [item.log_prob for item in nbest] == pytest.approx(scores, abs=1e-4)


def test_translations_do_not_depend_on_the_batch_and_blank_texts_have_none(opened):
    _, model, tokenizer = opened
    texts = [*SOURCES, "", " \u200b\ufeff", *SOURCES[:1]]
    alone = [translate(model, tokenizer, [text], num_beams=3)[0] for text in texts]
    assert translate(model, tokenizer, texts, num_beams=3) == alone
    assert alone[3] == alone[4] == "" and any(alone)


def test_scores_of_given_translations_equal_those_of_one_unit_at_a_time(opened):
    kind, model, tokenizer = opened
    targets = [translated(text) for text in SOURCES]
    scores = score_translations(model, tokenizer, [*SOURCES, SOURCES[0], ""], [*targets, "", "one"])
    start, end = decoder_prefix_ids(model), model.generation_config.eos_token_id
    for source, target, log_prob, count in zip(SOURCES, targets, *scores, strict=False):
        batch = tokenizer(PREFIX.get(kind, "") + source, return_tensors="pt")
        units = tokenizer(text_target=target, add_special_tokens=False)["input_ids"]
        expected = log_prob_of(model, [*start, *units, end], len(start), **batch)
        assert log_prob == pytest.approx(expected, abs=1e-4) and count == len(units)
    assert [math.isnan(value) for value in scores.log_probs] == [False] * 3 + [True] * 2


def test_the_models_own_generation_config_holds(folders, tmp_path):
    folder = shutil.copytree(folders("t5"), tmp_path / "model")
    model, tokenizer = load_translation_model(folder, device="cpu", **LANGUAGES["t5"])
    (text,) = translate(model, tokenizer, SOURCES[:1])
    banned = [[unit] for unit in tokenizer(text, add_special_tokens=False)["input_ids"]]
    model.generation_config.update(bad_words_ids=banned, max_length=3, eos_token_id=[1, 0])
    model.generation_config.save_pretrained(folder)
    model, tokenizer = load_translation_model(folder, device="cpu", **LANGUAGES["t5"])
    (nbest,) = translate_batch(model, tokenizer, encode_sources(model, tokenizer, SOURCES[:1]), BeamSearchConfig(2, 1))
    assert nbest[0].num_tokens <= 2 and not set(nbest[0].text.split()) & set(text.split())
    assert model.generation_config.eos_token_id == [1, 0]


def test_several_end_units_all_end_a_translation(folders):
    model, tokenizer = load_translation_model(folders("t5"), device="cpu", **LANGUAGES["t5"])
    units = encode_sources(model, tokenizer, SOURCES)
    (first, *_), *_ = translate_batch(model, tokenizer, units, BeamSearchConfig(20, 1), scorer=model)
    end = tokenizer(text_target=first.text)["input_ids"][0]
    model.generation_config.eos_token_id = [1, end]
    for nbest in translate_batch(model, tokenizer, units, BeamSearchConfig(20, 20), scorer=model):
        assert all(item.finished and end not in tokenizer(text_target=item.text)["input_ids"] for item in nbest)


# ----- languages


@pytest.mark.parametrize(("kind", "side"), [("nllb", "source"), ("mbart", "target"), ("t5", "target")])
def test_a_language_that_the_model_does_not_know_is_refused_with_those_it_knows(folders, kind, side):
    known = LANGUAGES[kind][f"{side}_lang"]
    for given in ("tlh", None):
        with pytest.raises(UsageError) as refused:
            load_translation_model(folders(kind), device="cpu", **{**LANGUAGES[kind], f"{side}_lang": given})
        message = str(refused.value)
        assert known in message and f"--model-{side}-lang" in message and "\n" not in message
        assert ("`tlh`" in message) == (given is not None)


def test_a_language_may_be_given_by_the_code_of_another_model_if_one_is_meant(folders):
    for kind in ("nllb", "mbart"):
        model, _ = load_translation_model(folders(kind), device="cpu", source_lang="fr", target_lang="eng_Latn")
        found = {"source_lang": model.config.source_lang, "target_lang": model.config.target_lang}
        assert found == LANGUAGES[kind]
    for several in ("zh", "sr_Latn"):
        with pytest.raises(UsageError, match=f"know the source language `{several}`"):
            load_translation_model(folders("nllb"), device="cpu", source_lang=several, target_lang="en")


def test_a_model_of_two_languages_takes_no_others(folders):
    pytest.importorskip("sentencepiece")
    model, _ = load_translation_model(folders("marian"), device="cpu")
    assert (model.config.source_lang, model.config.target_lang) == ("fr", "en")
    with pytest.raises(UsageError, match=r"does not know the source language `de` \(give a model for `de`, or"):
        load_translation_model(folders("marian"), device="cpu", source_lang="de")


def test_the_target_language_of_a_marian_model_of_several_is_a_mark_before_the_source(folders, tmp_path):
    pytest.importorskip("sentencepiece")
    folder = shutil.copytree(folders("marian"), tmp_path / "model")
    vocabulary = json.loads((folder / "vocab.json").read_text())
    worst = max(vocabulary.items(), key=lambda item: item[1] if item[0] != "<pad>" else -1)
    del vocabulary[worst[0]]
    (folder / "vocab.json").write_text(json.dumps({**vocabulary, ">>deu<<": worst[1]}))
    model, tokenizer = load_translation_model(folder, device="cpu", target_lang="deu")
    assert encode_sources(model, tokenizer, ["un"])[0][0] == worst[1]
    with pytest.raises(UsageError, match="--model-target-lang deu"):
        load_translation_model(folder, device="cpu", target_lang="fra")


# ----- bad input


def test_what_is_no_translation_model_or_incomplete_is_one_line(folders, tmp_path):
    BertModel(BertConfig(vocab_size=10, hidden_size=4, num_hidden_layers=1, num_attention_heads=1)).save_pretrained(
        tmp_path / "bert"
    )
    bare = shutil.copytree(folders("t5"), tmp_path / "bare")
    for file in [*bare.glob("*token*"), *bare.glob("spiece*")]:
        file.unlink()
    weightless = shutil.copytree(folders("t5"), tmp_path / "weightless")
    (weightless / "model.safetensors").rename(weightless / "pytorch_model.bin")
    for name, problem in {
        "bert": "a model of type `bert` is not a translation model",
        "bare": "no tokenizer",
        "weightless": "no weights",
        "absent": "no such model folder",
    }.items():
        with pytest.raises(ModelError, match=problem) as refused:
            load_translation_model(tmp_path / name, device="cpu")
        assert "\n" not in str(refused.value) and name in str(refused.value)
    with pytest.raises(HubError, match="cannot fetch it"):
        load_translation_model("nobody/no-such-translation-model", device="cpu")


def test_sources_longer_than_the_model_reads_are_skipped_or_cut_and_counted(folders):
    long = " ".join(["un"] * 80)
    function = BackTranslator(str(folders("mbart")), BeamSearchConfig(2, 1), device="cpu", **LANGUAGES["mbart"])
    pairs, report = function.process(bitext_of((text, "one") for text in (SOURCES[0], long, "\u200e")))
    (first, reason), second = report["skipped"][0].values(), report["skipped"][1]
    assert first == "1" and reason.endswith("more than 60") and second == {"id": "2", "reason": "empty source"}
    assert pairs.num_rows == 1
    opened = function.translator.model, function.translator.tokenizer
    assert translate(*opened, [long])[0]
    assert math.isnan(score_translations(*opened, [long], ["one"]).log_probs[0])


def test_copies_and_loops_are_recognised():
    assert is_copy("Un  chat", "un\u200b chat ") and not is_copy("a cat", "un chat")
    assert is_loop("so on and on and on and on and on") and not is_loop("no no no") and not is_loop("")


# ----- the verbs


def test_pairs_of_any_model_have_ranks_and_scores_and_the_card_says_what_was_done(folders, tmp_path):
    bitext = write_bitext(tmp_path / "bitext", train=[(text, "one") for text in SOURCES])
    common = {"model": str(folders("nllb")), "bitext": str(bitext)}
    common |= {f"model_{name}": value for name, value in LANGUAGES["nllb"].items()}
    common |= {"num_beams": 3, "precision": "fp32", "device": "cpu"}
    made = back_translate(**common, output=str(tmp_path / "made"))
    rows = made.table().to_pylist()
    assert {row["rank"] for row in rows} == {0, 1, 2} and all(math.isfinite(row["log_prob"]) for row in rows)
    assert "copies of their source" in (made.path / "README.md").read_text()
    with pytest.raises(InputError, match="the source is fr"):
        back_translate(**{**common, "model_source_lang": "deu_Latn"}, output=str(tmp_path / "wrong"))


def test_any_model_is_evaluated_measures_cost_and_is_offered_by_the_demo_page(folders, tmp_path):
    from hf_paraphrase.demo.model_catalogue import ModelCatalogue

    folder, languages = str(folders("t5")), {f"model_{name}": value for name, value in LANGUAGES["t5"].items()}
    bitext = write_bitext(tmp_path / "bitext", train=[(text, "one") for text in SOURCES])
    options = {"bitext": str(bitext), "split": "train", "num_beams": [1]}
    found = evaluate_nmt(model=folder, **options, device="cpu", **languages)
    catalogue = ModelCatalogue([folder], device="cpu", languages=LANGUAGES["t5"])
    assert catalogue.translators == ["t5"] and catalogue.encoders == ["builtin", "multilingual"]
    model, tokenizer = catalogue.translator("t5")
    assert found.translations == translate(model, tokenizer, SOURCES, num_beams=1)
    targets = list(map(translated, SOURCES))
    pairs = pa.table({"source": SOURCES, "sentence1": SOURCES, "sentence2": targets})
    measures = Measures(translation_model=folder, **languages)
    costs = add_measures(pairs, ["cost"], measures=measures).column("cost").to_pylist()
    scores = score_translations(model, tokenizer, SOURCES, targets)
    assert costs == pytest.approx((-scores.log_probs / scores.num_tokens).tolist())
