from __future__ import annotations

import json
from pathlib import Path

import pytest
from huggingface_hub import DatasetCard

from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder


@pytest.fixture
def files(tmp_path):
    (tmp_path / "a.fr").write_text("".join(f"phrase numéro {i}\n" for i in range(60)))
    (tmp_path / "a.en").write_text("".join(f"this is sentence {i}\n" for i in range(60)))
    return tmp_path


def bitext(folder: Path, *more: str, output: str = "out") -> list[str]:
    words = ["prepare", "bitext", "--source-lang", "fr", "--target-lang", "en", "--output", str(folder / output)]
    if not {"--tsv", "--gettext"} & set(more):
        words += ["--source-file", str(folder / "a.fr"), "--target-file", str(folder / "a.en")]
    return [*words, *more]


def test_messages_card_and_provenance_say_what_was_done(files, capsys):
    (files / "eval.txt").write_text(
        "This is sentence 7!\nsee sentence 9 and no more\nit is sentence 9 and no more today\n"
    )
    (files / "a.en").write_text(
        "".join(f"this is sentence {i}\n" for i in range(59)) + "see sentence 9 and no more now\n"
    )
    words = ["--decontaminate", str(files / "eval.txt"), "--decontaminate-ngrams", "4"]
    assert main(bitext(files, *words, "--license", "cc-by-2.0")) == 0
    assert "train: 58 rows of 60 lines (contaminated 2)" in capsys.readouterr().err
    record = json.loads((files / "out" / "provenance.json").read_text())
    assert record["command"] == "hf-paraphrase prepare bitext"
    assert [item["name"] for item in record["inputs"]] == ["a.fr", "a.en", "eval.txt"]
    assert record["results"]["counts"]["train"]["rows"] == 58
    assert record["results"]["contamination"] == {"eval.txt": 1, "eval.txt (4-grams)": 1}
    card = (files / "out" / "README.md").read_text()
    for text in (
        "license: cc-by-2.0",
        "| eval.txt | 1 |",
        "| eval.txt (4-grams) | 1 |",
        "| train | contaminated | 2 |",
    ):
        assert text in card
    assert "at least 70 % of the 4-grams" in card and str(files) not in card


def test_names_of_files_and_texts_are_text_on_a_card(tmp_path):
    path = tmp_path / "x <img src=x>\n# Bought \u202e\x1b.tsv"
    path.write_text("```\u202e# a\tb\n")
    assert main(["prepare", "pairs", "--tsv", str(path), "--output", str(tmp_path / "out")]) == 0
    card = DatasetCard.load(tmp_path / "out" / "README.md")
    assert card.data.pretty_name.startswith("Paraphrase pairs (x <img src=x> # Bought ")
    assert "<img" not in card.text and "\n# Bought" not in card.text and "\n```\\" not in card.text
    assert not {"\u202e", "\x1b"} & {*card.content, *card.data.pretty_name}


def test_a_task_is_in_the_layout_of_bucc_and_its_bitext_opens(artefacts):
    output = artefacts["comparable"]
    names = {path.name for path in output.iterdir()}
    assert {f"fr-en.{part}.{end}" for part in ("training", "test") for end in ("fr", "en", "gold")} < names
    gold = [line.split("\t") for line in (output / "fr-en.test.gold").read_text().splitlines()]
    source, target = (
        dict(line.split("\t") for line in (output / f"fr-en.test.{end}").read_text().splitlines())
        for end in ("fr", "en")
    )
    known = {(row["source"], row["target"]) for row in DataFolder(artefacts["bitext"]).table().to_pylist()}
    assert len(gold) == 6 and all((source[one], target[two]) in known for one, two in gold)
    train = DataFolder(output / "bitext").table("train")
    assert not set(train.column("source").to_pylist()) & set(source.values())
    assert DataFolder(output / "bitext").table("validation").num_rows == 20
    record = json.loads((output / "provenance.json").read_text())
    assert record["results"]["counts"]["validation"] == 20 and len(record["inputs"]) == 1
    assert "Near-duplicates" in (output / "README.md").read_text()
    assert "6 pairs hidden in them" in artefacts.run_of("comparable").stderr
