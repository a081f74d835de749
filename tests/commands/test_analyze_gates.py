from __future__ import annotations

import json
from functools import partial

import pytest
from analyzed_texts import save_model
from small_runs import run

from hf_paraphrase.models.configuration_gran import GranConfig
from hf_paraphrase.models.modeling_gran import GranModel

WORDS = ["the", "a", "cat", "dog", "sat", "ran", "on", "mat"]
SENTENCES = [
    "The cat sat on the mat.",
    "A dog ran.",
    "the dog sat on a mat",
    "a cat ran $1 $2",
    "The cat sat on the mat.",
]


@pytest.fixture(scope="module")
def folder(tmp_path_factory):
    root = tmp_path_factory.mktemp("gates")
    save_model(root / "gran", GranModel, GranConfig, words=WORDS)
    save_model(root / "both", GranModel, partial(GranConfig, cell="gru", bidirectional=True), words=WORDS)
    (root / "text.txt").write_text("\n".join(SENTENCES) + "\n")
    (root / "tagged.txt").write_text("the/DT cat/NN sat/VBD on/IN a/DT mat/NN\na/DT dog/NN ran/VBD to/TO it/PRP\n")
    return root


def test_tagged_text_gives_tables_pictures_and_a_comparison(folder, tmp_path, capsys):
    output = tmp_path / "report"
    words = ["--tagged", folder / "tagged.txt", "--output", output, "--min-count", 1]
    assert run("analyze", "gates", "--model", folder / "gran", *words) == 0
    out, err = capsys.readouterr()
    assert out == "" and "part of speech: highest" in err
    report = (output / "README.md").read_text()
    assert report.count("![") == 2 and (output / "plots/sentence_1.png").read_bytes().startswith(b"\x89PNG")
    assert "By part of speech" in report and "of all pairs" in report.lower() and "in 2 distinct sentences" in report
    rows = (output / "tables/tag.tsv").read_text().splitlines()
    assert rows[0].startswith("name\twords\tgate\tlow\thigh") and len(rows) == 1 + 6
    numbers = json.loads((output / "analysis.json").read_text())
    assert numbers["words"] == 11 and numbers["paper"]["tag"]["high"] == 1 and numbers["paper"]["tag"]["low"] == 4


@pytest.mark.usefixtures("plots_undrawn")
def test_of_plain_text_each_distinct_sentence_counts_once(folder, tmp_path):
    output = tmp_path / "report"
    words = ["--model", folder / "both", "--text", folder / "text.txt", "--min-count", 1]
    assert run("analyze", "gates", *words, "--output", output) == 0
    rows = [line.split("\t") for line in (output / "tables/words.tsv").read_text().splitlines()[1:]]
    found = {name: int(count) for name, count, *_ in rows}
    assert found["the"] == 3 and found["cat"] == 2 and found["dog"] == 2
    report = (output / "README.md").read_text()
    assert "in 4 distinct sentences" in report and "in both directions" in report
    # A dollar sign is a letter like any other in a picture.
    assert "$1 $2" in report and (output / "plots/sentence_3.png").is_file()
