from __future__ import annotations

import pytest
from small_runs import write

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
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


def test_a_text_gives_pairs_of_its_sentences_and_their_expansions(text, tmp_path, tiny_wordnet, capfd):
    output = tmp_path / "expanded"
    assert run("--text", text, "--output", output, "--wordnet", tiny_wordnet, "--share", 1, "--seed", 5) == 0
    expected = Expander.from_wordnet(tiny_wordnet, share=1.0, seed=5).expand([LINES[0], LINES[3]])
    rows = DataFolder(output).table().to_pylist()
    assert [(row["sentence1"], row["sentence2"]) for row in rows] == list(zip(LINES[::3], expected, strict=True))
    assert [row["expanded_words"] for row in rows] == [3, 1]
    captured = capfd.readouterr()
    assert captured.out == ""
    assert "4 of 4 expandable words expanded, in 2 of 4 sentences" in captured.err
    assert captured.err.splitlines()[-1] == f"pairs of a sentence and its expansion saved to {output}"


def test_definitions_in_evaluation_sets_are_not_used_and_the_card_says_so(tmp_path, tiny_wordnet):
    pairs = write(tmp_path / "pairs", sentence1=LINES[:2], sentence2=[LINES[3], "The dog"])
    evaluation = tmp_path / "sts.txt"
    evaluation.write_text("a youthful male person\n")
    words = ["--pairs", pairs, "--wordnet", tiny_wordnet, "--share", 1]
    assert run(*words, "--output", tmp_path / "a", "--decontaminate", evaluation) == 0
    assert run(*words, "--output", tmp_path / "b") == 0
    checked, unchecked = (" ".join(DataFolder(tmp_path / name).table()["sentence2"].to_pylist()) for name in "ab")
    assert "youthful" not in checked and "boy" in checked and "youthful" in unchecked
    assert "were not used: sts.txt" in (tmp_path / "a" / "README.md").read_text()
    assert "not compared with any evaluation set" in (tmp_path / "b" / "README.md").read_text()
