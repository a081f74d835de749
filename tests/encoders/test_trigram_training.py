from __future__ import annotations

import numpy as np
import pyarrow as pa
import pyarrow.parquet as pq
import pytest
import torch

from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.encoders.collator import PairCollator
from hf_paraphrase.encoders.encoded_pairs import encode_pairs
from hf_paraphrase.encoders.trainer import EncoderTrainer, EncoderTrainingArguments
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.configuration_concatenation import ConcatenationConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.models.modeling_concatenation import ConcatenationModel
from hf_paraphrase.models.tokenization_concatenation import ConcatenationTokenizer
from hf_paraphrase.tokenization.character_trigram import build_character_trigram_tokenizer, trigram_vocabulary
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, sentence_vocabulary

SYLLABLES = ["ka", "lo", "mi", "tu", "re", "so"]
WORDS = [first + second for first in SYLLABLES for second in SYLLABLES]


def translated(word):
    """Another word, always the same, of other letters."""
    return word.translate(str.maketrans("kalomitures", "xdfyhgwpbvz"))


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    folder = tmp_path_factory.mktemp("pairs")
    generator = np.random.default_rng(0)
    sentences = [generator.choice(WORDS, generator.integers(2, 6)) for _ in range(80)]
    table = pa.table(
        {
            "sentence1": [" ".join(row) for row in sentences],
            "sentence2": [" ".join(map(translated, row)) for row in sentences],
        }
    )
    write_split(folder, "train", [table], PAIRS)
    return folder


def make(kind):
    texts = [*WORDS, *map(translated, WORDS)]
    trigrams = build_character_trigram_tokenizer(trigram_vocabulary(texts))
    torch.manual_seed(0)
    if kind == "trigram":
        return AvgModel(AvgConfig(vocab_size=len(trigrams), hidden_size=8, initializer_range=0.5)), trigrams
    words = build_word_level_tokenizer(sentence_vocabulary(texts))
    config = ConcatenationConfig(vocab_sizes=[len(words), len(trigrams)], part_size=8, initializer_range=0.5)
    return ConcatenationModel(config), ConcatenationTokenizer(parts=[words, trigrams])


def evaluate(encoder):
    """How often the nearest translated word is a word's own translation, in percent."""
    first, second = encoder.encode(WORDS), encoder.encode(list(map(translated, WORDS)))
    unit = [x / np.linalg.norm(x, axis=1, keepdims=True) for x in (first, second)]
    return {"dev_mean": float(((unit[0] @ unit[1].T).argmax(1) == np.arange(len(WORDS))).mean() * 100)}


@pytest.mark.parametrize("mega", [1, 3])
@pytest.mark.parametrize("kind", ["trigram", "concatenation"])
def test_training_pulls_paraphrases_together(tmp_path, folder, kind, mega):
    model, tokenizer = make(kind)
    before = model.embeddings.detach().clone()
    arguments = EncoderTrainingArguments(
        output_dir=str(tmp_path),
        num_train_epochs=10,
        per_device_train_batch_size=16,
        learning_rate=0.02,
        mega_batch_size=mega,
        use_cpu=True,
        report_to="none",
        disable_tqdm=True,
        seed=5,
    )
    trainer = EncoderTrainer(model, arguments, encode_pairs(folder, tokenizer), tokenizer, evaluator=evaluate)
    trainer.train()
    scores = trainer.scores()
    assert scores[-1]["dev_mean"] > scores[0]["dev_mean"] + 50
    changed = (model.embeddings.detach() - before).abs().sum(1) > 0
    for part in changed.split(getattr(model.config, "vocab_sizes", [len(changed)])):
        assert part.float().mean() > 0.5
    assert not model.embeddings[0].any()


@pytest.mark.parametrize("kind", ["trigram", "concatenation"])
def test_scrambling_changes_no_embedding(folder, kind):
    model, tokenizer = make(kind)
    pairs = encode_pairs(folder, tokenizer)
    items = [(0, pair) for pair in range(len(pairs))]
    plain, scrambled = (
        PairCollator(pairs, pad_token_id=tokenizer.pad_token_id, scramble=scramble)(items) for scramble in (0.0, 1.0)
    )
    assert not torch.equal(plain["input_ids"], scrambled["input_ids"])
    vectors = [model(batch["input_ids"], batch["attention_mask"]).pooler_output for batch in (plain, scrambled)]
    torch.testing.assert_close(*vectors)


def test_pairs_are_encoded_as_the_tokenizer_does_it(folder):
    _, tokenizer = make("concatenation")
    pairs = encode_pairs(folder, tokenizer)
    texts = pq.read_table(next(folder.rglob("*.parquet"))).to_pylist()
    for number in (0, 41, 79):
        for side in (0, 1):
            start, end = pairs.offsets[2 * number + side], pairs.offsets[2 * number + side + 1]
            assert pairs.tokens[start:end].tolist() == tokenizer(texts[number][f"sentence{side + 1}"])["input_ids"]
