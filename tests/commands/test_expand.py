from __future__ import annotations

import gzip

import pyarrow as pa
import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.data.schema import PAIRS
from hf_paraphrase.studies.expansion.expander import Expander

pytest.importorskip("denckring_en_pos")
pytest.importorskip("lemminflect")

LINES = ["The boy saw a dog.", "nothing of this", "", "She is a teacher.", "Le vieux chien dort ici"]


@pytest.fixture
def text(tmp_path):
    path = tmp_path / "text.txt"
    path.write_text("\n".join(LINES) + "\n", encoding="utf-8")
    return path


def run(*words):
    return main(["expand", *map(str, words)])


def fails(capfd, *words):
    assert run(*words) == 2
    error = capfd.readouterr().err
    (line,) = [line for line in error.splitlines() if line.startswith("hf-paraphrase: error: ")]
    assert "Traceback" not in error
    return line


def test_a_text_gives_pairs_of_its_sentences_and_their_expansions(text, tmp_path, tiny_wordnet, capfd):
    output = tmp_path / "expanded"
    packed = tmp_path / "text.txt.gz"
    packed.write_bytes(gzip.compress(text.read_bytes()))
    assert run("--text", packed, "--output", output, "--wordnet", tiny_wordnet, "--share", 1, "--seed", 5) == 0
    expected = Expander.from_wordnet(tiny_wordnet, share=1.0, seed=5).expand([LINES[0], LINES[3]])
    rows = DataFolder(output).table().to_pylist()
    assert [(row["sentence1"], row["sentence2"]) for row in rows] == list(zip(LINES[::3], expected, strict=True))
    assert [row["expanded_words"] for row in rows] == [3, 1]
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "4 of 4 expandable words expanded, in 2 of 4 sentences" in captured.err
    assert captured.err.splitlines()[-1] == f"pairs of a sentence and its expansion saved to {output}"


@pytest.fixture
def pairs(tmp_path):
    folder = tmp_path / "pairs"
    for split in ("train", "test"):
        table = pa.table({"sentence1": LINES[:2], "sentence2": [LINES[3], f"{split}: The dog"]}, schema=PAIRS)
        write_split(folder, split, [table], PAIRS)
    return folder


def test_definitions_in_evaluation_sets_are_not_used_and_the_card_says_so(pairs, tmp_path, tiny_wordnet):
    evaluation = tmp_path / "sts.txt"
    evaluation.write_text("a youthful male person\n")
    words = ["--pairs", pairs, "--wordnet", tiny_wordnet, "--share", 1]
    assert run(*words, "--output", tmp_path / "a", "--decontaminate", evaluation) == 0
    assert run(*words, "--output", tmp_path / "b") == 0
    checked, unchecked = (" ".join(DataFolder(tmp_path / name).table()["sentence2"].to_pylist()) for name in "ab")
    assert "youthful" not in checked and "boy" in checked and "youthful" in unchecked
    assert "were not used: sts.txt" in (tmp_path / "a" / "README.md").read_text()
    assert "not compared with any evaluation set" in (tmp_path / "b" / "README.md").read_text()


@pytest.mark.parametrize(
    ("words", "reason"),
    [
        ("--output {t}/o", "one of --text and --pairs"),
        ("--output {t}/o --text {t}/text.txt --pairs {t}", "one of --text and --pairs"),
        ("--output {t}/o --text {t}/text.txt --wordnet {t}", "WordNet lacks index.noun"),
    ],
)
def test_bad_usage_is_one_line_and_leaves_no_output(text, tmp_path, tiny_wordnet, capfd, words, reason):
    given = words.format(t=tmp_path).split()
    if "--wordnet" not in given:
        given += ["--wordnet", str(tiny_wordnet)]
    before = sorted(path.name for path in tmp_path.iterdir())
    assert reason in fails(capfd, *given)
    assert sorted(path.name for path in tmp_path.iterdir()) == before
