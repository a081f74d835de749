from __future__ import annotations

import json

import numpy as np
import pyarrow as pa
import pytest
from hub_stand_in import HubStandIn
from safetensors.numpy import save_file

from hf_paraphrase.data.parquet import write_split

RECORD = json.dumps({"command": "hf-paraphrase prepare pairs", "settings": {}})


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
