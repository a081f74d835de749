from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pyarrow as pa
import pytest
from hub_stand_in import HubStandIn
from safetensors.numpy import save_file

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


def _encoder_flags(bpe):
    return {
        "avg": ("avg",),
        "avg_weighted": ("avg", "--frequency-weights"),
        "avg_skip": ("avg", "--skip-unknown", "true"),
        "avg_bpe": ("avg", "--tokenizer", str(bpe)),
        "trigram": ("trigram",),
        "trigram_skip": ("trigram", "--skip-unknown", "true"),
        "word_trigram": ("word-trigram",),
        "gran": ("gran",),
        "gran_gru": ("gran", "--cell", "gru", "--bidirectional", "true", "--skip-unknown", "true"),
        "recurrent": ("recurrent",),
        "recurrent_mean": ("recurrent", "--pooling", "mean", "--bidirectional", "true"),
    }


@pytest.fixture
def hub(monkeypatch):
    """A Hub on the loopback interface to which everything in this process goes."""
    from huggingface_hub import constants
    from huggingface_hub.utils import close_session

    hub = HubStandIn()
    monkeypatch.setattr(constants, "ENDPOINT", hub.url)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    monkeypatch.setattr(constants, "HF_HUB_DISABLE_XET", True)
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr(constants, "HF_TOKEN_PATH", "/nonexistent/token")
    close_session()
    yield hub
    close_session()
    hub.close()


@pytest.fixture
def read_hub(hub, tmp_path, monkeypatch):
    """The same for a client that fetches from it, too, with an empty cache."""
    from huggingface_hub import constants

    from hf_paraphrase.artefacts import hub_models

    template = hub.url + "/{repo_id}/resolve/{revision}/{filename}"
    monkeypatch.setattr(constants, "HUGGINGFACE_CO_URL_TEMPLATE", template)
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "cache"))
    monkeypatch.setattr(hub_models, "_FOLDERS", {})
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
def pairs_folder(tmp_path_factory):
    """Eight pairs of English sentences, the first column both times once more in the other order."""
    folder = tmp_path_factory.mktemp("data") / "pairs"
    table = pa.table({"sentence1": [a for a, _ in SENTENCES], "sentence2": [b for _, b in SENTENCES]})
    write_split(folder, "train", [table], PAIRS)
    return folder


@pytest.fixture(scope="session")
def encoder_folders(tmp_path_factory, pairs_folder):
    """A folder of every kind of encoder as the commands write it, by name, with vectors of some size."""
    root = tmp_path_factory.mktemp("encoders")
    bpe = root / "bpe"
    words = ["--kind", "bpe", "--pairs", str(pairs_folder), "--vocabulary-size", "80", "--output", str(bpe)]
    assert main(["train-tokenizer", *words]) == 0
    folders = {}
    for name, (kind, *flags) in _encoder_flags(bpe).items():
        folders[name] = root / name
        common = ["--hidden-size", "8", "--epochs", "2", "--batch-size", "4"]
        common += [] if "--tokenizer" in flags else ["--min-frequency", "1"]
        words = ["--pairs", str(pairs_folder), "--output", str(folders[name]), "--model-type", kind, *common, *flags]
        # Steps of this size lift the vectors far above the tolerances of comparisons.
        assert main(["train-encoder", *words, "--learning-rate", "0.1"]) == 0
    for name, flags in {"sdae": [], "sdae_decoder": ["--keep-decoder"]}.items():
        folders[name] = root / name
        words = [
            "--pairs",
            str(pairs_folder),
            "--output",
            str(folders[name]),
            "--hidden-size",
            "8",
            "--max-steps",
            "8",
        ]
        words += ["--min-frequency", "1", "--batch-size", "4", "--dev-size", "2", "--precision", "fp32", *flags]
        assert main(["train-sdae", *words, "--learning-rate", "0.1"]) == 0
    return folders


@pytest.fixture(scope="session")
def translation_folders(tmp_path_factory):
    """Translation models as `train-nmt` writes them: with one vocabulary, and with one for each side."""
    root = tmp_path_factory.mktemp("translation")
    for split, count in (("train", 8), ("validation", 3)):
        columns = {
            "id": [f"{split}-{row}" for row in range(count)],
            "source": FRENCH[:count],
            "target": ENGLISH[:count],
            "source_lang": ["fr"] * count,
            "target_lang": ["en"] * count,
        }
        write_split(root / "bitext", split, [pa.table(columns, schema=BITEXT)], BITEXT)
    sizes = ["--vocab-size", "40", "--hidden-size", "8", "--embedding-size", "6", "--evaluations", "1"]
    common = ["--bitext", str(root / "bitext"), "--epochs", "1", "--precision", "fp32", "--batch-size", "4", *sizes]
    flags = {"joint": [], "separate": ["--no-joint-vocabulary", "--no-share-embeddings"]}
    for name, words in flags.items():
        assert main(["train-nmt", *common, "--output", str(root / name), *words]) == 0
    return {name: root / name for name in flags}


@pytest.fixture(scope="session")
def classifier_folders(tmp_path_factory):
    """Reference classifiers of both kinds as `train-classifier` writes them."""
    root = tmp_path_factory.mktemp("classifiers")
    rows = [(f"n{row}", f"a{row % 7} b{row % 3} r{row}", f"c{row % 7} b{row % 3}") for row in range(40)]
    columns = dict(zip(("id", "sentence1", "sentence2"), map(list, zip(*rows, strict=True)), strict=True))
    write_split(root / "pairs", "train", [pa.table(columns)], pa.table(columns).schema)
    sizes = ["--train-size", "16", "--dev-size", "4", "--test-size", "4", "--epochs", "1", "--embedding-size", "6"]
    for body in ("avg", "lstm"):
        words = ["--pairs", str(root / "pairs"), "--output", str(root / body), "--body", body, *sizes]
        assert main(["train-classifier", *words]) == 0
    return {body: root / body for body in ("avg", "lstm")}


@pytest.fixture(scope="session")
def supervised_folders(tmp_path_factory, encoder_folders):
    """Classifiers of sentences as `train-supervised` writes them, one on each type of encoder, by its name."""
    root = tmp_path_factory.mktemp("supervised")
    columns = {
        "text": [f"the {'cat' if row % 2 else 'doctor'} bought {row}" for row in range(40)],
        "label": ["animal" if row % 2 else "person" for row in range(40)],
    }
    write_split(root / "data", "train", [pa.table(columns)], pa.table(columns).schema)
    types = {}
    for name, folder in encoder_folders.items():
        types.setdefault(json.loads((folder / "config.json").read_text())["model_type"], name)
    for name in types.values():
        words = ["--model", str(encoder_folders[name]), "--data", str(root / "data"), "--output", str(root / name)]
        assert main(["train-supervised", *words, "--epochs", "1", "--learning-rate", "0.1"]) == 0
    return {name: root / name for name in types.values()}


@pytest.fixture(scope="session")
def parallel_folders(tmp_path_factory):
    """Classifiers of parallel sentences of both kinds as `train-parallel-classifier` writes them."""
    root = tmp_path_factory.mktemp("parallel")
    for split, count in (("train", len(FRENCH)), ("validation", 3)):
        columns = {
            "id": [f"{split}-{row}" for row in range(count)],
            "source": FRENCH[:count],
            "target": ENGLISH[:count],
            "source_lang": ["fr"] * count,
            "target_lang": ["en"] * count,
        }
        write_split(root / "bitext", split, [pa.table(columns, schema=BITEXT)], BITEXT)
    common = ["--bitext", str(root / "bitext"), "--epochs", "1", "--hidden-size", "4", "--embedding-size", "6"]
    common += ["--min-frequency", "1"]
    flags = {"bilinear": ["--digits", "zero"], "product": ["--score-layer", "product_difference", "--share-rnn"]}
    for name, words in flags.items():
        assert main(["train-parallel-classifier", *common, "--output", str(root / name), *words]) == 0
    return {name: root / name for name in flags}


@pytest.fixture
def open_elsewhere(tmp_path, run_python):
    """Runs the jobs of `opens_elsewhere.py` in a process that cannot import the package."""

    def run(jobs):
        (tmp_path / "jobs.json").write_text(json.dumps(jobs))
        program = Path(__file__).with_name("opens_elsewhere.py").read_text(encoding="utf-8")
        return run_python(program, "jobs.json", folder=tmp_path)

    return run
