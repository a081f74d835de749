from __future__ import annotations

import gzip

import pytest
from study_runs import StudyRuns, after, parsed

STEPS = ["train-tokenizer tokenizer", "distill encoder", "join joined", "export builtin"]
NOUNS = [
    '  1 This line is of the licence | "not an example"',
    '00001740 03 n 01 dog 0 000 | a domestic animal of many breeds; "the dog barked all night"; ; "he is a dog"',
    "00001930 03 n 01 cat 0 000 | a small domestic animal",
]


def write(path, *lines):
    path.parent.mkdir(parents=True, exist_ok=True)
    with gzip.open(path, "wt", encoding="utf-8") as stream:
        stream.writelines(f"{line}\n" for line in lines)


@pytest.fixture
def folder(tmp_path):
    data = tmp_path / "data"
    write(data / "manythings/fra-eng/fra.txt.gz", "I am ill.\tJe suis malade.", "i  am ill.\tCa va mal.", "Go.\tVa.")
    write(data / "libreoffice_help/cs.tsv.gz", "Otevri soubor.\tOpens the file.")
    write(data / "wikisplit/wikisplit.tsv.gz", f"It is {'very ' * 30}long .\tIt is not long .\tIt is short .")
    for part, lines in (("noun", NOUNS), ("verb", []), ("adj", []), ("adv", [])):
        (tmp_path / "dict").mkdir(exist_ok=True)
        (tmp_path / "dict" / f"data.{part}").write_text("".join(f"{line}\n" for line in lines))
    (tmp_path / "MINILM").mkdir()
    return tmp_path


@pytest.fixture
def run(folder):
    return StudyRuns(folder, "studies/builtin_encoder.sh", places=("data", "dict", "MINILM", "work"))


def text_of(folder):
    files = sorted((folder / "work/text").glob("*.txt.gz"))
    return {
        path.name.removesuffix(".txt.gz"): gzip.decompress(path.read_bytes()).decode().splitlines() for path in files
    }


def test_the_text_is_short_sentences_of_each_source_each_once(run, folder):
    run()
    assert text_of(folder) == {
        "tatoeba": ["I am ill."],
        "libreoffice_help": ["Opens the file."],
        "wikipedia": ["It is not long .", "It is short ."],
        "wordnet_definitions": ["a domestic animal of many breeds", "a small domestic animal"],
        "wordnet_examples": ["the dog barked all night", "he is a dog"],
    }


def test_a_source_that_is_missing_is_named(run, folder):
    (folder / "dict/data.adv").unlink()
    done, calls = run()
    assert done.returncode != 0 and "data.adv: no such file" in done.stderr and calls == []


def test_the_steps_run_in_their_order_and_their_commands_understand_them(run):
    done, calls = run()
    assert done.returncode == 0, done.stderr
    *made, evaluated = calls
    assert [f"{words[0]} {after(words, '--output')}" for words in made] == STEPS
    _, distillation, joined, _, scores = map(parsed, calls)
    assert evaluated[0] == "evaluate" and scores.update_card and scores.truncate_dim == [32, 64, 128, 256]
    assert len(distillation.text) == 5 and "data/held_out.sha256-16.txt.gz" in distillation.decontaminate
    assert joined.weights == [0.7, 0.3] and joined.frequency_constant == 0.001


def test_nothing_that_the_encoder_records_reveals_where_it_was_made(run, folder):
    _, calls = run()
    assert not any(str(folder) in word for words in calls for word in words)


def test_what_is_there_is_not_made_again(run):
    run()
    done, calls = run()
    assert done.returncode == 0 and calls == []
    assert done.stdout.count("there already") == 5
