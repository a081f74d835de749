"""Draws training pairs of which a known share is wrong, from pairs that people judged, the wrong ones among them.

Paper 003 (Sjöblom, Creutz and Aulamo 2018) takes more and more of a ranked list, of which a growing share is wrong:
pairs that a program took for paraphrases and people do not. Candidates that people judged are of that kind, and the
share of wrong ones can be chosen.
"""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path

import numpy as np
import pyarrow as pa

from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.errors import InputError, UsageError


@dataclass(frozen=True)
class Mixture:
    """How many pairs an encoder is trained on, and how many in a hundred of them are wrong.

    Attributes:
        misranked: Of a hundred, those that were candidates and that people judged no paraphrases.
        random: Of a hundred, those whose second sentence is exchanged at random.
    """

    number: int
    misranked: int = 0
    random: int = 0

    @classmethod
    def read(cls, text: str) -> Mixture:
        """Reads `NUMBER`, `NUMBER misranked SHARE` or `NUMBER random SHARE`, shares in per cent."""
        number, *rest = text.split()
        shares = dict(zip(rest[::2], rest[1::2], strict=False))
        known = len(rest) == 2 * len(shares) and shares.keys() <= {"misranked", "random"}
        if not known or not all(word.isdecimal() for word in (number, *shares.values())):
            raise UsageError(f"`{text}` is not a mixture", remedy="write e.g. 5000, or 5000 misranked 20")
        mixture = cls(int(number), **{name: int(share) for name, share in shares.items()})
        if mixture.misranked + mixture.random > 100:
            raise UsageError(f"`{text}`: more than all pairs would be wrong", remedy="give shares of at most 100")
        return mixture


def draw_pairs(judged: Path, mixture: Mixture, seed: int, output: Path) -> None:
    """Writes the pairs of a mixture, but for the random ones, which are left as they are for `filter --noise`.

    A larger draw of a seed holds the smaller ones: of the paraphrases and of the others always the first ones of one
    order are taken.
    """
    folder, sides = DataFolder(judged), ["sentence1", "sentence2"]
    if "label" in folder.schema("train").names:
        table = folder.table("train", [*sides, "label"])
        labels = table.column("label").to_numpy()
        order = np.random.default_rng(seed).permutation(len(labels))
    else:
        table = folder.table("train", sides)
        labels, order = np.ones(len(table)), np.arange(len(table))
    wrong = round(mixture.number * mixture.misranked / 100)
    taken = []
    for label, count in ((1, mixture.number - wrong), (0, wrong)):
        rows = order[labels[order] == label]
        if len(rows) < count:
            raise InputError(f"{len(rows)} pairs of label {label}, not {count}", path=judged, remedy="ask for fewer")
        taken.append(rows[:count])
    pairs = table.select(sides).take(pa.array(np.concatenate(taken)))
    with Artefact(str(output), command="noisy_pairs", settings={}) as artefact:
        write_split(artefact.staging, "train", [pairs], pairs.schema)
        artefact.finish()
