"""Measures what tokens and word vectors an untrained average of words starts from, on sets of textual similarity.

    python scripts/studies/untrained_inputs.py --data STS --vectors glove=glove.100d.txt filled=filled.txt.gz

The tokens are ours and those of the Penn Treebank (`--treebank-words`), the averages plain and weighted by a / (a +
p), p the share of a word of the sets themselves. Prints a table: for STS 2016, for all other sets and for single sets
the mean Pearson's r × 100, and the difference from our tokens and the first vectors with its interval over sentence
pairs, of 95 % for each number by itself.
"""

from __future__ import annotations

import argparse
import sys
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import torch
from numpy.typing import NDArray

from hf_paraphrase import SentenceEncoder
from hf_paraphrase.encoders.encoder_vocabulary import word_level_vocabulary
from hf_paraphrase.errors import HfParaphraseError
from hf_paraphrase.evaluation.bootstrap import bootstrap_means
from hf_paraphrase.evaluation.graded_set import GradedSet, score_with_encoder
from hf_paraphrase.evaluation.sts_files import find_sts_sets
from hf_paraphrase.evaluation.verdicts import difference
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tables import format_table
from hf_paraphrase.tokenization.word_level import PAD_ID, UNKNOWN_ID, sentence_vocabulary
from hf_paraphrase.training.word_vectors import initial_embeddings

_REPLICATES = 1000
TOKENS = {"ours": False, "treebank": True}


def main(arguments: list[str] | None = None) -> int:
    """Prints the table."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--data", required=True, help="the folder of the sets")
    parser.add_argument("--vectors", required=True, nargs="+", help="NAME=FILE of each file of word vectors")
    options = parser.parse_args(arguments)
    try:
        text = measured(find_sts_sets(options.data).sets, dict(item.partition("=")[::2] for item in options.vectors))
    except HfParaphraseError as error:
        print(f"untrained_inputs: error: {error}", file=sys.stderr)
        return 2
    print(text, end="")
    return 0


def measured(sets: Sequence[GradedSet], vectors: dict[str, str]) -> str:
    """Makes the table."""
    texts = [text for item in sets for text in (*item.sentences1, *item.sentences2)]
    made = {
        (weighted, tokens, name): average(texts, Path(file), treebank=treebank, weighted=weighted)
        for weighted in (False, True)
        for tokens, treebank in TOKENS.items()
        for name, file in vectors.items()
    }
    scored = {key: score_with_encoder(encoder.encode, sets) for key, encoder in made.items()}
    groups = {"STS16": [place for place, item in enumerate(sets) if item.family == "STS16"]}
    groups["all others"] = [place for place in range(len(sets)) if place not in groups["STS16"]]
    groups |= {item.key: [place] for place, item in enumerate(sets)}
    columns = [(tokens, name) for tokens in TOKENS for name in vectors]
    rows = []
    for weighted in (False, True):
        for title, places in groups.items():
            if not places:
                continue
            gold = [np.asarray(sets[place].scores, np.float64) for place in places]
            values = [np.stack([scored[weighted, *key][place].similarities for key in columns]) for place in places]
            drawn = bootstrap_means(values, gold, replicates=_REPLICATES)
            exact = np.mean([_pearsons(each, scores) for each, scores in zip(values, gold, strict=True)], axis=0)
            changes = [
                difference(float(value), float(exact[0]), pairs=(drawn[:, [place]], drawn[:, [0]])).interval()
                for place, value in enumerate(exact)
            ]
            cells = [f"{exact[0]:.1f}", *(f"{x:.1f}, {c.text()}" for x, c in zip(exact[1:], changes[1:], strict=True))]
            rows.append([f"{title}{', weighted' if weighted else ''}", *cells])
    return format_table(["sets", *(f"{tokens}, {name}" for tokens, name in columns)], rows)


def average(texts: Sequence[str], vectors: Path, *, treebank: bool, weighted: bool) -> SentenceEncoder:
    """Makes the average of the initial vectors of the words of some texts."""
    words = sentence_vocabulary(texts, treebank=treebank)
    # No room for other words, of which the vectors would be read in vain.
    tokenizer, found = word_level_vocabulary(
        texts, initial_vectors=vectors, vocabulary_size=len(words), treebank=treebank
    )
    ids = tokenizer(list(texts), add_special_tokens=False)["input_ids"]
    counts = np.bincount([token for row in ids for token in row], minlength=len(tokenizer))
    assert found is not None
    matrix, _ = initial_embeddings(
        tokenizer.convert_ids_to_tokens(range(len(tokenizer))),
        found,
        dimension=found.matrix.shape[1],
        pad_id=PAD_ID,
        unknown_id=UNKNOWN_ID,
        counts=counts,
        frequency_weights=weighted,
    )
    model = AvgModel(AvgConfig(vocab_size=len(matrix), hidden_size=matrix.shape[1])).eval()
    with torch.no_grad():
        model.embeddings.copy_(torch.from_numpy(matrix))
    return SentenceEncoder(model, tokenizer)


def _pearsons(similarities: NDArray[np.float64], scores: NDArray[np.float64]) -> list[float]:
    return [float(100 * np.corrcoef(row, scores)[0, 1]) for row in similarities]


if __name__ == "__main__":
    sys.exit(main())
