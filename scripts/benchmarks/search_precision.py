"""Compares the arithmetics of `back-translate`: what bfloat16 and 8 bits gain in time and change in the lists.

Each searches for the same sentences of a bitext with a trained model, in turns, and scores what it found in fp32. The
lists of the search in fp32 are what the others are held against: how many of its translations they have too (same
text), how often the best one is the same, how probable what they found is a unit, and BLEU of the best one. Ratios
above 1 = faster than fp32.
"""

from __future__ import annotations

import argparse
import sys
from collections import defaultdict
from functools import partial
from statistics import mean, median
from typing import Any

import pyarrow as pa

from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.translation.back_translator import COLUMNS, back_translated
from hf_paraphrase.translation.bleu import corpus_scores
from hf_paraphrase.translation.int8_products import int8_is_fast
from hf_paraphrase.translation.loading import load_translation_model
from hf_paraphrase.translation.search_settings import SearchOptions
from hf_paraphrase.translation.translator import Translator
from interleaved import (
    CLOCK,
    CLOCKS,
    ROUNDS,
    Contestant,
    argument_parser,
    check_least,
    exit_code,
    take_turns,
    timed,
    write,
    write_ratios,
)

Lists = dict[str, list[dict[str, Any]]]
"""For each sentence by its `id` its pairs, best first."""


def main() -> int:
    """Runs the benchmark and returns the exit code."""
    parser = argument_parser(__doc__)
    parser.add_argument("--model", required=True, help="translation model folder")
    parser.add_argument("--bitext", required=True, help="data folder with `source` and `target`")
    parser.add_argument("--split", default="validation", help="split of the bitext")
    parser.add_argument("--sentences", type=int, default=200, help="how many sentences are searched for")
    parser.add_argument("--beams", type=int, default=50, help="beam width and length of the n-best lists")
    parser.add_argument("--rounds", type=int, default=3, help=ROUNDS)
    parser.add_argument("--clock", choices=CLOCKS, default="wall", help=CLOCK)
    arguments = parser.parse_args()
    return exit_code("benchmarks/search_precision", lambda: run(arguments))


def run(arguments: argparse.Namespace) -> None:
    """Searches in each arithmetic and writes the table, the ratios as one JSON object on its last line."""
    check_least(arguments, {"sentences": 1, "beams": 2, "rounds": 1})
    folder = DataFolder(arguments.bitext)
    folder.require(*COLUMNS, split=arguments.split)
    bitext = folder.table(arguments.split).slice(0, arguments.sentences)
    model, tokenizer = load_translation_model(arguments.model, device="cpu")
    width = {"num_beams": arguments.beams, "num_return_sequences": arguments.beams}
    options = {"fp32": SearchOptions(**width), "bf16": SearchOptions(**width, bf16=True)}
    if int8_is_fast():
        options["int8"] = SearchOptions(**width, bf16=True, int8=True)
    found: dict[str, Lists] = {}

    def search(name: str, translator: Translator) -> float:
        seconds, (pairs, _) = timed(lambda: back_translated(translator, bitext), arguments.clock)
        found[name] = by_sentence(pairs)
        return len(bitext) / seconds

    contestants = [
        Contestant(name, name, partial(search, name, Translator(model, tokenizer, chosen)))
        for name, chosen in options.items()
    ]
    rates = {
        contestant.name: median(turns.rates)
        for contestant, turns in zip(contestants, take_turns(contestants, arguments.rounds), strict=True)
    }
    write(f"{len(bitext)} sentences, lists of {arguments.beams}, hidden {model.config.hidden_size}")
    measures = f"{'in its lists (%)':>18}{'same best (%)':>15}{'nats a unit':>13}{'BLEU':>7}"
    write(f"{'':8}{'sentences/s':>12}{'× fp32':>8}{measures}")
    for name, lists in found.items():
        common, best = agreement(found["fp32"], lists)
        write(
            f"{name:8}{rates[name]:12.2f}{rates[name] / rates['fp32']:8.2f}{100 * common:18.1f}{100 * best:15.1f}"
            f"{mean_log_prob(lists):13.4f}{bleu(lists):7.2f}"
        )
    write_ratios({f"search_{name}_vs_fp32": rates[name] / rates["fp32"] for name in rates if name != "fp32"})


def by_sentence(pairs: pa.Table) -> Lists:
    """Groups a table of back-translated pairs by sentence."""
    lists: Lists = defaultdict(list)
    for row in pairs.to_pylist():
        lists[row["id"]].append(row)
    return dict(lists)


def agreement(expected: Lists, found: Lists) -> tuple[float, float]:
    """Tells the share of the expected translations that were found, a mean over sentences, and of the best ones."""
    shares, best = [], []
    for key, rows in expected.items():
        texts = {row["sentence2"] for row in rows}
        others = [row["sentence2"] for row in found.get(key, [])]
        shares.append(len(texts.intersection(others)) / len(texts))
        best.append(others[:1] == [rows[0]["sentence2"]])
    return mean(shares), mean(best)


def mean_log_prob(lists: Lists) -> float:
    """Tells the mean log-probability of a unit, the end included, over all translations, in nats."""
    return mean(row["log_prob"] / (row["num_tokens"] + 1) for rows in lists.values() for row in rows)


def bleu(lists: Lists) -> float:
    """Scores the best translations, case ignored."""
    best = [rows[0] for rows in lists.values()]
    return corpus_scores([row["sentence2"] for row in best], [row["sentence1"] for row in best]).bleu


if __name__ == "__main__":
    sys.exit(main())
