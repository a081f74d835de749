from __future__ import annotations

import numpy as np
import pyarrow as pa
import pytest

from hf_paraphrase.data.fingerprints import normalise
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import BITEXT
from hf_paraphrase.errors import InputError
from hf_paraphrase.studies.mining.comparable import ComparableSettings, make_comparable, prepare_comparable


def made(rows, **options):
    sizes = {"sentences": 40, "share": 0.1, "validation_size": 30}
    settings = ComparableSettings(bitext=["bitext"], output="task", **{**sizes, **options})
    return make_comparable(table(rows), settings)


def words(random, count):
    """Words of random letters, so that no two sentences are near-duplicates by chance."""
    return ["".join(random.choice(list("abcdefghijklmnop"), 7)) for _ in range(count)]


def table(rows):
    return pa.table(
        {name: pa.array([row[side] for row in rows], pa.string()) for side, name in enumerate(("source", "target"))}
    )


@pytest.fixture(scope="module")
def bitext():
    """Rows of which many share a sentence, in other spellings too, and some are near-duplicates of others."""
    random = np.random.default_rng(0)
    rows = [(" ".join(words(random, 6)), " ".join(words(random, 5))) for _ in range(900)]
    for place in range(0, 900, 5):
        rows.append((rows[place][0].upper() + " !", " ".join(words(random, 5))))
    for place in range(1, 900, 9):
        rows.append((" ".join(words(random, 6)), rows[place][1]))
    for place in range(2, 900, 7):
        rows.append((rows[place][0] + " x", rows[place][1] + " y"))
    rows += [
        ("one two", "three four"),
        ("the same on both sides", "the same on both sides"),
        ("...", "no words here at all"),
    ]
    return rows


@pytest.fixture(scope="module")
def task(bitext):
    return made(bitext, seed=1)


def test_gold_is_every_pair_of_the_bitext_that_holds_between_the_sides(task, bitext):
    known = {(normalise(source), normalise(target)) for source, target in bitext}
    for part in task.parts.values():
        assert len(set(part.source)) == len(set(part.target)) == 40 and part.gold.shape == (4, 2)
        targets = {normalise(text): place for place, text in enumerate(part.target)}
        true = {
            (row, targets[target])
            for row, text in enumerate(part.source)
            for source, target in known
            if source == normalise(text) and target in targets
        }
        assert {tuple(pair) for pair in part.gold.tolist()} == true


def test_no_sentence_of_the_training_bitext_nor_of_another_part_is_in_a_part(task, bitext):
    sides = [{normalise(text) for text in [*part.source, *part.target]} for part in task.parts.values()]
    left = np.flatnonzero(task.train | task.validation)
    trained = {normalise(text) for row in left.tolist() for text in bitext[row]}
    for number, one in enumerate(sides):
        assert not one & trained
        assert not any(one & other for other in sides[:number])


def test_near_duplicates_of_planted_sentences_and_of_their_translations_are_left_out(bitext):
    part = made(bitext, sentences=150, share=0.2, validation_size=0).parts["test"]
    translations = {}
    for source, target in bitext:
        translations.setdefault(normalise(source), []).append(normalise(target))
    gold_sources = {part.source[row] for row in part.gold[:, 0]}
    unseen = [text for source in set(part.source) - gold_sources for text in translations[normalise(source)]]
    # The near-duplicates of this bitext are those with one letter more at the end.
    assert not {f"{text} y" for text in unseen} & {normalise(text) for text in part.target}
    assert unseen


def test_a_bitext_that_is_too_small_is_refused_with_the_number_that_is_left(bitext):
    with pytest.raises(InputError, match=r"takes .* groups of translations, and .* are left"):
        made(bitext[:50])


def test_a_bitext_of_one_language_is_refused_because_both_files_would_have_one_name(bitext, tmp_path):
    columns = table(bitext).append_column("id", pa.array(map(str, range(len(bitext)))))
    for side in ("source_lang", "target_lang"):
        columns = columns.append_column(side, pa.array(["fr"] * len(bitext)))
    write_split(tmp_path / "bitext", "train", [columns], BITEXT)
    with pytest.raises(InputError, match="both sides are in the language fr"):
        prepare_comparable(bitext=[str(tmp_path / "bitext")], output=str(tmp_path / "task"), sentences=40)
    assert [path.name for path in tmp_path.iterdir()] == ["bitext"]
