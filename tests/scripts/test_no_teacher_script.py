from __future__ import annotations

import gzip
import json

import numpy as np
import pytest
from study_runs import StudyRuns, after, parsed

COFFEE = 3197928453018144401
"""The hash of the word in spaCy's documentation."""
NOUNS = [
    '00001740 03 n 02 dog 0 domestic_dog 0 000 | a domestic animal; "the dog barked"',
    "00001930 03 n 01 cat 0 000 | another domestic animal",
]
FILES = {
    "manythings/fra-eng/fra.txt.gz": [
        "I am ill.\tJe suis malade.\tCC",
        "I'm ill.\tje suis malade.\tCC",
        "Go.\tVa.\tCC",
    ],
    "twitter_url/train.tsv.gz": ["1\tcoffee is n't free\tno free coffee", "0\tone thing\tanother thing"],
    "wikisplit/wikisplit.tsv.gz": ["It rains , and pours .\tIt rains .\tIt pours ."],
    "asset/asset.valid.tsv.gz": ["The feline slept.\tThe cat slept.\tThe feline slept."],
    "libreoffice_help/cs.tsv.gz": ["Otevri soubor.\tOpens the file."],
    "text/agnews.txt.gz": ["Shares fall", "Shares fell in New York."],
    "ppdb/ppdb.retrofitting.txt.gz": ["big large huge great vast enormous"],
    "ppdb/ppdb.annotated.tsv.gz": ["4.0\t[NP]\tthis video\tthe movie\t4.0", "2.0\t[NP]\ta sea\tthe hill\t2.0"],
}


@pytest.fixture
def folder(tmp_path):
    for name, lines in FILES.items():
        path = tmp_path / "data" / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_bytes(gzip.compress("".join(f"{line}\n" for line in lines).encode()))
    (tmp_path / "data/turkcorpus").mkdir()
    for side, text in (("norm", "he departed\n"), ("simp", "he left\n")):
        (tmp_path / f"data/turkcorpus/tune.{side}").write_text(text)
    (tmp_path / "dict").mkdir()
    for part, lines in (("noun", NOUNS), ("verb", []), ("adj", []), ("adv", [])):
        (tmp_path / "dict" / f"data.{part}").write_text("".join(f"{line}\n" for line in lines))
    # In the file of the package the norm and the rank stand behind the 100 components.
    generator = np.random.default_rng(0)
    words = ["the", "cat", "shares", "fell", "unread"]
    vectors = {word: [*generator.normal(size=100).tolist(), 1.0, rank] for rank, word in enumerate(words)}
    (tmp_path / "glove.json").write_text(json.dumps({"vectors": vectors}))
    (tmp_path / "vocab").mkdir()
    np.save(tmp_path / "vocab/vectors.npy", generator.normal(size=(300, 20)).astype(np.float32))
    (tmp_path / "vocab/vectors.npy").rename(tmp_path / "vocab/vectors")
    (tmp_path / "vocab/strings.json").write_text(json.dumps(["coffee", "no row"]))
    key = b"\xcf" + COFFEE.to_bytes(8, "big")
    (tmp_path / "vocab/key2row").write_bytes(b"\x82" + key + b"\xcd\x01\x2b" + b"\x05\x06")
    return tmp_path


@pytest.fixture
def run(folder):
    return StudyRuns(folder, "studies/no_teacher.sh", places=("data", "dict", "glove.json", "vocab", "work"))


def test_the_pairs_are_those_of_each_source_each_once_and_written_as_usual(run, folder):
    run()
    lines = gzip.decompress((folder / "work/pairs.tsv.gz").read_bytes()).decode().splitlines()
    assert [tuple(line.split("\t")) for line in lines] == [
        ("I am ill.", "I'm ill."),
        ("coffee isn't free", "no free coffee"),
        ("It rains , and pours .", "It rains . It pours ."),
        ("The feline slept.", "The cat slept."),
        ("he departed", "he left"),
        ("Shares fall", "Shares fell in New York."),
        ("big", "large"),
        ("big", "huge"),
        ("big", "great"),
        ("big", "vast"),
        ("this video", "the movie"),
        ("dog", "a domestic animal"),
        ("domestic dog", "a domestic animal"),
        ("cat", "another domestic animal"),
        ("dog", "domestic dog"),
    ]


def test_the_vectors_are_of_both_tables_and_of_the_words_of_the_text_and_the_first_of_glove(run, folder):
    run()
    rows = [line.split() for line in (folder / "work/start.txt").read_text().splitlines()]
    assert [row[0] for row in rows] == ["the", "cat", "shares", "fell", "unread", "coffee"]
    vectors = np.array([row[1:] for row in rows], float)
    # The last word has no vector in GloVe; that it is there shows that its hash was found.
    assert np.isfinite(vectors).all() and vectors[:5].any(1).all()


def test_the_steps_run_in_their_order_and_their_commands_understand_them(run):
    done, calls = run(SEEDS="0 1")
    assert done.returncode == 0, done.stderr
    made = [f"{words[0]} {after(words, '--output')}" for words in calls]
    rounds = [f"{verb}_{seed}" for seed in (0, 1) for verb in ("train-encoder trained", "join joined")]
    assert made == ["prepare pairs", "train-encoder start", *rounds, "evaluate scores"]
    data, start, trained, joined, *_, scored = map(parsed, calls)
    assert "data/held_out.sha256-16.txt.gz" in data.decontaminate and start.epochs == 0
    assert trained.initial_model == "start" and trained.relative_steps
    assert joined.model == ["trained_0", "weighted-trigrams"] and joined.frequency_constant == 0.001 and joined.text
    assert scored.model == ["start", "joined_0", "joined_1"]


def test_what_is_there_is_not_made_again(run):
    run(SEEDS="0")
    done, calls = run(SEEDS="0")
    assert done.returncode == 0 and [words[0] for words in calls] == ["evaluate"]
    assert done.stdout.count("there already") == 7
