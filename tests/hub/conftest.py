from __future__ import annotations

import json
from pathlib import Path

import huggingface_hub
import numpy as np
import pyarrow as pa
import pytest
from fake_hub import FakeHub
from safetensors.numpy import save_file

from hf_paraphrase.artefacts import hub_models
from hf_paraphrase.commands import main
from hf_paraphrase.data.folder import write_split
from hf_paraphrase.data.schema import BITEXT, PAIRS

RECORD = json.dumps({"command": "hf-paraphrase prepare pairs", "settings": {}})
SENTENCES = [
    ("The doctor bought a car.", "A car was purchased by the physician."),
    ("Don't stop the music!", "Do not stop the music."),
    ("It's raining cats and dogs.", "There is heavy rain."),
    ("She can't see the café.", "The café is out of her sight."),
    ("Two men play chess in the park.", "In the park, two men are playing chess."),
    ("The cat sat on the mat.", "A cat was sitting on a mat."),
    ("He reads the paper every day.", "Every day he reads the paper."),
    ("Children like sweets.", "Kids love candy."),
]
FRENCH = ["un deux", "deux trois", "trois un deux", "deux", "un trois", "trois deux", "un", "trois trois un"]
ENGLISH = ["one two", "two three", "three one two", "two", "one three", "three two", "one", "three three one"]


ENCODER = "train-encoder --pairs {pairs} --hidden-size 8 --batch-size 4 --learning-rate 0.1 --epochs 2 --model-type"
SDAE = "train-sdae --pairs {pairs} --hidden-size 8 --batch-size 4 --learning-rate 0.1 --max-steps 8"
# Steps of this size lift the vectors far above the tolerances of comparisons.
ENCODERS = {
    "avg": f"{ENCODER} avg --min-frequency 1",
    "avg_skip": f"{ENCODER} avg --min-frequency 1 --skip-unknown true",
    "avg_bpe": f"{ENCODER} avg --tokenizer {{bpe}}",
    "trigram": f"{ENCODER} trigram --min-frequency 1",
    "word_trigram": f"{ENCODER} word-trigram --min-frequency 1",
    "gran": f"{ENCODER} gran --min-frequency 1",
    "gran_gru": f"{ENCODER} gran --min-frequency 1 --cell gru --bidirectional true --skip-unknown true",
    "recurrent": f"{ENCODER} recurrent --min-frequency 1",
    "sdae": f"{SDAE} --dev-size 2 --precision fp32",
}
NMT = "train-nmt --bitext {bitext} --epochs 1 --precision fp32 --batch-size 4 --vocab-size 40 --hidden-size 8"
CLASSIFIER = (
    "train-classifier --pairs {judged} --epochs 1 --embedding-size 6 --train-size 16 --dev-size 4 --test-size 4"
)
PARALLEL = (
    "train-parallel-classifier --bitext {bitext} --epochs 1 --hidden-size 4 --embedding-size 6 --min-frequency 1"
)
OTHERS = {
    "nmt_joint": f"{NMT} --embedding-size 6 --evaluations 1",
    "nmt_separate": f"{NMT} --embedding-size 6 --evaluations 1 --no-joint-vocabulary --no-share-embeddings",
    "classifier_avg": f"{CLASSIFIER} --embedding-size 6 --body avg",
    "classifier_lstm": f"{CLASSIFIER} --embedding-size 6 --body lstm",
    "parallel_bilinear": f"{PARALLEL} --embedding-size 6 --digits zero",
    "parallel_product": f"{PARALLEL} --embedding-size 6 --score-layer product_difference --share-rnn",
}


def run(line, **folders):
    """Runs a verb; `folders` are the names in the line."""
    assert main([word.format(**folders) for word in line.split()]) == 0, line


def write_table(folder, columns, split="train", schema=None):
    table = pa.table(columns, schema=schema)
    write_split(folder, split, [table], table.schema)
    return folder


def write_bitext(folder):
    """Eight pairs of French and English to train on, three of them for validation."""
    for split, count in (("train", len(FRENCH)), ("validation", 3)):
        ids, langs = [f"{split}-{row}" for row in range(count)], {"source_lang": ["fr"] * count}
        columns = {"id": ids, "source": FRENCH[:count], "target": ENGLISH[:count], **langs}
        write_table(folder, columns | {"target_lang": ["en"] * count}, split, BITEXT)
    return folder


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty Hub, to which and from which everything in this process goes."""
    hub = FakeHub(tmp_path / "cache")
    monkeypatch.setattr(huggingface_hub, "HfApi", hub)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    monkeypatch.setattr(hub_models, "_FOLDERS", {})
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent/token")
    return hub


@pytest.fixture
def model_folder(tmp_path):
    """A folder as `train-encoder` leaves it, with two files of weights."""
    folder = tmp_path / "avg"
    folder.mkdir()
    for index in (1, 2):
        save_file(
            {f"part{index}": np.full((300, 50), index, np.float32)}, folder / f"model-0000{index}-of-00002.safetensors"
        )
    names = {f"part{index}": f"model-0000{index}-of-00002.safetensors" for index in (1, 2)}
    (folder / "model.safetensors.index.json").write_text(json.dumps({"weight_map": names}))
    (folder / "config.json").write_text('{"model_type": "avg"}')
    (folder / "tokenizer.json").write_text("{}")
    (folder / "README.md").write_text("---\nlibrary_name: transformers\n---\n\n# avg\n")
    (folder / "provenance.json").write_text(RECORD)
    return folder


@pytest.fixture
def data_folder(tmp_path):
    """A folder as `prepare pairs` leaves it, in two shards; its card names a licence."""
    folder = tmp_path / "pairs"
    schema = pa.schema([("sentence1", pa.string()), ("sentence2", pa.string())])
    rows = [{"sentence1": f"one {index}", "sentence2": f"two {index}"} for index in range(6)]
    batches = [pa.Table.from_pylist(rows[start : start + 3], schema=schema) for start in (0, 3)]
    write_split(folder, "train", batches, schema, rows_per_shard=3)
    (folder / "README.md").write_text(
        "---\nlicense: cc-by-2.0\nconfigs:\n- config_name: default\n  default: true\n  data_files:\n"
        "  - split: train\n    path: data/train-*\n---\n\n# pairs\n"
    )
    (folder / "provenance.json").write_text(RECORD)
    return folder


@pytest.fixture
def metric_folder(tmp_path):
    """A metric of `evaluate` that is a Space."""
    folder = tmp_path / "sts_correlation"
    folder.mkdir()
    (folder / "README.md").write_text("---\ntitle: STS\nsdk: gradio\napp_file: app.py\n---\n\n# STS\n")
    for name in ("app.py", "sts_correlation.py", "requirements.txt"):
        (folder / name).write_text(f"# {name}\n")
    return folder


@pytest.fixture(scope="session")
def encoder_folders(tmp_path_factory):
    """A folder of every kind of encoder as the commands write it, by name."""
    root = tmp_path_factory.mktemp("encoders")
    names = {name: root / name for name in ("pairs", "bpe", *ENCODERS)}
    columns = dict(zip(PAIRS.names, map(list, zip(*SENTENCES, strict=True)), strict=True))
    write_table(names["pairs"], columns, schema=PAIRS)
    run("train-tokenizer --kind bpe --pairs {pairs} --vocabulary-size 80 --output {bpe}", **names)
    for name, line in ENCODERS.items():
        run(f"{line} --output {root / name}", **names)
    return {name: root / name for name in ENCODERS}


@pytest.fixture(scope="session")
def other_folders(tmp_path_factory, encoder_folders):
    """Models that are no encoders as the commands write them: a classifier of sentences on each type of encoder."""
    root = tmp_path_factory.mktemp("others")
    rows = [(f"n{row}", f"a{row % 7} b{row % 3} r{row}", f"c{row % 7} b{row % 3}") for row in range(40)]
    columns = dict(zip(("id", "sentence1", "sentence2"), map(list, zip(*rows, strict=True)), strict=True))
    words = ["doctor", "cat"] * 20
    labelled = {"text": [f"the {word} bought {row}" for row, word in enumerate(words)], "label": words}
    names = {
        "bitext": write_bitext(root / "bitext"),
        "judged": write_table(root / "judged", columns),
        "labelled": write_table(root / "labelled", labelled),
    }
    types = {json.loads((path / "config.json").read_text())["model_type"]: path for path in encoder_folders.values()}
    line = "train-supervised --data {labelled} --epochs 1 --learning-rate 0.1 --model"
    lines = OTHERS | {f"supervised_{name}": f"{line} {path}" for name, path in types.items()}
    for name, line in lines.items():
        run(f"{line} --output {root / name}", **names)
    return {name: root / name for name in lines}


@pytest.fixture
def open_elsewhere(tmp_path, run_python):
    """Runs the jobs of `opens_elsewhere.py` in a process that cannot import the package."""

    def run(jobs):
        (tmp_path / "jobs.json").write_text(json.dumps(jobs))
        program = Path(__file__).with_name("opens_elsewhere.py").read_text(encoding="utf-8")
        return run_python(program, "jobs.json", folder=tmp_path)

    return run
