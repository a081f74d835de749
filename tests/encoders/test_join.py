"""join: concatenated averages, with or without random vectors of trigrams."""

from __future__ import annotations

import numpy as np
import pytest
from huggingface_hub import ModelCard
from tiny_encoders import write_average

from hf_paraphrase.artefacts.provenance import read_provenance
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.join import join, make_random_trigrams
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import UsageError
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.encoder_pieces import train_encoder_unigram
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary

opened = SentenceEncoder.from_pretrained
TEXTS = [
    "the cat sat on the mat",
    "a cat is sitting on a mat",
    "the doctor bought a red car in paris",
    "in paris a physician bought the car",
    "seventeen people were hurt near harbin",
]
UNKNOWN = ["zzz the cat", "the zzz cat zzz", "the cat"]


def word_tokenizer():
    return build_word_level_tokenizer(sentence_vocabulary(TEXTS))


TOKENIZERS = {
    "words": word_tokenizer,
    "pieces": lambda: train_encoder_unigram(TEXTS, 60),
    "trigrams": lambda: build_character_trigram_tokenizer(trigram_vocabulary(TEXTS), skip_unknown=True),
}


def write(folder, name, license="mit", **settings):
    write_average(folder, TOKENIZERS[name](), seed=len(name), **{"hidden_size": 6, **settings})
    (folder / "README.md").write_text(f"---\nlicense: {license}\nlanguage: en\n---\n")
    return str(folder)


@pytest.fixture(scope="module")
def models(tmp_path_factory):
    root = tmp_path_factory.mktemp("models")
    made = {name: write(root / name, name) for name in TOKENIZERS}
    rows = len(word_tokenizer()) + 3
    made["skipping"] = write(root / "skipping", "words", license="cc-by-4.0", skip_unknown=True, vocab_size=rows)
    made["large"] = write(root / "large", "words", hidden_size=8)
    made["int8"] = str(root / "int8")
    export = ["--model", made["words"], "--output", made["int8"], "--format", "safetensors", "--weights", "int8"]
    assert main(["export", *export]) == 0
    return made


def unit(vectors):
    norms = np.linalg.norm(vectors, axis=1, keepdims=True)
    return vectors / np.where(norms > 0, norms, 1)


def cosines(encoder, texts=TEXTS):
    return encoder.similarity(texts, texts)


def test_the_cosines_are_the_weighted_means_of_those_of_the_models(models, tmp_path):
    names, weights = ["words", "pieces", "trigrams", "int8"], [4.0, 3.0, 2.0, 1.0]
    joined = join(model=[models[name] for name in names], weights=weights, output=str(tmp_path / "joined"))
    expected = sum(weight * cosines(opened(models[name])) for name, weight in zip(names, weights, strict=True)) / 10
    np.testing.assert_allclose(cosines(joined), expected, atol=1e-5)
    assert joined.dimension == 24 and joined.model.config.part_weights == weights
    np.testing.assert_array_equal(opened(tmp_path / "joined").encode(TEXTS), joined.encode(TEXTS))


def test_unknown_words_of_a_model_that_skips_them_stay_out_and_rows_without_a_token_go(models, tmp_path):
    joined = join(model=[models["skipping"], models["words"]], weights=[1, 1e-9], output=tmp_path / "joined")
    np.testing.assert_allclose(cosines(joined, UNKNOWN), cosines(opened(models["skipping"]), UNKNOWN), atol=1e-4)
    counting = join(model=[models["words"], models["skipping"]], weights=[1, 1e-9], output=tmp_path / "other")
    np.testing.assert_allclose(cosines(counting, UNKNOWN), cosines(opened(models["words"]), UNKNOWN), atol=1e-4)
    assert cosines(counting, UNKNOWN)[0, 2] < 0.999 < cosines(joined, UNKNOWN)[0, 2]
    assert len(set(joined.model.config.vocab_sizes)) == 1


def test_record_and_card_name_parts_shares_and_the_licence_in_common(models, tmp_path):
    text = tmp_path / "text"
    text.write_text("\n".join(TEXTS))
    settings = {"weights": [3, 1], "text": [str(text)], "seed": 5}
    join(model=[models["words"], "weighted-trigrams"], output=tmp_path / "one", **settings)
    record = read_provenance(tmp_path / "one")
    assert record["command"] == "hf-paraphrase join" and record["seed"] == 5
    assert [item["name"] for item in record["inputs"]] == ["words", "text"]
    assert [(part["name"], part["share"]) for part in record["results"]["parts"]] == [
        ("words", 0.75),
        ("weighted-trigrams", 0.25),
    ]
    card = ModelCard.load(tmp_path / "one" / "README.md", ignore_metadata_errors=False)
    assert (card.data.license, card.data.language) == ("mit", ["en"])
    assert "| words | " in card.text and " | 0.75 |" in card.text and "was not trained" in card.text
    join(model=[models["words"], models["skipping"]], output=tmp_path / "two")
    other = ModelCard.load(tmp_path / "two" / "README.md", ignore_metadata_errors=False)
    assert other.data.license == "unknown" and "cc-by-4.0" in other.text and "was not trained" not in other.text


def test_cosines_of_random_trigrams_approach_those_of_weighted_counts_as_components_grow():
    (tokenizer, _), constant = make_random_trigrams(TEXTS, dimension=1, max_size=None, constant=0.003), 0.003
    counts = np.zeros((len(TEXTS), len(tokenizer)))
    for row, ids in enumerate(tokenizer(TEXTS)["input_ids"]):
        np.add.at(counts[row], ids, 1)
    weighted = counts * constant / (constant + counts.sum(0) / counts.sum())
    exact = unit(weighted) @ unit(weighted).T
    errors = []
    for size in (16, 256, 4096):
        options = {"dimension": size, "max_size": None, "constant": constant}
        vectors = [unit(counts @ make_random_trigrams(TEXTS, **options, seed=seed)[1]) for seed in range(3)]
        errors.append(np.sqrt(np.mean([(rows @ rows.T - exact) ** 2 for rows in vectors])))
    assert errors[0] > 3 * errors[1] > 9 * errors[2] and errors[2] < 0.02


def test_averages_of_other_sizes_are_refused_and_named(models, tmp_path):
    with pytest.raises(UsageError, match=r"6 \(.*words\), 8 \(.*large\)"):
        join(model=[models["words"], models["large"]], output=tmp_path / "joined")
    assert not (tmp_path / "joined").exists()
