from __future__ import annotations

import itertools
import json
from types import SimpleNamespace

import numpy as np
import pytest
import yaml
from small_runs import run, write, write_sts

import hf_paraphrase
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.evaluation import transfer
from hf_paraphrase.registry import SUITES

WORDS = ["banana", "umbrella", "ocean", "onion", "idea"]


@pytest.fixture
def encoders(monkeypatch):
    """Every model counts vowels, so that none has to be built."""

    def encode(texts, *, batch_size, show_progress_bar):
        return np.array([[text.count(vowel) + 0.1 for vowel in "aeiou"] for text in texts], dtype=np.float32)

    methods = dict.fromkeys(("encode", "encode_query", "encode_document"), encode)
    monkeypatch.setattr(SentenceEncoder, "from_pretrained", lambda name, **settings: SimpleNamespace(**methods))


@pytest.fixture
def sts(tmp_path):
    pairs = map("\t".join, itertools.pairwise(WORDS))
    write_sts(tmp_path / "sts" / "STS16-en-test", "headlines", pairs, [1, 2, "", 4])
    (tmp_path / "sts" / "STS13").mkdir()
    (tmp_path / "sts" / "STS13" / "STS.gs.SMT.txt").write_text("1\n")
    return tmp_path / "sts"


def test_models_and_baselines_stand_side_by_side_and_the_results_file_holds_them(encoders, sts, tmp_path, capsys):
    output = tmp_path / "results.json"
    words = ["evaluate", "--model", "runs/avg", "runs/gran", "--data", sts, "--baseline", "words", "weighted-trigrams"]
    assert run(*words, "--output", output) == 0
    out = capsys.readouterr().out
    assert all(name in out.splitlines()[0] for name in ("words r", "weighted-trigrams r", "avg r", "gran r"))
    assert "| STS16 mean (1 of 5 sets)" in out and "scores without sentences (not evaluated): STS13 SMT" in out
    record = json.loads(output.read_text())
    kinds = {"words": "baseline", "weighted-trigrams": "baseline", "runs/avg": "model", "runs/gran": "model"}
    assert [(item["name"], item["kind"]) for item in record["results"]] == list(kinds.items())
    avg = record["results"][2]
    assert avg["sets"][0]["n"] == 3
    assert avg["dev_mean"] == avg["sets"][0]["pearson"] == avg["means"]["STS16 mean"]["pearson"]
    assert avg["means"]["22 sets"]["pearson"] is None and len(avg["means"]["22 sets"]["missing"]) == 22
    assert set(avg["protocols"]) == {"senteval", "all", "mteb"}
    found = hf_paraphrase.evaluate(model=["runs/avg"], data=sts, protocols=["mteb"])
    assert capsys.readouterr().out == "" and str(found) == found.text
    assert [(item.name, item.kind) for item in found.scores] == [("runs/avg", "model")]
    row = found.record["results"][0]["protocols"]["mteb"]["STS16 all pairs"]
    assert (row["n"], row["complete"], row["spearman"]) == (3, False, avg["sets"][0]["spearman"])
    assert "| STS16 all pairs (1 of 5 sets)" in found.text and "STS16 headlines" not in found.text


def test_data_of_several_kinds_have_a_table_each_and_suite_overrules_what_is_recognised(
    encoders, sts, labelled, tmp_path, capsys, monkeypatch
):
    monkeypatch.setattr(transfer, "PENALTIES", (1e-3,))  # each is tried in a hundred trainings
    generator = np.random.default_rng(2)
    texts = ["".join(generator.choice(list(("aei", "ou")[n % 2]), 8)) for n in range(60)]
    lines = [f"{n};{a};{b};{n % 6}\n" for n, (a, b) in enumerate(zip(texts, texts[1:] + texts[:1], strict=True))]
    for name in ("graded", "graded2"):
        (tmp_path / f"{name}.csv").write_text("".join(["id;question1;question2;score\n", *lines]))
    rows = [{"anchor": text, "positive": f"{text} u", "label": bool(n % 2)} for n, text in enumerate(texts)]
    (tmp_path / "judged.jsonl").write_text("".join(json.dumps(row) + "\n" for row in rows))
    (tmp_path / "kinds.csv").write_text("text,label\n" + "".join(f"{a},{'xy'[n % 2]}\n" for n, a in enumerate(texts)))
    (tmp_path / "transfer").mkdir()
    for half, name in enumerate(("custrev.neg", "custrev.pos")):
        (tmp_path / "transfer" / name).write_text("\n".join(texts[half::2]) + "\n")
    languages = {"source_lang": ["fr"] * 60, "target_lang": ["en"] * 60}
    write(tmp_path / "bitext", "test", source=texts, target=texts, **languages)
    beir = tmp_path / "beir"
    (beir / "qrels").mkdir(parents=True)
    (beir / "corpus.jsonl").write_text("".join(f'{{"_id": "d{n}", "text": "{a}"}}\n' for n, a in enumerate(texts)))
    (beir / "queries.jsonl").write_text('{"_id": "q", "text": "aei"}\n')
    (beir / "qrels" / "test.tsv").write_text("q\td1\t1\n")
    names = ["graded.csv", "graded2.csv", "judged.jsonl", labelled, "transfer", "kinds.csv", "bitext", "beir"]
    words = ["evaluate", "--baseline", "words", "--model", "A=runs/avg", "--seeds", "0", "--data", sts]
    output = tmp_path / "found.json"
    assert run(*words, *(tmp_path / name for name in names), "--output", output) == 0
    captured = capsys.readouterr()
    suites = ["sts", "graded", "paraphrase", "senteval", "classification", "translations", "retrieval"]
    headings = [line.split("(")[1] for line in captured.out.splitlines() if line.startswith("# ")]
    assert headings == [f"{name})" for name in suites] and "not found: MR, SUBJ" in captured.out
    records = {record["suite"]: record for record in json.loads(output.read_text())["suites"]}
    assert list(records) == suites and "judged.jsonl: suite paraphrase" in captured.err
    for record in records.values():
        assert [item["name"] for item in record["results"]] == ["words", "A"] and record["inputs"]
    assert [item["name"] for item in records["graded"]["results"][0]["sets"]] == ["graded", "graded2"]
    assert [task["data"] for task in records["paraphrase"]["results"][0]["tasks"]] == ["judged", "fi"]
    assert run("evaluate", "--baseline", "words", "--data", labelled, "--suite", "graded") == 0
    assert "| graded fi/test |" in capsys.readouterr().out


def test_update_card_puts_each_models_own_tables_into_its_card_and_a_second_run_replaces_them(
    encoders, sts, labelled, tmp_path, capsys
):
    for name in ("avg", "gran"):
        (tmp_path / name).mkdir()
        (tmp_path / name / "README.md").write_text(f"---\ntags:\n- x\n---\n# {name}\n\n## Limits\n\nmany\n")
    models = [tmp_path / "avg", tmp_path / "gran"]
    named = [f"MiniLM={models[0]}", models[1]]
    words = ["evaluate", "--models", *named, "--baseline", "words", "--update-card", "--data"]
    assert run(*words, sts, "--protocols", "paper", "all") == 0
    card = (models[0] / "README.md").read_text()
    assert card.endswith("\n\n## Limits\n\nmany\n") and card.count("## Evaluation") == 1 and "all: all pairs" in card
    assert "words r" in card and "MiniLM r" in card and "gran" not in card
    assert run(*words, labelled, "--suite", "paraphrase", "--seeds", "1") == 0
    assert run(*words, sts, "--protocols", "paper") == 0
    card = (models[0] / "README.md").read_text()
    assert card.count("## Evaluation") == 2 and card.count("## Evaluation: paraphrase detection") == 1
    assert "STS16 mean" in card and "all: all pairs" not in card and card.rstrip().endswith("many")
    assert "### perceptron: " in card and "### cosine: " in card and "perceptron was trained on fixed" in card
    head = yaml.safe_load(card.split("---")[1])
    names = [result["dataset"]["name"] for result in head["model-index"][0]["results"]]
    assert names.count("fi") == 2 and "STS16 headlines" in names
    capsys.readouterr()
    assert run("evaluate", "--model", *models, tmp_path / "other", "--data", sts, "--update-card") == 2
    assert "needs a README.md" in capsys.readouterr().err
    assert (models[0] / "README.md").read_text() == card


def test_a_graded_folder_is_evaluated_on_the_split_asked_for_or_its_only_one(encoders, tmp_path):
    for split, scores in (("validation", [4.0, 3.0, 2.0, 1.0, 0.0]), ("test", [0.0, 1.0, 2.0, 3.0, 4.0])):
        write(tmp_path / "graded", split, sentence1=WORDS, sentence2=WORDS[::-1], score=scores)
        if split == "validation":
            only = hf_paraphrase.evaluate(model="m", data=tmp_path / "graded")
    test = hf_paraphrase.evaluate(model="m", data=tmp_path / "graded")
    asked = hf_paraphrase.evaluate(model="m", data=tmp_path / "graded", split="validation")
    one, other, same = (found.record["results"][0]["sets"][0] for found in (test, asked, only))
    assert one["pearson"] == pytest.approx(-other["pearson"], abs=1e-9) and other["pearson"] == same["pearson"]
    assert one["name"].endswith("graded/test") and other["name"].endswith("graded/validation")
    with pytest.raises(InputError, match="the splits are validation, test"):
        hf_paraphrase.evaluate(model="m", data=tmp_path / "graded", split="dev")


@pytest.fixture
def labelled(tmp_path):
    generator = np.random.default_rng(0)
    for split, count in (("validation", 60), ("test", 40)):
        words = [["".join(generator.choice(list("aeioubcd"), 6)) for _ in range(count)] for _ in range(2)]
        second = [a if i % 3 else b for i, (a, b) in enumerate(zip(*words, strict=True))]
        labels = [int(i % 3 > 0) for i in range(count)]
        judged = {"label": labels, "score": [1.0 + 3 * label for label in labels]}
        write(tmp_path / "fi", split, sentence1=words[0], sentence2=second, **judged)
    return tmp_path / "fi"


TOY = """
import numpy as np
from hf_paraphrase.evaluation import Benchmark, Measurement, Scores, Suite
from hf_paraphrase.registry import SUITES

def read(settings):
    words = open(settings.data[0] + "/words.txt").read().split()

    def measure(scorer):
        value = float(np.abs(scorer.encode(words)).sum())
        found = Measurement("sentence-similarity", "toy words", "sum", value, "sum", "Toy", split=settings.split)
        return Scores(scorer.name, scorer.kind, record={"sum": value}, measurements=(found,))

    return Benchmark(measure, protocol="the sum of all components", facts={"words": len(words)})

SUITES.register("toy")(Suite(read, settings=("split",), heading="Toy results"))
"""


def test_a_suite_of_the_user_joins_by_a_file_and_has_a_table_a_record_and_its_place_in_the_card(
    encoders, tmp_path, capsys, monkeypatch
):
    # It is forgotten after the test.
    monkeypatch.setattr(SUITES, "data", dict(SUITES.data))
    (tmp_path / "toy.py").write_text(TOY)
    (tmp_path / "words.txt").write_text("a banana\n")
    (tmp_path / "avg").mkdir()
    (tmp_path / "avg" / "README.md").write_text("---\ntags:\n- x\n---\n# avg\n\n## Limits\n")
    words = ["evaluate", "--suite", "toy", "--data", tmp_path, "--model", tmp_path / "avg", "--baseline", "words"]
    output = tmp_path / "results.json"
    words += ["--split", "mine", "--output", output, "--overwrite", "--update-card"]
    for _ in range(2):
        assert run("--import", tmp_path / "toy.py", *words) == 0
    out = capsys.readouterr().out
    assert out.startswith("| data ") and out.splitlines()[0].endswith("| avg |")
    assert "| toy words mine |" in out and "| sum |" in " ".join(out.split())
    record = json.loads(output.read_text())
    assert record["protocol"] == "the sum of all components" and record["words"] == 2
    value = record["results"][1]["sum"]
    card = (tmp_path / "avg" / "README.md").read_text()
    assert card.count("## Toy results") == 1 and card.index("## Toy results") < card.index("## Limits")
    (result,) = yaml.safe_load(card.split("---")[1])["model-index"][0]["results"]
    assert result["dataset"]["name"] == "toy words" and result["metrics"][0]["value"] == value
    (kept,) = json.loads((tmp_path / "avg" / "provenance.json").read_text())["evaluations"].values()
    assert (kept["kind"], kept["sum"], kept["words"]) == ("evaluate-toy", value, 2)


def test_one_model_at_a_time_is_in_memory_and_all_are_opened_before_the_work(sts, monkeypatch):
    opened, alive = [], set()

    class Model:
        def __init__(self, name):
            self.name = name
            opened.append(name)
            alive.add(self.name)

        def __del__(self):
            alive.discard(self.name)

        def encode(self, texts, **options):
            assert alive == {self.name} and opened[:2] == ["a", "b"]
            return np.ones((len(texts), 2), np.float32)

        encode_query = encode_document = encode

    monkeypatch.setattr(SentenceEncoder, "from_pretrained", lambda name, **settings: Model(name))
    found = hf_paraphrase.evaluate(data=sts, model=["a", "b"])
    assert [scores.name for scores in found.scores] == ["a", "b"]
