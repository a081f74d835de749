"""The cards that the commands write: their code runs, their heads say what was measured, and nothing else."""

from __future__ import annotations

import json
import os
import re
from pathlib import Path

import datasets
import numpy as np
import pyarrow as pa
import pytest
import yaml
from huggingface_hub import DatasetCard, ModelCard

from hf_paraphrase.artefacts.provenance import read_provenance
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split

URL = "https://huggingface.co/datasets/org/numbers"
BLOCK = re.compile(r"^```(\w+)\n(.*?)^```$", re.MULTILINE | re.DOTALL)
COMMAND = re.compile(r"^    (hf-paraphrase .*)$", re.MULTILINE)
TINY = "--vocab-size 60 --hidden-size 8 --embedding-size 6 --epochs 1 --batch-size 8 --evaluations 1 --precision fp32"
SEARCH = "--num-beams 60 --num-return-sequences 2 --precision fp32"
"""The model has learnt hardly anything: in a narrower beam few translations come to an end."""
ENCODER = "--epochs 1 --hidden-size 6 --min-frequency 1"
AUTOENCODER = "--hidden-size 6 --embedding-size 4 --max-steps 2 --min-frequency 1 --dev-size 4 --precision fp32"
PARTS = "--train-size 30 --dev-size 8 --test-size 8 --epochs 1 --embedding-size 8"
ENCODERS = {
    "avg": "--dev-data graded --license apache-2.0",
    "gran": "",
    "recurrent": "--cell gru --dev-data graded",
    "trigram": "",
    "word-trigram": "--mega-batch-size 2",
    "contrastive": "--model-type avg --loss contrastive --pairs labelled",
}
PIECES = ("bpe", "unigram", "morfessor")
MODELS = [
    *ENCODERS,
    "distilled",
    "joined",
    "sdae",
    "rnn_search",
    "classifier",
    "parallel",
    "vectors",
    "words",
    *PIECES,
]
DATA = ["bitext", "labelled", "back_translated", "scored", "filtered", "mixed", "simpwiki", "msrp"]


def run(words):
    assert main(words.split()) == 0, words


@pytest.fixture(scope="module")
def work(tmp_path_factory, number_pairs):
    """A folder with one artefact of each kind, made as a user would, in the folder itself."""
    folder = tmp_path_factory.mktemp("cards")
    pairs = number_pairs(90, 100)
    (folder / "raw.tsv").write_text("".join(f"{french}\t{english}\n" for french, english in pairs))
    before = Path.cwd()
    os.chdir(folder)
    try:
        sides = "--source-lang fr --target-lang en --validation-size 8 --test-size 8"
        run(f"prepare bitext --tsv raw.tsv {sides} --license cc-by-2.0 --url {URL} --output bitext")
        run(f"train-nmt --bitext bitext --output rnn_search {TINY}")
        run(f"back-translate --model rnn_search --bitext bitext --output back_translated {SEARCH}")
        run("score --pairs back_translated --output scored --measures length,overlap --workers 1")
        run("filter --pairs scored --output filtered --keep length>=0 --sample 60")
        run("filter --pairs scored --output mixed --first 20 --by overlap_1 --noise 0.2 --negatives 1")
        rows = [(english, f"{english} again", index % 2) for index, (_, english) in enumerate(pairs)]
        (folder / "labelled.tsv").write_text("".join(f"{a}\t{b}\t{label}\n" for a, b, label in rows))
        run("prepare pairs --tsv labelled.tsv --columns sentence1,sentence2,label --output labelled")
        scores = pa.array(np.linspace(0.0, 5.0, len(rows)))
        graded = pa.table(
            {"sentence1": [row[0] for row in rows], "sentence2": [row[1] for row in rows], "score": scores}
        )
        write_split(folder / "graded", "validation", [graded], graded.schema)
        for name, flags in ENCODERS.items():
            kind = "" if "--model-type" in flags else f"--model-type {name}"
            data = "" if "--pairs" in flags else "--pairs filtered"
            run(f"train-encoder {data} {kind} --output {name} {ENCODER} {flags}")
        run(f"distill --teacher avg gran --text filtered --output distilled {ENCODER} --letters --matryoshka 3")
        run("join --model avg trigram weighted-trigrams --weights 3 2 1 --text filtered --output joined")
        run(f"train-sdae --pairs filtered --output sdae {AUTOENCODER}")
        _write_lists(folder / "lists")
        run(f"train-classifier --pairs lists --output classifier {PARTS}")
        run(
            "train-parallel-classifier --bitext bitext --output parallel --epochs 1 --embedding-size 4 --hidden-size 4"
        )
        run("train-bilingual-vectors --bitext bitext --output vectors --epochs 1 --dimension 4")
        run("train-tokenizer --kind word --pairs filtered --output words --license mit")
        run("train-tokenizer --kind bpe --pairs labelled --output bpe --vocabulary-size 60")
        run("train-tokenizer --kind unigram --pairs labelled --output unigram --vocabulary-size 60")
        run("train-tokenizer --kind morfessor --pairs labelled --output morfessor")
        (folder / "normal.aligned").write_text("T\t0\ta b c\n")
        (folder / "simple.aligned").write_text("T\t0\ta b\n")
        run("prepare simpwiki --normal normal.aligned --simple simple.aligned --output simpwiki")
        for part in ("train", "test"):
            header = "Quality\t#1 ID\t#2 ID\t#1 String\t#2 String\n"
            (folder / f"msr_paraphrase_{part}.txt").write_text(header + "1\t7\t8\ta\tb\n")
        (folder / "msr").mkdir()
        for path in folder.glob("msr_*.txt"):
            path.rename(folder / "msr" / path.name)
        run("prepare msrp --data-dir msr --output msrp")
    finally:
        os.chdir(before)
    return folder


def _write_lists(folder):
    rows = [(f"n{i}", f"a{i % 7} b{i} r{i}", f"c{i % 5} {k} r{i}") for i in range(60) for k in range(2)]
    table = pa.table(dict(zip(("id", "sentence1", "sentence2"), map(list, zip(*rows, strict=True)), strict=True)))
    write_split(folder, "train", [table], table.schema)


@pytest.fixture
def inside(work, monkeypatch, tmp_path):
    monkeypatch.chdir(work)
    monkeypatch.setattr(datasets.config, "HF_DATASETS_CACHE", tmp_path / "cache")
    return work


@pytest.mark.parametrize("name", [*MODELS, *DATA])
def test_every_code_block_of_every_card_runs(inside, name, capsys):
    card = (inside / name / "README.md").read_text()
    blocks = BLOCK.findall(card)
    assert {kind for kind, _ in blocks} <= {"python", "json", "bibtex"}
    code = [text for kind, text in blocks if kind == "python"]
    assert code
    for text in code:
        # The card of a data folder does not know where the folder will lie.
        exec(compile(text.replace("path/to/this/folder", name), f"{name}/README.md", "exec"), {})
    assert all(json.loads(text) for kind, text in blocks if kind == "json")
    capsys.readouterr()


def test_the_commands_on_cards_run(inside, tmp_path, capsys):
    (command,) = COMMAND.findall((inside / "classifier" / "README.md").read_text())
    words = command.replace("--pairs DIR", "--pairs lists").replace("--output DIR", f"--output {tmp_path / 'out'}")
    assert main(words.split()[1:]) == 0
    capsys.readouterr()
    assert "`hf-paraphrase train-encoder --tokenizer words …`" in (inside / "words" / "README.md").read_text()


@pytest.mark.parametrize("name", MODELS)
def test_a_models_card_says_everything_and_the_hubs_library_reads_it(work, name):
    card = ModelCard.load(work / name / "README.md")
    data = card.data.to_dict()
    assert data["license"] == {"avg": "apache-2.0", "words": "mit"}.get(name, "unknown")
    assert data["library_name"] and len(data["tags"]) >= 2
    assert "pipeline_tag" in data or name in ("words", *PIECES)
    assert data.get("language") in (["fr", "en"], ["en"], None) and ("language" in data or name in PIECES)
    for heading in ("## Limits", "## Licence", "## Training data"):
        assert card.text.count(f"\n{heading}\n") == 1, heading
    assert ("## Citation" in card.text) == (name != "words")
    from_bitext = name not in ("classifier", "contrastive", *PIECES)
    assert data.get("datasets") == (["org/numbers"] if from_bitext else None)
    if from_bitext:
        assert re.search(rf"\* `\w+` \(`hf-paraphrase .*licence: cc-by-2.0; language: .*<{URL}>", card.text)


@pytest.mark.parametrize("name", MODELS)
def test_results_in_the_head_are_those_of_the_provenance_and_no_results_no_index(work, name):
    card = ModelCard.load(work / name / "README.md")
    found = [(item.metric_name, item.metric_value) for item in card.data.eval_results or []]
    assert bool(found) == (name in ("rnn_search", "classifier", "parallel", "vectors", "avg", "recurrent"))
    assert ("model-index" in card.content) == bool(found)
    results = read_provenance(work / name)["results"]
    values = {value for _, value in found}
    if name == "rnn_search":
        assert values == {results["dev_bleu"]}
    elif name == "classifier":
        assert values == {results["test"]["accuracy"], results["dev"]["accuracy"]}
    elif name == "parallel":
        assert values == {results["dev"]["best_f1"]}
    elif name == "vectors":
        assert values == {results["retrieval"]["mean"]}
    elif found:
        assert values == {results["dev_best"]} and card.data.model_name == name


@pytest.mark.parametrize("name", DATA)
def test_a_data_sets_card_says_where_it_comes_from(work, name):
    card = DatasetCard.load(work / name / "README.md")
    licence = {"labelled": None, "simpwiki": "cc-by-sa-3.0", "msrp": None, "bitext": "cc-by-2.0"}
    assert card.data.to_dict().get("license") == licence.get(name, ["cc-by-2.0"])
    assert "## Licence" in card.text
    if name in ("back_translated", "scored", "filtered", "mixed"):
        assert card.data.to_dict()["source_datasets"] == ["org/numbers"]
        assert f"<{URL}>" in card.text and ("`rnn_search`" in card.text) == (name == "back_translated")
    if name == "bitext":
        assert f"The files come from <{URL}>." in card.text
    if name in ("simpwiki", "msrp"):
        assert "```bibtex" in card.text and "at home at <http" in card.text


def test_evaluate_adds_its_results_to_head_text_and_record_and_a_second_run_replaces_them(work, monkeypatch, capsys):
    monkeypatch.chdir(work)
    folder = work / "gran"
    before = ModelCard.load(folder / "README.md")
    words = "evaluate --model gran --data graded --suite graded --split validation --update-card"
    run(words)
    once = ModelCard.load(folder / "README.md")
    (evaluation,) = read_provenance(folder)["evaluations"].values()
    (only,) = evaluation["sets"]
    assert {(item.metric_type, item.metric_value) for item in once.data.eval_results} == {
        ("pearsonr", only["pearson"]),
        ("spearmanr", only["spearman"]),
    }
    assert {(item.dataset_name, item.dataset_split) for item in once.data.eval_results} == {("graded", "validation")}
    others = {key: value for key, value in once.data.to_dict().items() if key != "model-index"}
    assert others == before.data.to_dict() and once.text.count("## Evaluation") == 1
    run(words)
    assert (folder / "README.md").read_text() == once.content
    capsys.readouterr()


def test_evaluate_nmt_adds_its_scores_to_those_of_training(work, monkeypatch, capsys):
    monkeypatch.chdir(work)
    words = "evaluate-nmt --model rnn_search --bitext bitext --num-beams 1 3 --update-card"
    run(words)
    once = ModelCard.load(work / "rnn_search" / "README.md")
    (evaluation,) = read_provenance(work / "rnn_search")["evaluations"].values()
    scores = {(f"{key}", item[key]) for item in evaluation["scores"] for key in ("bleu", "chrf")}
    scores.add(("bleu", read_provenance(work / "rnn_search")["results"]["dev_bleu"]))
    names = {"sacrebleu": "bleu", "chrf": "chrf"}
    assert {(names[item.metric_type], item.metric_value) for item in once.data.eval_results} == scores
    assert {item.dataset_split for item in once.data.eval_results} == {"validation", "test"}
    assert "| bitext, test |         8 |    1 |" in once.text and once.text.count("## Evaluation") == 1
    run(words)
    assert (work / "rnn_search" / "README.md").read_text() == once.content
    capsys.readouterr()


def test_scores_on_several_bitexts_stand_together_in_the_cards_of_the_model_and_of_its_translations(
    work, monkeypatch, capsys
):
    monkeypatch.chdir(work)
    for split in ("test", "validation"):
        run(f"evaluate-nmt --model rnn_search --bitext bitext --split {split} --num-beams 2 --update-card")
    search = "--num-beams 2 --num-return-sequences 1 --output tested"
    run(f"back-translate --model {work / 'rnn_search'} --bitext {work / 'bitext'} {search}")
    assert str(work) not in (work / "tested" / "README.md").read_text()
    for folder in ("rnn_search", "tested"):
        text = (work / folder / "README.md").read_text()
        assert all(
            re.search(rf"^\| bitext, {split} +\| +\d+ \| +2 \|", text, re.M) for split in ("test", "validation")
        )
        assert text.count("BLEU: `nrefs:1|case:lc") == 1
    capsys.readouterr()


def test_an_ensemble_has_no_card_to_update(work, monkeypatch, capsys):
    monkeypatch.chdir(work)
    assert main(["evaluate-nmt", "--model", "rnn_search", "rnn_search", "--bitext", "bitext", "--update-card"]) == 2
    assert "an ensemble has no card" in capsys.readouterr().err


@pytest.mark.parametrize(
    "words",
    [
        "train-encoder --pairs filtered --output x --license mine!",
        "train-nmt --bitext bitext --output x --license Mine",
        "train-classifier --pairs lists --output x --license a,b",
        "train-tokenizer --pairs filtered --output x --license A",
        "train-parallel-classifier --bitext bitext --output x --license a,b",
        "train-bilingual-vectors --bitext bitext --output x --license B",
        "prepare pairs --tsv labelled.tsv --output x --url file:///etc/passwd",
        "prepare bitext --tsv raw.tsv --source-lang fr --target-lang en --output x --url nowhere",
    ],
)
def test_licences_and_addresses_that_a_card_cannot_have_are_refused(work, monkeypatch, capsys, words):
    monkeypatch.chdir(work)
    assert main(words.split()) == 2
    assert "--license" in (error := capsys.readouterr().err) or "--url" in error
    assert not Path("x").exists()


def test_heads_are_plain_yaml(work):
    for name in [*MODELS, *DATA]:
        head = (work / name / "README.md").read_text().split("---\n")[1]
        assert isinstance(yaml.safe_load(head), dict)
