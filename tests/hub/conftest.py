from __future__ import annotations

import json

import huggingface_hub
import numpy as np
import pyarrow as pa
import pytest
from fake_hub import FakeHub
from safetensors.numpy import save_file
from tiny_encoders import new_model
from transformers import AutoTokenizer

from hf_paraphrase.artefacts import hub_models
from hf_paraphrase.data.folder import DataFolder, write_split
from hf_paraphrase.encoders.backends.torch_module import write_model_files

RECORD = json.dumps({"command": "hf-paraphrase prepare pairs", "settings": {}})
TYPES = ("avg", "trigram", "word_trigram", "gran", "recurrent", "sdae")


@pytest.fixture
def hub(tmp_path, monkeypatch):
    """An empty Hub that replaces the real one in this process."""
    hub = FakeHub(tmp_path / "cache")
    monkeypatch.setattr(huggingface_hub, "HfApi", hub)
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub.snapshot_download)
    monkeypatch.setattr(hub_models, "_FOLDERS", {})
    monkeypatch.setattr(hub_models, "_WITH_CODE", set())
    monkeypatch.delenv("HF_TOKEN", raising=False)
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent/token")
    return hub


@pytest.fixture
def model_folder(tmp_path):
    """A folder as `train-encoder` leaves it, with two files of weights."""
    folder = tmp_path / "avg"
    folder.mkdir()
    names = {f"part{index}": f"model-0000{index}-of-00002.safetensors" for index in (1, 2)}
    for part, name in names.items():
        save_file({part: np.zeros((300, 50), np.float32)}, folder / name)
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
    table = pa.table({f"sentence{side}": [f"{side} {row}" for row in range(6)] for side in (1, 2)})
    write_split(folder, "train", table.to_batches(max_chunksize=3), table.schema, rows_per_shard=3)
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
def encoder_folders(artefacts, tmp_path_factory):
    """A folder of every kind of encoder as the commands write it, by name; and of averages with other settings."""
    root = tmp_path_factory.mktemp("encoders")
    words, pieces = (AutoTokenizer.from_pretrained(artefacts[name]) for name in ("avg", "tokenizer"))
    for name, tokenizer, skips in (("avg_skip", words, True), ("avg_bpe", pieces, False)):
        settings = {"vocab_size": len(tokenizer), "hidden_size": 8, "unk_token_id": tokenizer.unk_token_id}
        write_model_files(root / name, new_model("avg", skip_unknown=skips, **settings), tokenizer)
    return {**{name: artefacts[name] for name in TYPES}, **{path.name: path for path in root.iterdir()}}


@pytest.fixture(scope="session")
def known_texts(artefacts):
    """Training sentences of the encoders with the fewest unknown words."""
    tokenizer = AutoTokenizer.from_pretrained(artefacts["avg"])

    def unknown_share(text):
        ids = tokenizer(text)["input_ids"]
        return ids.count(tokenizer.unk_token_id) / len(ids), text

    return sorted(set(DataFolder(artefacts["pairs"]).table()["sentence1"].to_pylist()), key=unknown_share)[:5]
