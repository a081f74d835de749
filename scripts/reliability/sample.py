"""Raw files of some hundred sentences of the built-in sample, in the formats that the commands read."""

from __future__ import annotations

import random
from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path

import pandas as pd
import polib

from hf_paraphrase.data.sample import sample_bitext, sample_paraphrases

Synsets = Mapping[str, Mapping[tuple[str, ...], str]]
"""For each part of speech the words of synsets, in the order of their senses, and their glosses."""
SYNSETS: Synsets = {
    part: {(word,): f"the meaning of {word}" for word in words.split()}
    for part, words in {"noun": "dog car house", "verb": "go see", "adj": "old", "adv": "quickly"}.items()
}


def write_sample(folder: Path) -> None:
    """Write raw files of some hundred sentences of the built-in sample, in every format that is read."""
    folder.mkdir(parents=True)
    # Of short sentences a small model learns soon where they end.
    bitext = sorted(sample_bitext(8_000)["train"], key=lambda pair: len(pair.french) + len(pair.english))[200:600]
    random.Random(0).shuffle(bitext)
    judged = sample_paraphrases()["validation"][:180]
    plain = [pair for pair in bitext if not {'"', "\\", "&", "<"} & set(pair.french + pair.english)]
    _write_lines(folder / "bitext.tsv", (f"{pair.french}\t{pair.english}" for pair in bitext))
    # Paraphrases with one French sentence in common, as a pivot needs.
    shared = enumerate(pair for pair in judged if pair.label)
    sides = ((number, side) for number, pair in shared for side in (pair.sentence1, pair.sentence2))
    _write_lines(folder / "shared.tsv", (f"La phrase {number} .\t{side}" for number, side in sides))
    _write_lines(folder / "pairs.tsv", (f"{pair.sentence1}\t{pair.sentence2}" for pair in judged))
    _write_lines(folder / "graded.tsv", (f"{p.sentence1}\t{p.sentence2}\t{4.5 * p.label}\t{p.label}" for p in judged))
    table = pd.DataFrame([(pair.sentence1, pair.sentence2) for pair in judged], columns=["a", "b"])
    table.to_json(folder / "pairs.jsonl", orient="records", lines=True, force_ascii=False)
    table.to_csv(folder / "pairs.csv", header=["left", "right"], index=False)
    _write_lines(folder / "memory.tmx", _tmx((pair.english, pair.french) for pair in plain[:60]))
    catalogue = polib.POFile()
    catalogue.metadata = {"Content-Type": "text/plain; charset=UTF-8", "Language": "fr"}
    translations = {pair.english: pair.french for pair in plain[:60]}
    catalogue.extend(polib.POEntry(msgid=english, msgstr=french) for english, french in translations.items())
    (folder / "po").mkdir()
    catalogue.save(str(folder / "po" / "fr.po"))
    _write_lines(folder / "text.txt", (pair.english for pair in bitext[:200]))
    _write_lines(folder / "queries.txt", (pair.english for pair in bitext[200:204]))
    for part, start in (("test", 0), ("training", 40), ("sample", 80)):
        some = bitext[start : start + 40]
        numbers = range(1, len(some) + 1)
        french = [f"fr-{number:09d}\t{pair.french}" for number, pair in zip(numbers, some, strict=True)]
        english = [f"en-{number:09d}\t{pair.english}" for number, pair in zip(numbers, reversed(some), strict=True)]
        _write_lines(folder / f"fr-en.{part}.fr", french)
        _write_lines(folder / f"fr-en.{part}.en", english)
        gold = (f"fr-{number:09d}\ten-{len(some) + 1 - number:09d}" for number in numbers[::2])
        _write_lines(folder / f"fr-en.{part}.gold", gold)
    write_wordnet(folder / "wordnet")
    (folder / "msr").mkdir()
    for part in ("train", "test"):
        header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String"
        _write_lines(folder / "msr" / f"msr_paraphrase_{part}.txt", [header, "1\t7\t8\ta\tb"])


def _write_lines(path: Path, lines: Iterable[str]) -> None:
    path.write_text("".join(f"{line}\n" for line in lines), encoding="utf-8")


def _tmx(pairs: Iterable[tuple[str, str]]) -> Iterator[str]:
    yield '<?xml version="1.0" encoding="UTF-8"?>'
    yield '<tmx version="1.4"><header srclang="en" datatype="plaintext" segtype="sentence"/><body>'
    for english, french in pairs:
        yield f'<tu><tuv xml:lang="en"><seg>{english}</seg></tuv><tuv xml:lang="fr"><seg>{french}</seg></tuv></tu>'
    yield "</body></tmx>"


def write_wordnet(folder: Path, synsets: Synsets = SYNSETS) -> Path:
    """Write synsets as files of WordNet, with byte offsets into the data files."""
    folder.mkdir(parents=True)
    head = "  1 This software and database is being provided to you.  \n  2 WordNet 3.0 Copyright 2006.  \n"
    letters = {"noun": "n", "verb": "v", "adj": "a", "adv": "r"}
    for part, glosses in synsets.items():
        data, places = head, dict[str, list[str]]()
        for words, gloss in glosses.items():
            place = len(data.encode())
            names = " ".join(f"{word} 0" for word in words)
            data += f"{place:08d} 03 {letters[part]} {len(words):02x} {names} 001 @ 00000001 n 0000 | {gloss}  \n"
            for word in words:
                places.setdefault(word.lower().partition("(")[0], []).append(f"{place:08d}")
        index = head
        for lemma, found in sorted(places.items()):
            index += f"{lemma} {letters[part]} {len(found)} 1 @ {len(found)} 0 {' '.join(found)}  \n"
        (folder / f"data.{part}").write_text(data)
        (folder / f"index.{part}").write_text(index)
    return folder
