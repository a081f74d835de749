"""Open model folders without hf_paraphrase, and compare their outputs with the recorded ones.

Run as `python opens_elsewhere.py JOBS.json`; each job names a folder, the kind of model, and the expected results.
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import numpy as np

sys.modules["hf_paraphrase"] = None  # every import of the package fails, wherever it may be installed

from transformers import (  # noqa: E402
    AutoModel,
    AutoModelForSeq2SeqLM,
    AutoModelForSequenceClassification,
    AutoTokenizer,
    pipeline,
)


def opened(auto, folder):
    tokenizer = AutoTokenizer.from_pretrained(folder, trust_remote_code=True)
    model = auto.from_pretrained(folder, trust_remote_code=True).eval()
    assert type(model).__module__.startswith("transformers_modules."), type(model)
    return model, tokenizer


def check_encoder(folder, texts, expected):
    model, tokenizer = opened(AutoModel, folder)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    output = model(**batch)
    close(output.pooler_output, expected)
    # An empty text has no column of its own in the pipeline, so it is left out.
    extract = pipeline("feature-extraction", model=folder, trust_remote_code=True)
    filled = [row for row, text in enumerate(texts) if text]
    features = [np.asarray(item)[0] for item in extract([texts[row] for row in filled])]
    assert [len(item) for item in features] == batch["attention_mask"].sum(1)[filled].tolist()
    close(np.stack([item.mean(0) for item in features]), np.asarray(expected)[filled])


def check_translation(folder, texts, expected):
    model, tokenizer = opened(AutoModelForSeq2SeqLM, folder)
    batch = tokenizer(texts, padding=True, return_tensors="pt")
    assert batch["input_ids"].tolist() == expected["source_ids"]
    assert tokenizer(text_target=expected["targets"])["input_ids"] == expected["target_ids"]
    asked = {"num_beams": 4, "num_return_sequences": 3, "max_length": 9, "length_penalty": 0.0}
    nbest = model.generate(**batch, **asked, output_scores=True, return_dict_in_generate=True)
    assert tokenizer.batch_decode(nbest.sequences, skip_special_tokens=True) == expected["nbest"]
    close(nbest.sequences_scores, expected["scores"])
    default = model.generate(**batch)
    assert tokenizer.batch_decode(default, skip_special_tokens=True) == expected["default"]
    labels = tokenizer(text_target=expected["targets"], padding=True, return_tensors="pt")["input_ids"]
    close(model(**batch, labels=labels).loss, expected["loss"])


def check_classifier(folder, texts, expected):
    model, tokenizer = opened(AutoModelForSequenceClassification, folder)
    close(model(**tokenizer(texts, padding=True, return_tensors="pt")).logits, expected["logits"])
    (found,) = pipeline("text-classification", model=folder, trust_remote_code=True)(texts[:1])
    assert found["label"] == expected["label"]


def check_parallel(folder, texts, expected):
    model = AutoModel.from_pretrained(folder, trust_remote_code=True).eval()
    assert type(model).__module__.startswith("transformers_modules."), type(model)
    sides = ("source", "target")
    tokenizers = (AutoTokenizer.from_pretrained(folder, subfolder=f"{side}_tokenizer") for side in sides)
    batches = [
        tokenizer(given, padding=True, return_tensors="pt") for tokenizer, given in zip(tokenizers, texts, strict=True)
    ]
    close(model.score(model.encode_source(**batches[0]), model.encode_target(**batches[1])).sigmoid(), expected)


def check_sentence_transformer(folder, texts, expected):
    from sentence_transformers import SentenceTransformer

    model = SentenceTransformer(folder, device="cpu", trust_remote_code=True)
    assert type(model.transformers_model).__module__.startswith("transformers_modules.")
    # Means of differences, each times its length, of states near 1: for a text of 600 words that rounds.
    close(model.encode(texts), expected, atol=5e-5)


def close(found, expected, atol=1e-6):
    found = found.detach().numpy() if hasattr(found, "detach") else found
    np.testing.assert_allclose(found, np.asarray(expected), rtol=1e-5, atol=atol)


CHECKS = {
    "encoder": check_encoder,
    "translation": check_translation,
    "classifier": check_classifier,
    "parallel": check_parallel,
    "sentence_transformer": check_sentence_transformer,
}

if __name__ == "__main__":
    for job in json.loads(Path(sys.argv[1]).read_text(encoding="utf-8")):
        try:
            CHECKS[job["kind"]](job["folder"], job["texts"], job["expected"])
        except Exception as error:
            raise AssertionError(f"{job['folder']}: {error}") from error
        sys.stdout.write(f"equal: {job['folder']}\n")
    assert not [name for name, module in sys.modules.items() if name.partition(".")[0] == "hf_paraphrase" and module]
