from __future__ import annotations

import hashlib
import shutil
import traceback

import pytest
from hub_stand_in import READ_ONLY, TOKEN

from hf_paraphrase.errors import HubError, InputError, UsageError
from hf_paraphrase.hub.publishing import plan_push, push_folder


def content(folder):
    return {path.relative_to(folder).as_posix(): path.read_bytes() for path in folder.rglob("*") if path.is_file()}


def sha256(path):
    return hashlib.sha256(path.read_bytes()).hexdigest()


def push_here(folder, repo_id="ann/thing", **options):
    return push_folder(folder, repo_id, **{"token": TOKEN, **options})


def test_a_model_arrives_byte_for_byte_as_one_commit_and_large_files_go_to_storage(hub, model_folder):
    done = push_here(model_folder)
    assert hub.files("ann/thing") == content(model_folder)
    assert len(hub.repository("ann/thing").commits) == 2  # the repository's first, and ours
    assert hub.repository("ann/thing").commits[done.commit]["message"] == "Upload avg"
    assert sorted(hub.uploads()) == sorted(sha256(path) for path in model_folder.glob("*.safetensors"))
    assert done.url == f"{hub.url}/ann/thing"
    assert hub.bodies == [{"name": "thing", "organization": "ann", "type": "model"}]


@pytest.mark.parametrize("kind", ["dataset", "space"])
def test_the_folder_tells_what_kind_of_repository_is_made(hub, data_folder, metric_folder, kind):
    folder = {"dataset": data_folder, "space": metric_folder}[kind]
    done = push_here(folder)
    assert hub.files("ann/thing", kind) == content(folder)
    assert hub.repository("ann/thing", kind).sdk == {"dataset": None, "space": "gradio"}[kind]
    assert done.url == f"{hub.url}/{kind}s/ann/thing"


def test_the_type_can_be_overridden(hub, data_folder):
    push_here(data_folder, repo_type="model")
    assert list(hub.repositories) == [("model", "ann/thing")]


def test_a_bare_name_goes_to_the_own_namespace(hub, model_folder):
    push_here(model_folder, "thing")
    assert list(hub.repositories) == [("model", "ann/thing")]


def test_a_second_push_of_the_same_folder_sends_no_file_and_makes_no_commit(hub, data_folder):
    first = push_here(data_folder)
    hub.requests.clear()
    second = push_here(data_folder)
    assert second.commit == first.commit
    assert second.changes.send == ()
    assert [file.name for file in second.changes.unchanged] == sorted(content(data_folder))
    assert hub.sent("PUT", "*") == hub.sent("POST", "*/commit/*") == hub.sent("POST", "*/preupload/*") == []


def test_after_a_change_only_the_changed_files_are_sent(hub, model_folder):
    push_here(model_folder)
    hub.requests.clear()
    weights = model_folder / "model-00002-of-00002.safetensors"
    weights.write_bytes(weights.read_bytes()[:-1] + b"\x7f")
    card = model_folder / "README.md"
    card.write_text(card.read_text().replace("avg", "gva"))  # the same length: the content must tell
    done = push_here(model_folder)
    assert [file.name for file in done.changes.send] == ["README.md", weights.name]
    assert hub.uploads() == [sha256(weights)]
    assert hub.files("ann/thing") == content(model_folder)


def test_the_message_of_the_commit_arrives(hub, model_folder):
    done = push_here(model_folder, commit_message="Trained longer: é")
    assert hub.repository("ann/thing").commits[done.commit]["message"] == "Trained longer: é"


def test_a_private_repository_is_made_private_and_stays_so(hub, model_folder):
    push_here(model_folder, private=True)
    assert hub.repository("ann/thing").private
    push_here(model_folder, private=True)
    assert hub.repository("ann/thing").private


def test_nothing_private_is_sent_to_a_public_repository(hub, model_folder):
    hub.make("ann/thing")
    with pytest.raises(UsageError, match="exists and is public"):
        push_here(model_folder, private=True)
    assert hub.files("ann/thing") == {}
    assert hub.uploads() == []


def test_a_branch_is_made_and_main_stays_as_it_was(hub, model_folder):
    done = push_here(model_folder, revision="v2")
    assert hub.files("ann/thing", branch="v2") == content(model_folder)
    assert hub.files("ann/thing") == {}
    assert done.url == f"{hub.url}/ann/thing/tree/v2"
    hub.requests.clear()
    assert push_here(model_folder, revision="v2").changes.send == ()


def test_a_part_that_breaks_off_is_sent_again_and_the_others_are_not(hub, model_folder):
    hub.part_size = 20_000
    weights = model_folder / "model-00001-of-00002.safetensors"
    hub.cuts[sha256(weights)] = [20_000, 7_000]  # the first part arrives but gets no answer, its repetition breaks off
    push_here(model_folder)
    parts = hub.sent("PUT", f"/storage/{sha256(weights)}/*")
    assert [int(path.rpartition("/")[2]) for path in parts] == [1, 1, 1, 2, 3, 4]
    assert hub.files("ann/thing") == content(model_folder)


def test_a_push_that_broke_in_a_large_file_is_continued_by_the_same_call(hub, model_folder):
    first, second = sorted(model_folder.glob("*.safetensors"))
    hub.answers["POST", "*/commit/*"] = [(503, {}, {"error": "storage is busy"})]
    with pytest.raises(HubError, match=r"status 503: storage is busy.*what has arrived is not sent again"):
        push_here(model_folder)
    assert hub.files("ann/thing") == {}  # whole or not at all
    assert sorted(hub.large) == sorted([sha256(first), sha256(second)])
    del hub.large[sha256(second)]
    hub.requests.clear()
    push_here(model_folder)
    assert hub.uploads() == [sha256(second)]
    assert hub.files("ann/thing") == content(model_folder)


def test_files_that_the_folder_lacks_stay_and_are_named_or_are_deleted_if_told_so(hub, model_folder):
    push_here(model_folder)
    (model_folder / "tokenizer.json").unlink()
    done = push_here(model_folder)
    assert done.changes.stale == ("tokenizer.json",)
    assert "tokenizer.json" in hub.files("ann/thing")
    done = push_here(model_folder, prune=True)
    assert done.pruned == ("tokenizer.json",)
    assert hub.files("ann/thing") == content(model_folder)
    assert ".gitattributes" in hub.repository("ann/thing").commits[done.commit]["files"]


def test_old_shards_never_mix_with_the_new_data(hub, data_folder):
    (data_folder / "data" / "train-00001-of-00002.parquet").rename(
        data_folder / "data" / "train-00000-of-00001.parquet"
    )
    (data_folder / "data" / "train-00000-of-00002.parquet").unlink()
    push_here(data_folder)
    before = hub.files("ann/thing", "dataset")
    (data_folder / "data" / "train-00000-of-00001.parquet").rename(
        data_folder / "data" / "train-00000-of-00002.parquet"
    )
    shutil.copy(
        data_folder / "data" / "train-00000-of-00002.parquet", data_folder / "data" / "train-00001-of-00002.parquet"
    )
    with pytest.raises(HubError, match=r"data/train-00000-of-00001.parquet, which load_dataset would read.*--prune"):
        push_here(data_folder)
    assert hub.files("ann/thing", "dataset") == before
    push_here(data_folder, prune=True)
    assert hub.files("ann/thing", "dataset") == content(data_folder)


def test_a_commit_of_somebody_else_in_between_is_not_overwritten(hub, model_folder):
    hub.make("ann/thing")
    theirs = []

    def somebody_else(size):
        if not theirs:
            repository = hub.repository("ann/thing")
            theirs.append(repository.commit("main", {"config.json": (b"theirs", False)}, "theirs"))

    with pytest.raises(HubError, match=r"changed while this was sent.*repeat the command"):
        push_here(model_folder, progress=somebody_else)
    assert hub.files("ann/thing") == {"config.json": b"theirs"}


def test_a_file_that_the_hub_ignores_is_missed(hub, model_folder, monkeypatch):
    from hub_stand_in import Handler

    tree = Handler.tree
    monkeypatch.setattr(
        Handler,
        "tree",
        lambda self, *words: [entry for entry in tree(self, *words) if entry["path"] != "tokenizer.json"],
    )
    with pytest.raises(HubError, match=r"did not take tokenizer\.json.*gitignore"):
        push_here(model_folder)


def test_a_dry_plan_needs_no_token_and_reaches_nothing(hub, data_folder):
    plan = plan_push(data_folder, "ann/thing", revision="v2")
    assert {file.name: file.size for file in plan.files.files} == {
        name: len(data) for name, data in content(data_folder).items()
    }
    assert (plan.repo_type, plan.revision, plan.licence_problem) == ("dataset", "v2", None)
    assert hub.requests == []


@pytest.mark.parametrize("head", ["", "license: other\n", "license: cc-by-nd-4.0\n", "license: [mit, unknown]\n"])
def test_data_that_may_not_be_passed_on_stays_here_unless_told_so(hub, data_folder, head):
    card = data_folder / "README.md"
    card.write_text(card.read_text().replace("license: cc-by-2.0\n", head))
    with pytest.raises(InputError, match=r"the data is not sent: .*a line such as `license: .*--allow-any-license"):
        push_here(data_folder)
    with pytest.raises(InputError, match="the data is not sent"):
        push_here(data_folder, repo_type="model")  # calling it a model does not make it one
    assert hub.requests == []
    push_here(data_folder, allow_any_license=True)
    assert hub.files("ann/thing", "dataset") == content(data_folder)


def test_models_need_no_licence_nor_do_lists_of_fingerprints(model_folder):
    (model_folder / "references.tsv").write_text("part\tid\tfingerprint\n")
    assert plan_push(model_folder, "ann/thing").licence_problem is None


@pytest.mark.parametrize(
    ("token", "repo_id", "wording"),
    [
        ("hf_" + "Q" * 34, "ann/thing", "rejected the token.*Invalid credentials.*/settings/tokens"),
        (READ_ONLY, "ann/new", "may not write to ann/new.*right to write"),
        (READ_ONLY, "ann/there", "may not write to ann/there"),
        (TOKEN, "else/new", "may not write to else/new.*under the namespace else"),
    ],
)
def test_a_rejected_token_is_one_line_without_the_token(hub, model_folder, token, repo_id, wording):
    hub.make("ann/there")
    with pytest.raises(HubError, match=wording) as caught:
        push_here(model_folder, repo_id, token=token)
    assert token not in "".join(traceback.format_exception(caught.value))
    assert "\n" not in str(caught.value)
    assert hub.uploads() == []


@pytest.mark.parametrize(
    ("status", "headers", "text", "wording"),
    [
        (404, {"X-Error-Code": "RepoNotFound"}, "gone", "no repository ann/thing.*gone"),
        (429, {}, "slow down", "status 429: slow down.*wait"),
        (413, {}, "too large", "refused with status 413: too large"),
        (500, {}, f"crash with {TOKEN}", "status 500: crash with <token>"),
    ],
)
def test_what_the_hub_answers_is_told_and_the_token_never(hub, model_folder, status, headers, text, wording):
    hub.answers["POST", "*/commit/*"] = [(status, headers, {"error": text})]
    with pytest.raises(HubError, match=wording) as caught:
        push_here(model_folder)
    assert TOKEN not in "".join(traceback.format_exception(caught.value))
    assert hub.files("ann/thing") == {}


def test_no_network_is_one_line_that_names_the_address(hub, model_folder):
    with pytest.raises(HubError, match=r"connection to http://127\.0\.0\.1:9 failed.*HF_ENDPOINT"):
        push_here(model_folder, endpoint="http://127.0.0.1:9")


def test_a_client_set_to_work_offline_says_so(hub, model_folder, monkeypatch):
    from huggingface_hub import constants

    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    with pytest.raises(HubError, match="unset HF_HUB_OFFLINE"):
        push_here(model_folder)
    assert hub.requests == []


def test_a_token_that_would_break_a_header_is_refused_before_it_is_used(hub, model_folder):
    with pytest.raises(UsageError, match="characters that no token has") as caught:
        push_here(model_folder, token="hf_bad\nsecret")
    assert "secret" not in str(caught.value)
    assert hub.requests == []


def test_the_token_itself_is_never_published(hub, model_folder):
    path = model_folder / "provenance.json"
    path.write_text(path.read_text().replace("{}", f'{{"key": "{TOKEN}"}}'))
    with pytest.raises(InputError, match="holds your token") as caught:
        push_here(model_folder)
    assert caught.value.path == str(path)
    assert TOKEN not in str(caught.value)
    assert hub.requests == []


@pytest.mark.parametrize(
    ("options", "wording"),
    [
        ({"repo_id": "a/b/c"}, "not the name of a repository"),
        ({"repo_id": "-x"}, "not the name of a repository"),
        ({"repo_type": "kernel"}, "no repository type `kernel`"),
        ({"revision": "a..b"}, "not the name of a branch"),
        ({"revision": "a b"}, "not the name of a branch"),
        ({"revision": ""}, "not the name of a branch"),
    ],
)
def test_names_that_cannot_be_are_refused_before_anything_is_read(model_folder, options, wording):
    with pytest.raises(UsageError, match=wording):
        plan_push(model_folder, **{"repo_id": "ann/thing", **options})


@pytest.mark.parametrize("revision", ["main", "v2", "feature/x-1.0", "refs/pr/3"])
def test_names_of_branches_are_taken(model_folder, revision):
    assert plan_push(model_folder, "ann/thing", revision=revision).revision == revision
