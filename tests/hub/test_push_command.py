from __future__ import annotations

import hashlib
import json
import os
import re
import signal
import subprocess
import sys
import threading
import time
from pathlib import Path

import numpy as np
import pytest
import torch
from hub_stand_in import TOKEN
from safetensors.numpy import save_file

import hf_paraphrase
from hf_paraphrase.commands import main
from hf_paraphrase.errors import UsageError
from hf_paraphrase.models.configuration_avg import AvgConfig
from hf_paraphrase.models.modeling_avg import AvgModel
from hf_paraphrase.tokenization.word_level import build_word_level_tokenizer, save_tokenizer

ROOT = Path(__file__).resolve().parents[2]


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


@pytest.fixture
def logged_in(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return hub


def outside(hub, **more):
    """The environment of another process that knows this Hub."""
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "TRANSFORMERS_"))}
    settings = {"HF_ENDPOINT": hub.url, "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": TOKEN, "OMP_NUM_THREADS": "1"}
    return {**kept, "PYTHONPATH": str(ROOT), **settings, **more}


def test_a_dry_run_lists_names_and_sizes_without_token_and_network(hub, data_folder, capsys):
    (data_folder / ".git").mkdir()
    assert main(["push", "--path", str(data_folder), "--repo-id", "ann/pairs", "--dry-run", "--private"]) == 0
    out, err = capsys.readouterr()
    sizes = {name: int(size) for size, name in (line.split("\t") for line in out.splitlines())}
    assert sizes == {name: len(data) for name, data in content(data_folder).items()}
    assert list(sizes) == sorted(sizes)
    assert re.search(r"4 files, \d.* would go to the private dataset ann/pairs, branch main; nothing was sent", err)
    assert "stays here: .git/ (hidden)" in err
    assert hub.requests == []


@pytest.mark.parametrize("changed", [["README.md"], ["provenance.json", "source_provenance.json"], []])
def test_what_is_said_of_a_changed_file_is_true_of_it(hub, model_folder, capsys, changed):
    record = {"command": "hf-paraphrase export", "settings": {"model": "avg"}}
    moved = {**record, "settings": {"model": "/srv/ann/avg"}}
    for name in ("provenance.json", "source_provenance.json"):
        (model_folder / name).write_text(json.dumps(moved if name in changed else record))
    card = model_folder / "README.md"
    card.write_text(card.read_text() + ('\n    from_pretrained("avg")\n' if "README.md" in changed else ""))
    assert main(["push", "--path", str(model_folder), "--repo-id", "ann/enc", "--dry-run"]) == 0
    lines = capsys.readouterr().err.splitlines()
    of_cards = [line for line in lines if line.endswith("names ann/enc there; the folder here stays as it is")]
    assert [line for line in of_cards if "the code in README.md names" in line] == of_cards
    assert len(of_cards) == ("README.md" in changed)
    of_records = [line for line in lines if "shortened to their last part on the Hub, not here" in line]
    assert [line.partition("paths in ")[2].partition(" are")[0] for line in of_records] == (
        ["provenance.json, source_provenance.json"] if "provenance.json" in changed else []
    )


def test_a_push_prints_the_address_alone_and_tells_the_rest_on_stderr(logged_in, model_folder, capsys):
    words = ["--path", str(model_folder), "--repo-id", "ann/avg", "--private", "--revision", "v2"]
    assert main(["push", *words, "--commit-message", "First"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{logged_in.url}/ann/avg/tree/v2\n"
    assert "7 files sent" in err
    assert logged_in.repository("ann/avg").private
    assert logged_in.files("ann/avg", branch="v2") == content(model_folder)
    assert (
        logged_in.repository("ann/avg").commits[logged_in.repository("ann/avg").branches["v2"]]["message"] == "First"
    )
    assert main(["push", *words]) == 0
    assert "0 files sent (0 bytes), 7 already there" in capsys.readouterr().err


def test_stale_files_are_named_and_prune_deletes_them(logged_in, model_folder, capsys):
    logged_in.make("ann/avg", files={"old.txt": b"old"})
    words = ["push", "--path", str(model_folder), "--repo-id", "ann/avg"]
    assert main(words) == 0
    assert "the branch also has old.txt" in capsys.readouterr().err
    assert main([*words, "--prune"]) == 0
    assert "1 deleted" in capsys.readouterr().err
    assert logged_in.files("ann/avg") == content(model_folder)


def test_excluded_files_stay_here(logged_in, metric_folder, capsys):
    (metric_folder / "notes.txt").write_text("mine")
    words = ["--path", str(metric_folder), "--repo-id", "ann/sts", "--exclude", "notes.txt"]
    assert main(["push", *words]) == 0
    assert "stays here: notes.txt (left out by --exclude)" in capsys.readouterr().err
    assert "notes.txt" not in logged_in.files("ann/sts", "space")


def test_data_without_a_licence_is_refused_in_a_dry_run_too_and_a_flag_sends_it_with_a_warning(
    logged_in, data_folder, capsys
):
    card = data_folder / "README.md"
    card.write_text(card.read_text().replace("license: cc-by-2.0\n", ""))
    words = ["push", "--path", str(data_folder), "--repo-id", "ann/pairs"]
    for more in ([], ["--dry-run"]):
        assert main([*words, *more]) == 2
        err = capsys.readouterr().err
        assert "the data is not sent: its card states no licence" in err.splitlines()[-1]
    assert logged_in.requests == []
    assert main([*words, "--allow-any-license"]) == 0
    assert "warning: its card states no licence" in capsys.readouterr().err
    assert logged_in.files("ann/pairs", "dataset") == content(data_folder)


@pytest.mark.parametrize(
    "words",
    [
        ["--token", TOKEN],
        [f"--token={TOKEN}"],
        [f"--hf_token={TOKEN}"],
        [TOKEN],
        ["--tokens", TOKEN],
        ["--token-file", TOKEN],
        ["--repo-type", TOKEN],
        ["--revision", f"{TOKEN}..x"],
        ["--repo-id", f"{TOKEN}/a/b"],
    ],
)
def test_a_token_among_the_flags_is_refused_and_not_repeated(hub, model_folder, capsys, words):
    assert main(["push", "--path", str(model_folder), "--repo-id", "ann/avg", *words]) == 2
    out, err = capsys.readouterr()
    assert TOKEN not in out + err
    assert "hf-paraphrase: error: " in err.splitlines()[-1]
    assert hub.requests == []


def test_the_token_comes_from_a_file_and_is_never_printed(hub, model_folder, tmp_path, capsys):
    (tmp_path / "secret").write_text(TOKEN + "\n")
    words = ["push", "--path", str(model_folder), "--repo-id", "ann/avg", "--token-file", str(tmp_path / "secret")]
    assert main(words) == 0
    out, err = capsys.readouterr()
    assert TOKEN not in out + err
    (tmp_path / "secret").write_text("hf_" + "Z" * 34)
    assert main(words) == 2
    out, err = capsys.readouterr()
    assert "rejected the token" in err
    assert "ZZZ" not in out + err


@pytest.mark.parametrize(
    ("words", "wording"),
    [
        (["--path", "absent", "--repo-id", "ann/x"], "absent: there is no such folder"),
        (["--path", "avg", "--repo-id", "ann/x"], "there is no token.*hf auth login"),
        (["--path", "avg", "--repo-id", "a b"], "not the name of a repository"),
        (["--path", "avg", "--repo-id", "ann/x", "--repo-type", "x"], "--repo-type"),
        (["--path", "avg"], "--repo-id"),
    ],
)
def test_bad_usage_is_one_line(hub, model_folder, monkeypatch, capsys, words, wording):
    monkeypatch.chdir(model_folder.parent)
    assert main(["push", *words]) == 2
    err = capsys.readouterr().err
    assert re.search(wording, err), err
    assert err.count("\n") == 1


def test_a_killed_push_is_continued_by_the_same_command_with_what_is_missing(logged_in, model_folder):
    hub = logged_in
    # More than the buffers between two processes hold, so that the end is not under way already.
    save_file({"part2": np.zeros(6_000_000, np.float32)}, model_folder / "model-00002-of-00002.safetensors")
    first, second = (
        hashlib.sha256(path.read_bytes()).hexdigest() for path in sorted(model_folder.glob("*.safetensors"))
    )
    hub.holds[second] = threading.Event()
    words = ["push", "--path", str(model_folder), "--repo-id", "ann/avg"]
    program = [sys.executable, "-m", "hf_paraphrase", *words]
    running = subprocess.Popen(program, env=outside(hub), stdout=subprocess.PIPE, stderr=subprocess.PIPE, text=True)
    try:
        assert hub.held.wait(120)
        waited = time.monotonic() + 60
        while first not in hub.large and time.monotonic() < waited:
            time.sleep(0.02)
        running.send_signal(signal.SIGKILL)
        running.communicate()
    finally:
        running.kill()
    hub.holds.pop(second).set()
    assert set(hub.large) == {first}
    assert hub.files("ann/avg") == {}  # nobody has seen a half
    hub.requests.clear()
    assert main(words) == 0
    assert hub.uploads() == [second]
    assert hub.files("ann/avg") == content(model_folder)


READER = """
import json, sys
from transformers import AutoModel, AutoTokenizer
from datasets import load_dataset
import torch
tokenizer = AutoTokenizer.from_pretrained("ann/avg", trust_remote_code=True)
model = AutoModel.from_pretrained("ann/avg", trust_remote_code=True, revision="v2")
with torch.no_grad():
    vector = model(**tokenizer(["the cat sat"], return_tensors="pt")).pooler_output[0].tolist()
rows = load_dataset("ann/pairs", split="train").to_list()
streamed = list(load_dataset("ann/pairs", split="train", streaming=True))
assert "hf_paraphrase" not in sys.modules
print(json.dumps([vector, rows, streamed == rows]))
"""


def test_what_was_pushed_opens_from_the_hub_with_the_usual_libraries(logged_in, model_folder, data_folder, tmp_path):
    for path in [*model_folder.glob("model*"), model_folder / "config.json", model_folder / "tokenizer.json"]:
        path.unlink()
    torch.manual_seed(0)
    tokenizer = build_word_level_tokenizer(["the", "cat", "sat", "down"])
    model = AvgModel(AvgConfig(vocab_size=len(tokenizer), hidden_size=5, initializer_range=1.0))
    model.save_pretrained(model_folder)
    save_tokenizer(tokenizer, model_folder)
    words = ["push", "--path", str(model_folder), "--repo-id", "ann/avg", "--private"]
    assert main(words) == 0
    assert main([*words, "--revision", "v2"]) == 0
    assert main(["push", "--path", str(data_folder), "--repo-id", "ann/pairs"]) == 0
    done = subprocess.run(
        [sys.executable, "-c", READER],
        env=outside(logged_in, HF_HOME=str(tmp_path / "home"), PYTHONPATH=""),
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    vector, rows, same = json.loads(done.stdout.splitlines()[-1])
    with torch.no_grad():
        here = model(**tokenizer(["the cat sat"], return_tensors="pt")).pooler_output[0]
    assert vector == here.tolist()
    assert rows == [{"sentence1": f"one {index}", "sentence2": f"two {index}"} for index in range(6)]
    assert same


def test_the_recipe_returns_what_the_command_prints(logged_in, model_folder, capsys):
    dry = hf_paraphrase.push(path=str(model_folder), repo_id="ann/avg", dry_run=True)
    assert dry.pushed is None and str(dry).splitlines()[0].endswith("\tREADME.md") and logged_in.requests == []
    done = hf_paraphrase.push(path=str(model_folder), repo_id="ann/avg", private=True)
    assert str(done) == f"{done.pushed.url}\n" and len(done.pushed.changes.send) == len(dry.plan.files.files)
    assert capsys.readouterr().out == ""
    assert main(["push", "--path", str(model_folder), "--repo-id", "ann/avg", "--private"]) == 0
    assert capsys.readouterr().out == str(done)
    with pytest.raises(UsageError, match="--repo-type `box` is unknown"):
        hf_paraphrase.push(path=str(model_folder), repo_id="ann/avg", repo_type="box")
