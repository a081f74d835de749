"""Every source from raw files in its layout to a folder: the commands and the `load_dataset` lines of the README."""

from __future__ import annotations

import bz2
import gzip
import json
import os
from inspect import signature
from pathlib import Path

import pytest
import yaml
from datasets import ClassLabel, IterableDataset, load_dataset
from datasets.exceptions import DatasetGenerationError
from huggingface_hub import DatasetCard
from small_runs import record, run

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import DataFolder
from hf_paraphrase.data.sources import SourceBuilder, prepare
from hf_paraphrase.errors import InputError, UsageError

RULES = "[NP] ||| the man ||| a man ||| PPDB2.0Score=5.2 AGigaSim=NA p(e|f)=0.5 ||| 0-0 1-1 ||| Equivalence\n"
STS_LINES = 'one , two\tthree\t4\nfour\tfive "six\nseven\teight\n'
SICK_HEADER = "pair_ID\tsentence_A\tsentence_B\trelatedness_score\tentailment_judgment\n"
TURKU = [
    {"txt1": "Moi .", "txt2": "Hei .", "label": "4", "fold": 3, "goeswith": "d1", "rewrites": [["Moi!", "Hei!"]]},
    {"txt1": "Ei .", "txt2": "Joo .", "label": "2", "fold": 4, "goeswith": None, "rewrites": []},
]
SAMPLE = "label\tsource\tlex\ta\tb\n4>i\tpb\t0.5\tMoi\tHei\nx\tpb\t0.5\tA\tB\n"

# For each source: its raw files, the flags, and for each split the number of rows; "labelled.test" is the split `test`
# of the configuration `labelled`.
SOURCES: dict[str, tuple[dict[str, str | bytes], list[str], dict[str, int]]] = {
    "opusparcus": (
        {
            "raw/fr/train/fr-train.txt.bz2": bz2.compress(b"fr-N1\tg\th\t9.5\t1.5\t5\t2\nfr-N2\ti\tj\t8\t1\t1\t0\n"),
            "raw/fr/dev/fr-dev.txt": "fr-D1\ta\tb\t2.5\nfr-D2\tc\td\t4.0\n",
            "raw/fr/test/fr-test.txt": "fr-T1\te\tf\t1.0\n",
        },
        ["--data-dir", "raw", "--lang", "fr"],
        {"train": 2, "validation": 2, "test": 1, "labelled.validation": 1, "labelled.test": 1},
    ),
    "ppdb": ({"ppdb-2.0-s-all.gz": gzip.compress(RULES.encode())}, ["--file", "ppdb-2.0-s-all.gz"], {"train": 1}),
    "simpwiki": (
        {"normal.aligned": "T\t0\ta b c\nU\t1\td\n", "simple.aligned": "T\t0\ta b\nU\t3\te\n"},
        ["--normal", "normal.aligned", "--simple", "simple.aligned"],
        {"train": 2},
    ),
    "sts": (
        {
            "raw/STS12-en-test/STS.input.MSRpar.txt": STS_LINES,
            "raw/STS12-en-test/STS.gs.MSRpar.txt": "5\n\n0.25\n",
            "raw/STS13-en-test/STS.gs.SMT.txt": "3\n",
            "raw/STS16-en-test/STS2016.input.headlines.txt": STS_LINES,
            "raw/STS16-en-test/STS2016.gs.headlines.txt": "1\n2\n3\n",
        },
        ["--data-dir", "raw"],
        {"STS12": 2, "STS16": 3},
    ),
    "stsbenchmark": (
        {"raw/sts-dev.csv": 'main-captions\tMSRvid\t2012test\t0001\t4.5\ta "b\tc\td\te\n'},
        ["--data-dir", "raw"],
        {"validation": 1},
    ),
    "sick": (
        {
            "raw/SICK_train.txt": SICK_HEADER + "1\ta\tb\t4.5\tNEUTRAL\n",
            "raw/SICK_trial.txt": SICK_HEADER + "2\ta\tb\t1\tX",
        },
        ["--data-dir", "raw"],
        {"train": 1, "validation": 1},
    ),
    "pit2015": (
        {
            "raw/dev.data": "1\tT\ta\tb\t(4, 1)\tx\ty\n",
            "raw/test.data": "1\tT\ta\tb\t5\tx\ty\n1\tT\tc\td\t3\tx\ty\n",
            "raw/test.label": "true\t1.0\n----\t0.6\n",
        },
        ["--data-dir", "raw"],
        {"validation": 1, "test": 2},
    ),
    "msrp": (
        {
            f"raw/msr_paraphrase_{part}.txt": '\ufeffQuality\t#1 ID\t#2 ID\t#1 String\t#2 String\r\n1\t7\t8\t"a\tb\r\n'
            for part in ("train", "test")
        },
        ["--data-dir", "raw"],
        {"train": 1, "test": 1},
    ),
    "turku": (
        {
            "raw/train.json": json.dumps(TURKU),
            "raw/dev.json.gz": gzip.compress(json.dumps(TURKU).encode()),
            "raw/opus-parsebank-sample-annotated.tsv": SAMPLE,
        },
        ["--data-dir", "raw", "--rewrites"],
        {"train": 2, "validation": 2, "sample.train": 1, "rewrites.train": 1, "rewrites.validation": 1},
    ),
    "transfer": (
        {
            "raw/MR/rt-polarity.pos": "good .\nfine .\n",
            "raw/MR/rt-polarity.neg.gz": gzip.compress(b"bad .\n"),
            "raw/TREC/train_5500.label": "LOC:city Where is Malm\xf6 ?\n".encode("latin-1"),
            "raw/TREC/TREC_10.label": "NUM:dist How far ?\n",
        },
        ["--data-dir", "raw"],
        {"mr.train": 3, "trec.train": 1, "trec.test": 1},
    ),
}


@pytest.fixture(params=SOURCES)
def source(request, tmp_path, monkeypatch):
    files, flags, sizes = SOURCES[request.param]
    for name, content in files.items():
        (tmp_path / name).parent.mkdir(parents=True, exist_ok=True)
        (tmp_path / name).write_bytes(content.encode() if isinstance(content, str) else content)
    monkeypatch.chdir(tmp_path)
    assert main(["prepare", request.param, *flags, "--output", "out"]) == 0
    return request.param, flags, sizes


def assert_the_card_says_what_it_must(sizes):
    text = Path("out/README.md").read_text()
    infos = DatasetCard.load("out/README.md").data.dataset_info
    infos = infos if isinstance(infos, list) else [infos]
    stated = {
        (info["config_name"], split["name"], split["num_examples"]) for info in infos for split in info["splits"]
    }
    assert {(f"{name}.{split}".removeprefix("default."), rows) for name, split, rows in stated} == set(sizes.items())
    for heading in ("## Fields", "## Rows", "## Licence", "## Citation"):
        assert text.count(f"\n{heading}\n") == 1
        assert text.partition(f"\n{heading}\n")[2].strip()
    for info in infos:
        for feature in info["features"]:
            assert f"* `{feature['name']}`: " in text
    assert str(Path.cwd()) not in text
    header = yaml.safe_load(text.split("---")[1])
    assert [entry["config_name"] for entry in header["configs"]] == [info["config_name"] for info in infos]
    assert [entry.get("default", False) for entry in header["configs"]].count(True) == 1


def test_each_command_makes_a_folder_that_plain_load_dataset_opens_and_its_builder_gives_the_same(source, capsys):
    name, flags, sizes = source
    assert capsys.readouterr().out == ""
    assert {path.name for path in Path("out").iterdir()} == {"data", "README.md", "provenance.json"}
    counts = json.loads(Path("out/provenance.json").read_text())["results"]["counts"].values()
    assert all(2 * rules["lines"] == sum(rules.values()) for rules in counts)
    settings = {flag[2:].replace("-", "_"): value for flag, value in zip(flags[::2], flags[1::2], strict=False)}
    settings |= {"rewrites": True} if name == "turku" else {}
    found = {}
    configurations = list(dict.fromkeys(shards.rpartition(".")[0] or None for shards in sizes))
    for configuration in configurations:
        opened = load_dataset("out", configuration, cache_dir="cache")
        built = hf_paraphrase.load_dataset(name, configuration, cache_dir="cache2", **settings)
        assert type(built) is type(opened) and set(built) == set(opened)
        for split, rows in opened.items():
            shards = f"{configuration}.{split}" if configuration else split
            found[shards] = len(rows)
            assert DataFolder("out").table(shards).to_pylist() == rows.to_list()
            assert list(load_dataset("out", configuration, split=split, streaming=True)) == rows.to_list()
            assert built[split].features == rows.features and built[split].to_list() == rows.to_list()
            options = {"split": split, "streaming": True, "cache_dir": "cache2"}
            stream = hf_paraphrase.load_dataset(name, configuration, **options, **settings)
            assert isinstance(stream, IterableDataset) and list(stream) == rows.to_list()
    assert found == sizes
    # Without a name the default configuration opens.
    whole = load_dataset("out", configurations[0], cache_dir="cache")
    assert set(load_dataset("out", cache_dir="cache")) == set(whole)
    assert_the_card_says_what_it_must(sizes)


@pytest.mark.parametrize("source", ["transfer"], indirect=True)
def test_classes_have_their_names(source):
    trec = load_dataset("out", "trec", split="train", cache_dir="cache")
    assert trec.features["label"] == ClassLabel(names=["ABBR", "DESC", "ENTY", "HUM", "LOC", "NUM"])
    assert trec[0] == {"text": "Where is Malmö ?", "label": 4, "fine_label": "city"}
    mr = load_dataset("out", "mr", split="train", cache_dir="cache")
    assert mr.features["label"].names == ["negative", "positive"]
    folder = DataFolder("out")
    assert folder.class_names("label", "mr.train") == ["negative", "positive"]
    assert folder.class_names("label", "trec.test") == trec.features["label"].names
    assert [(row["text"], row["label"]) for row in mr] == [("bad .", 0), ("good .", 1), ("fine .", 1)]


@pytest.mark.parametrize("source", ["transfer"], indirect=True)
def test_the_arguments_of_load_dataset_have_its_order_and_meaning(source):
    same = list(signature(load_dataset).parameters)[:6]
    assert list(signature(hf_paraphrase.load_dataset).parameters)[:6] == same
    for options in ({}, {"download_mode": "force_redownload", "verification_mode": "no_checks"}):
        rows = hf_paraphrase.load_dataset("transfer", "trec", "raw", None, "train", "cache2", **options)
        assert rows["fine_label"][:] == ["city"]
    parquet = hf_paraphrase.load_dataset("parquet", None, "out/data", "mr.train-*.parquet", "train", "cache")
    assert parquet["label"][:] == [0, 1, 1]
    with pytest.raises(UsageError, match="`data_files` is not for sources"):
        hf_paraphrase.load_dataset("transfer", data_files="a")


@pytest.mark.parametrize("source", ["opusparcus"], indirect=True)
def test_skipped_lines_are_listed_once_each_beside_the_data(source):
    name, flags, _ = source
    Path("raw/fr/dev/fr-dev.txt").write_text("fr-D1\ta\tb\t9.5\nfr-D2\tc\td\t4.0\nfr-D3\te\n")
    assert main(["prepare", name, *flags, "--on-error", "skip", "--overwrite", "--output", "out"]) == 0
    lines = Path("out/skipped_lines.tsv").read_text().splitlines()
    # The file is read for two configurations.
    assert sorted(line.split("\t")[1] for line in lines[1:]) == ["1", "3"]
    assert "skipped_lines.tsv" in Path("out/README.md").read_text()
    assert load_dataset("out", split="validation", cache_dir="cache")["id"][:] == ["fr-D2"]


# ----- the builder


@pytest.fixture
def tsv(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("".join(f"phrase {i}\tsentence {i}\n" for i in range(40)))
    return path


def test_a_language_of_both_sides_is_once_on_the_card(tmp_path, tsv):
    prepare("bitext", tsv=str(tsv), source_lang="en", target_lang="en", output=str(tmp_path / "out"))
    assert "---\nlanguage:\n- en\ntask" in (tmp_path / "out" / "README.md").read_text()


def prepared(**settings):
    builder = SourceBuilder("bitext", source_lang="fr", target_lang="en", **settings)
    builder.download_and_prepare()
    return builder.as_dataset()


def test_a_changed_file_and_another_file_never_give_stale_rows(tmp_path, tsv, monkeypatch):
    cache = str(tmp_path / "cache")
    parts = prepared(tsv=str(tsv), test_size=5, shuffle=True, cache_dir=cache)
    assert {split: len(rows) for split, rows in parts.items()} == {"train": 35, "test": 5}
    assert len(prepared(tsv=str(tsv), cache_dir=cache)["train"]) == 40
    tsv.write_text("neuf\tnew\n")
    os.utime(tsv, ns=(1, 1))
    assert prepared(tsv=str(tsv), cache_dir=cache)["train"]["target"][:] == ["new"]
    other = tmp_path / "other"
    other.mkdir()
    (other / "a.tsv").write_text("autre\tother\n")
    monkeypatch.chdir(other)
    assert prepared(tsv="a.tsv", cache_dir=cache)["train"]["target"][:] == ["other"]
    monkeypatch.chdir(tmp_path)
    assert prepared(tsv="a.tsv", cache_dir=cache)["train"]["target"][:] == ["new"]


def test_bad_input_is_the_cause_of_what_the_caller_sees(tmp_path, tsv):
    tsv.write_text("a\tb\nno tab\n")
    with pytest.raises(DatasetGenerationError) as caught:
        prepared(tsv=str(tsv), cache_dir=str(tmp_path / "cache"))
    assert isinstance(caught.value.__cause__, InputError) and caught.value.__cause__.line == 2
    with pytest.raises(UsageError, match="either --source-file"):
        prepared(cache_dir=str(tmp_path / "cache"))


# ----- messages, cards and records


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
    made = record(Path("out"))
    assert made["command"] == "hf-paraphrase prepare bitext"
    assert [item["name"] for item in made["inputs"]] == ["a.fr", "a.en", "eval.txt"]
    assert made["results"]["counts"]["train"]["rows"] == 58
    assert made["results"]["contamination"] == {"eval.txt": 1, "eval.txt (4-grams)": 1}
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
    made = record(output)
    assert made["results"]["counts"]["validation"] == 20 and len(made["inputs"]) == 1
    assert "Near-duplicates" in (output / "README.md").read_text()
    assert "6 hidden pairs" in artefacts.run_of("comparable").stderr
