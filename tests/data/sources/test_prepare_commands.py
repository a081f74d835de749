from __future__ import annotations

from pathlib import Path

from huggingface_hub import DatasetCard
from small_runs import record as record_of
from small_runs import run

from hf_paraphrase.data.folder import DataFolder


def test_messages_card_and_provenance_say_what_was_done(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    english = [*(f"this is sentence {i}" for i in range(59)), "see sentence 9 and no more now"]
    evaluation = ["This is sentence 7!", "see sentence 9 and no more", "it is sentence 9 and no more today"]
    files = {"a.fr": [f"phrase numéro {i}" for i in range(60)], "a.en": english, "eval.txt": evaluation}
    for name, lines in files.items():
        Path(name).write_text("".join(f"{line}\n" for line in lines))
    words = "prepare bitext --source-file a.fr --target-file a.en --source-lang fr --target-lang en --output out"
    words += " --decontaminate eval.txt --decontaminate-ngrams 4 --license cc-by-2.0"
    assert run(*words.split()) == 0
    assert "train: 58 rows of 60 lines (contaminated 2)" in capsys.readouterr().err
    record = record_of(Path("out"))
    assert record["command"] == "hf-paraphrase prepare bitext"
    assert [item["name"] for item in record["inputs"]] == ["a.fr", "a.en", "eval.txt"]
    assert record["results"]["counts"]["train"]["rows"] == 58
    assert record["results"]["contamination"] == {"eval.txt": 1, "eval.txt (4-grams)": 1}
    card = Path("out/README.md").read_text()
    found = ("license: cc-by-2.0", "| eval.txt | 1 |", "| eval.txt (4-grams) | 1 |", "| train | contaminated | 2 |")
    assert all(text in card for text in found)
    assert "at least 70 % of the 4-grams" in card and str(tmp_path) not in card


def test_names_of_files_and_texts_are_text_on_a_card(tmp_path):
    path = tmp_path / "x <img src=x>\n# Bought \u202e\x1b.tsv"
    path.write_text("```\u202e# a\tb\n")
    assert run("prepare", "pairs", "--tsv", path, "--output", tmp_path / "out") == 0
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
    record = record_of(output)
    assert record["results"]["counts"]["validation"] == 20 and len(record["inputs"]) == 1
    assert "Near-duplicates" in (output / "README.md").read_text()
    assert "6 pairs hidden in them" in artefacts.run_of("comparable").stderr
