"""The folders of `train-encoder` in sentence-transformers and model2vec; skipped where those are not installed."""

from __future__ import annotations

import importlib.util
import json
from pathlib import Path

import numpy as np
import pytest
import torch
from transformers import AutoModelForSequenceClassification, AutoTokenizer

from hf_paraphrase.classification.parallel_classifier import ParallelClassifier
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.models.registry import MODELS
from hf_paraphrase.translation.loading import load_translation_model

SOURCES = ["je suis là", "deux", "tom est un homme ."]
TARGETS = ["i am here", "two", "tom is a man ."]


def encoder_job(folder, texts, kind="encoder"):
    expected = SentenceEncoder.from_pretrained(folder).encode(texts)
    assert np.abs(expected[0] - expected[1]).max() > 1e-4, "the comparison would prove nothing"
    return {"kind": kind, "folder": str(folder), "texts": texts, "expected": expected.tolist()}


@torch.no_grad()
def translation_job(folder, texts):
    model, tokenizer = load_translation_model(folder, device="cpu")
    batch = tokenizer(SOURCES, padding=True, return_tensors="pt")
    asked = {"num_beams": 4, "num_return_sequences": 3, "max_length": 9, "length_penalty": 0.0}
    nbest = model.generate(**batch, **asked, output_scores=True, return_dict_in_generate=True)
    labels = tokenizer(text_target=TARGETS, padding=True, return_tensors="pt")["input_ids"]
    expected = {
        "source_ids": batch["input_ids"].tolist(),
        "targets": TARGETS,
        "target_ids": tokenizer(text_target=TARGETS)["input_ids"],
        "nbest": tokenizer.batch_decode(nbest.sequences, skip_special_tokens=True),
        "scores": nbest.sequences_scores.tolist(),
        "default": tokenizer.batch_decode(model.generate(**batch), skip_special_tokens=True),
        "loss": model(**batch, labels=labels).loss.item(),
    }
    assert model.generation_config.num_beams == 5 and any(expected["nbest"])
    return {"kind": "translation", "folder": str(folder), "texts": SOURCES, "expected": expected}


@torch.no_grad()
def classifier_job(folder, texts):
    model = AutoModelForSequenceClassification.from_pretrained(folder).eval()
    logits = model(**AutoTokenizer.from_pretrained(folder)(texts, padding=True, return_tensors="pt")).logits
    assert np.ptp(logits.numpy(), axis=0).max() > 1e-4, "the comparison would prove nothing"
    expected = {"logits": logits.tolist(), "label": model.config.id2label[int(logits[0].argmax())]}
    return {"kind": "classifier", "folder": str(folder), "texts": texts, "expected": expected}


def parallel_job(folder, texts):
    classifier = ParallelClassifier.from_pretrained(folder)
    sides = [*SOURCES, ""], [*TARGETS, ""]
    expected = classifier.probabilities(*sides)
    assert len(set(expected.tolist())) == 4, "the comparison would prove nothing"
    return {"kind": "parallel", "folder": str(folder), "texts": sides, "expected": expected.tolist()}


JOBS = {
    "translator": translation_job,
    "separate": translation_job,
    "classifier": classifier_job,
    "parallel": parallel_job,
    "labelled": classifier_job,
}


def test_every_model_that_the_commands_save_opens_and_computes_the_same_where_the_package_cannot_be_imported(
    encoder_folders, artefacts, known_texts, tmp_path, run_python
):
    root = tmp_path
    labelled = (f"the {word} bought {row},{word}" for row, word in enumerate(["doctor", "cat"] * 20))
    (root / "labelled.csv").write_text("\n".join(["text,label", *labelled, ""]))
    lines = {
        "separate": f"train-nmt --bitext {artefacts['bitext']} --precision fp32 --batch-size 80 --vocab-size 40 "
        "--epochs 1 --hidden-size 8 --evaluations 1 --max-dev-pairs 4 --no-joint-vocabulary --no-share-embeddings",
        "labelled": f"train-supervised --data {root}/labelled.csv --model {artefacts['gran']} --epochs 30 "
        "--learning-rate 0.1",
    }
    for name, line in lines.items():
        assert main([*line.split(), "--output", str(root / name)]) == 0, line
    folders = {name: root / name for name in lines}
    texts = [*known_texts, "", "A zebra sat on the café, quietly"]
    jobs = [encoder_job(folder, texts) for folder in encoder_folders.values()]
    jobs += [job(folders.get(name) or artefacts[name], known_texts) for name, job in JOBS.items()]
    if importlib.util.find_spec("sentence_transformers") is not None:
        names = ("gran", "recurrent", "sdae", "word_trigram")
        odd = [*known_texts, *UNKNOWN, *ODD]
        jobs += [encoder_job(encoder_folders[name], odd, "sentence_transformer") for name in names]
    (root / "jobs.json").write_text(json.dumps(jobs))
    program = Path(__file__).with_name("opens_elsewhere.py").read_text(encoding="utf-8")
    done = run_python(program, "jobs.json", folder=root)
    assert done.returncode == 0, done.stderr
    assert done.stdout.count("equal:") == len(jobs)
    types = {json.loads((Path(job["folder"]) / "config.json").read_text())["model_type"] for job in jobs}
    assert types == set(MODELS), "a model type of the package is not tried"


# Where every word is unknown, our encoders return zeros, and other libraries the vector of the unknown word.
UNKNOWN = ["The doctor bought a zebra.", "the quxly", "quxly ¿ the blorf", "the 日本語"]
ODD = ["", "  ", "... the", "\n the \t cat ", "the . " * 600]
AVERAGES = ["avg", "avg_skip", "avg_bpe", "trigram"]


def close(found, expected, atol=2e-6):
    assert found.dtype == np.float32
    np.testing.assert_allclose(found, expected, rtol=1e-4, atol=atol)


@pytest.mark.parametrize("name", AVERAGES)
def test_sentence_transformers_opens_averages_without_trust_and_gives_equal_vectors(
    encoder_folders, known_texts, name
):
    library = pytest.importorskip("sentence_transformers")
    model = library.SentenceTransformer(str(encoder_folders[name]), device="cpu")
    ours = SentenceEncoder.from_pretrained(encoder_folders[name])
    # Where the model leaves unknown words out (the tokenizer still names them), StaticEmbedding counts them.
    texts = known_texts if name == "avg_skip" else [*known_texts, *UNKNOWN, *ODD]
    close(model.encode(texts), ours.encode(texts))
    close(model.encode(texts, normalize_embeddings=True), ours.encode(texts, normalize=True))
    assert model.similarity_fn_name == "cosine" and model.get_max_seq_length() in (None, float("inf"))


@pytest.mark.parametrize("name", AVERAGES)
def test_model2vec_opens_averages_and_gives_equal_vectors(encoder_folders, known_texts, name):
    library = pytest.importorskip("model2vec")
    model = library.StaticModel.from_pretrained(encoder_folders[name])
    ours = SentenceEncoder.from_pretrained(encoder_folders[name])
    # model2vec leaves unknown words out, whatever the folder says.
    unknown = ours.model.config.unk_token_id
    texts = [text for text in known_texts if unknown not in ours.tokenize([text])["input_ids"].tolist()]
    assert texts
    texts += UNKNOWN[:1] if name == "avg_skip" else []
    close(model.encode(texts), ours.encode(texts))
    close(model.encode(texts, normalize=True), ours.encode(texts, normalize=True))
