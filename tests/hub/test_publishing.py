from __future__ import annotations

import json
import os
import re
import subprocess
import sys
import traceback

import numpy as np
import pytest
import torch
from hub_stand_in import READ_ONLY, TOKEN
from tiny_encoders import write_average

import hf_paraphrase
from hf_paraphrase import SentenceEncoder
from hf_paraphrase.commands import main
from hf_paraphrase.errors import HubError, InputError, UsageError
from hf_paraphrase.hub.publishing import find_token, plan_push, push_folder


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def push_here(folder, repo_id="ann/thing", **options):
    return push_folder(folder, repo_id, **{"token": TOKEN, **options})


@pytest.fixture
def logged_in(hub, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    return hub


def test_a_folder_arrives_byte_for_byte_as_one_commit(hub, model_folder):
    done = push_here(model_folder)
    assert hub.files("ann/thing") == content(model_folder)
    assert len(hub.repository("ann/thing").commits) == 2  # the repository's first, and ours
    assert hub.repository("ann/thing").commits[done.commit]["message"] == "Upload avg"
    assert (done.url, done.is_new) == (f"{hub.url}/ann/thing", True)


@pytest.mark.parametrize("kind", ["dataset", "space"])
def test_the_detected_kind_of_repository_is_created(hub, data_folder, metric_folder, kind):
    folder = {"dataset": data_folder, "space": metric_folder}[kind]
    done = push_here(folder)
    assert hub.files("ann/thing", kind) == content(folder)
    assert hub.repository("ann/thing", kind).sdk == {"dataset": None, "space": "gradio"}[kind]
    assert done.url == f"{hub.url}/{kind}s/ann/thing"


def test_a_bare_name_gets_the_namespace_of_the_owner_in_the_card_too(hub, model_folder):
    (model_folder / "README.md").write_text('# avg\n\n    from_pretrained("avg")\n')
    push_here(model_folder, "thing")
    assert b'from_pretrained("ann/thing")' in hub.files("ann/thing")["README.md"]


def test_a_second_push_makes_no_commit_and_a_third_sends_only_what_changed(hub, data_folder):
    first = push_here(data_folder)
    again = push_here(data_folder)
    assert (again.commit, again.is_new) == (first.commit, False)
    hub.requests.clear()
    card = data_folder / "README.md"
    card.write_text(card.read_text().replace("# pairs", "# Pairs"))
    assert push_here(data_folder).is_new
    assert hub.uploads() == [] and hub.files("ann/thing", "dataset") == content(data_folder)


def test_private_branch_and_message_arrive_and_main_stays_as_it_was(hub, model_folder):
    done = push_here(model_folder, revision="v2", private=True, commit_message="Trained longer: é")
    repository = hub.repository("ann/thing")
    assert repository.private and hub.files("ann/thing") == {}
    assert hub.files("ann/thing", branch="v2") == content(model_folder)
    assert repository.commits[done.commit]["message"] == "Trained longer: é"
    assert done.url == f"{hub.url}/ann/thing/tree/v2"


def test_nothing_private_is_sent_to_a_public_repository(hub, model_folder):
    hub.make("ann/thing")
    with pytest.raises(UsageError, match="exists and is public"):
        push_here(model_folder, private=True)
    assert hub.files("ann/thing") == {} and hub.uploads() == []


def test_an_interrupted_push_leaves_the_branch_and_is_continued_by_the_same_call(hub, model_folder):
    hub.answers["POST", "*/commit/*"] = [(403, {}, {"error": f"storage of {TOKEN} is full"})]
    with pytest.raises(HubError, match="storage of <token> is full") as caught:
        push_here(model_folder)
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
    assert hub.files("ann/thing") == {} and len(hub.uploads()) == 2
    hub.requests.clear()
    push_here(model_folder)
    assert hub.files("ann/thing") == content(model_folder) and hub.uploads() == []


def test_files_that_the_folder_lacks_stay_or_are_pruned(hub, model_folder):
    push_here(model_folder)
    (model_folder / "tokenizer.json").unlink()
    done = push_here(model_folder)
    assert (done.stale, done.pruned) == (["tokenizer.json"], [])
    assert "tokenizer.json" in hub.files("ann/thing")
    done = push_here(model_folder, prune=True)
    assert done.pruned == ["tokenizer.json"]
    assert hub.files("ann/thing") == content(model_folder)
    assert ".gitattributes" in hub.repository("ann/thing").commits[done.commit]["files"]


def test_old_shards_never_mix_with_new_data(hub, data_folder):
    old = {"data/train-00000-of-00001.parquet": b"old", "notes.txt": b"notes"}
    hub.make("ann/thing", "dataset", files=old)
    with pytest.raises(HubError, match=r"data/train-00000-of-00001.parquet, which load_dataset would read.*--prune"):
        push_here(data_folder)
    assert hub.files("ann/thing", "dataset") == old
    push_here(data_folder, prune=True)
    assert hub.files("ann/thing", "dataset") == content(data_folder)


def test_a_commit_of_somebody_else_in_between_is_not_overwritten(hub, model_folder, monkeypatch):
    from huggingface_hub import HfApi

    hub.make("ann/thing")
    list_files = HfApi.list_repo_files

    def meanwhile(*words, **options):
        found = list(list_files(*words, **options))
        hub.repository("ann/thing").commit("main", {"config.json": (b"theirs", False)}, "theirs")
        return found

    monkeypatch.setattr(HfApi, "list_repo_files", meanwhile)
    with pytest.raises(HubError, match=r"A commit has happened since.*repeat the command"):
        push_here(model_folder)
    assert hub.files("ann/thing") == {"config.json": b"theirs"}


@pytest.mark.parametrize("head", ["", "license: other\n", "license: cc-by-nd-4.0\n", "license: [mit, unknown]\n"])
def test_data_that_may_not_be_passed_on_is_not_sent_unless_allowed(hub, data_folder, head, capsys):
    card = data_folder / "README.md"
    card.write_text(card.read_text().replace("license: cc-by-2.0\n", head))
    with pytest.raises(InputError, match=r"the data is not sent: .*a line such as `license: .*--allow-any-license"):
        push_here(data_folder)
    with pytest.raises(InputError, match="the data is not sent"):
        push_here(data_folder, repo_type="model")  # calling it a model does not make it one
    words = ["push", "--path", str(data_folder), "--repo-id", "ann/pairs", "--dry-run"]
    assert main(words) == 2 and "the data is not sent" in capsys.readouterr().err
    assert main([*words, "--allow-any-license"]) == 0 and "warning: its " in capsys.readouterr().err
    assert hub.requests == []
    push_here(data_folder, allow_any_license=True)
    assert hub.files("ann/thing", "dataset") == content(data_folder)


def test_models_need_no_licence_nor_do_lists_of_fingerprints(model_folder):
    (model_folder / "references.tsv").write_text("part\tid\tfingerprint\n")
    assert plan_push(model_folder, "ann/thing").licence_problem is None


@pytest.mark.parametrize(
    ("token", "repo_id", "wording"),
    [
        ("hf_" + "Q" * 34, "ann/thing", "401.*Invalid credentials"),
        (READ_ONLY, "ann/new", "403.*rights to create.*a token that may write"),
        (TOKEN, "else/new", "403.*under the namespace else"),
    ],
)
def test_a_rejected_token_is_one_line_without_the_token(hub, model_folder, token, repo_id, wording):
    with pytest.raises(HubError, match=wording) as caught:
        push_here(model_folder, repo_id, token=token)
    assert token not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value)


def test_no_network_and_offline_mode_are_one_line(hub, model_folder, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(HubError, match=r"refused.*repeat the command"):
        push_here(model_folder)
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="HF_HUB_OFFLINE"):
        push_here(model_folder)


def test_a_token_is_never_published_and_never_breaks_a_header(hub, model_folder):
    with pytest.raises(UsageError, match="invalid characters") as caught:
        push_here(model_folder, token="hf_bad\nsecret")
    assert "secret" not in str(caught.value)
    (model_folder / "notes.txt").write_text(f"key={TOKEN}")
    with pytest.raises(InputError, match="contains your token") as caught:
        push_here(model_folder)
    assert caught.value.path == str(model_folder / "notes.txt") and TOKEN not in str(caught.value)
    assert hub.requests == []


def test_the_token_is_that_of_the_file_or_of_the_environment(tmp_path, monkeypatch):
    monkeypatch.setenv("HF_TOKEN", TOKEN)
    assert find_token() == TOKEN
    (tmp_path / "t").write_text(" hf_other\n")
    assert find_token(tmp_path / "t") == "hf_other"
    monkeypatch.delenv("HF_TOKEN")
    monkeypatch.setattr("huggingface_hub.constants.HF_TOKEN_PATH", "/nonexistent")
    with pytest.raises(UsageError, match=r"hf auth login.*HF_TOKEN.*--token-file"):
        find_token()


@pytest.mark.parametrize("data", [b"", b"two tokens", b"a\nb", b"\xff\xfe", None])
def test_a_file_without_a_token_is_refused_and_its_content_not_shown(tmp_path, data):
    if data is not None:
        (tmp_path / "t").write_bytes(data)
    with pytest.raises((InputError, UsageError), match="token") as caught:
        find_token(tmp_path / "t")
    assert "two" not in caught.value.message


@pytest.mark.parametrize(
    "words", [["--token", TOKEN], [f"--hf_token={TOKEN}"], [TOKEN], ["--token-file", TOKEN], ["--repo-id", TOKEN * 4]]
)
def test_a_token_among_the_flags_is_refused_and_not_shown(hub, model_folder, capsys, words):
    assert main(["push", "--path", str(model_folder), "--repo-id", "ann/avg", *words]) == 2
    out, err = capsys.readouterr()
    assert TOKEN not in out + err and "error: " in err
    assert hub.requests == []


def test_a_dry_run_lists_names_and_sizes_without_token_and_network(hub, data_folder, capsys):
    (data_folder / ".git").mkdir()
    (data_folder / "notes.txt").write_text("mine")
    card = data_folder / "README.md"
    card.write_text(card.read_text() + '\n    load_dataset("path/to/this/folder", split="train")\n')
    words = ["push", "--path", str(data_folder), "--repo-id", "ann/a-rather-long-name", "--exclude", "notes.txt"]
    assert main([*words, "--dry-run", "--private"]) == 0
    out, err = capsys.readouterr()
    assert re.search(r"4 files, \d.* would go to the private dataset ann/a-rather-long-name, branch main; noth", err)
    assert "not sent: .git/ (hidden)" in err and "not sent: notes.txt (left out by --exclude)" in err
    assert "on the Hub, README.md name ann/a-rather-long-name" in err
    assert hub.requests == []
    push_here(data_folder, "ann/a-rather-long-name", exclude=["notes.txt"])
    sent = hub.files("ann/a-rather-long-name", "dataset")
    assert out == "".join(f"{len(data)}\t{name}\n" for name, data in sorted(sent.items()))
    assert b'load_dataset("ann/a-rather-long-name", split' in sent["README.md"]


def test_a_push_prints_the_url_alone_and_the_rest_to_stderr(logged_in, model_folder, tmp_path, capsys):
    (tmp_path / "secret").write_text(TOKEN + "\n")
    words = ["push", "--path", str(model_folder), "--repo-id", "ann/avg", "--token-file", str(tmp_path / "secret")]
    assert main([*words, "--private", "--revision", "v2", "--commit-message", "First"]) == 0
    out, err = capsys.readouterr()
    assert out == f"{logged_in.url}/ann/avg/tree/v2\n"
    assert "7 files" in err and "commit " in err and TOKEN not in err
    done = hf_paraphrase.push(path=str(model_folder), repo_id="ann/avg", revision="v2")
    assert str(done) == out and not done.pushed.is_new


@pytest.mark.parametrize(
    ("words", "wording"),
    [
        (["--path", "absent", "--repo-id", "ann/x"], "no such folder"),
        (["--path", "avg", "--repo-id", "ann/x"], "there is no token.*hf auth login"),
        (["--path", "avg", "--repo-id", "a b"], "not a valid repository name"),
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


def test_push_to_hub_of_an_encoder_sends_a_model_that_opens_by_its_name(read_hub, logged_in, tmp_path):
    (tmp_path / "avg").mkdir()
    write_average(tmp_path / "avg", ["the", "cat", "sat"], initializer_range=1.0)
    encoder = SentenceEncoder.from_pretrained(tmp_path / "avg")
    url = encoder.push_to_hub("ann/my_avg", commit_message="Once more", revision="v2", private=True, token=TOKEN)
    assert url == f"{read_hub.url}/ann/my_avg/tree/v2"
    opened = SentenceEncoder.from_pretrained("ann/my_avg", revision="v2")
    np.testing.assert_array_equal(opened.encode(["the cat"]), encoder.encode(["the cat"]))


READER = """
import json, sys
from transformers import AutoModel, AutoTokenizer
from datasets import load_dataset
import torch
tokenizer = AutoTokenizer.from_pretrained("ann/avg", trust_remote_code=True)
model = AutoModel.from_pretrained("ann/avg", trust_remote_code=True)
with torch.no_grad():
    vector = model(**tokenizer(["the cat sat"], return_tensors="pt")).pooler_output[0].tolist()
rows = load_dataset("ann/pairs", split="train").to_list()
assert "hf_paraphrase" not in sys.modules
print(json.dumps([vector, rows]))
"""


def test_what_was_pushed_opens_from_the_hub_with_the_usual_libraries(logged_in, model_folder, data_folder, tmp_path):
    for path in model_folder.glob("model*"):
        path.unlink()
    write_average(model_folder, ["the", "cat", "sat", "down"], initializer_range=1.0)
    push_here(model_folder, "ann/avg", private=True)
    push_here(data_folder, "ann/pairs")
    kept = {key: value for key, value in os.environ.items() if not key.startswith(("HF_", "TRANSFORMERS_"))}
    settings = {"HF_ENDPOINT": logged_in.url, "HF_HUB_DISABLE_XET": "1", "HF_TOKEN": TOKEN, "PYTHONPATH": ""}
    done = subprocess.run(
        [sys.executable, "-c", READER],
        env={**kept, **settings, "OMP_NUM_THREADS": "1", "HF_HOME": str(tmp_path / "home")},
        cwd=tmp_path,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    vector, rows = json.loads(done.stdout.splitlines()[-1])
    encoder = SentenceEncoder.from_pretrained(model_folder)
    torch.testing.assert_close(torch.tensor(vector), torch.from_numpy(encoder.encode("the cat sat")))
    assert rows == [{"sentence1": f"one {index}", "sentence2": f"two {index}"} for index in range(6)]
