from __future__ import annotations

import os

import pytest

from hf_paraphrase.artefacts.untrusted_files import check_no_links, check_plain, check_plain_folder, read_bounded
from hf_paraphrase.errors import InputError, ModelError


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "artefact"
    (folder / "data").mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "data" / "a.parquet").write_text("x")
    (tmp_path / "secret.txt").write_text("secret")
    (tmp_path / "elsewhere").mkdir()
    return folder


def test_files_folders_and_links_that_stay_inside_are_in_order(folder, tmp_path):
    (folder / "link.json").symlink_to("config.json")
    (folder / "data" / "b.parquet").symlink_to("../data/a.parquet")
    (folder / "again").symlink_to(folder / "data")
    check_plain_folder(folder)
    # The folder itself may be a link: the user named it.
    (tmp_path / "name").symlink_to(folder)
    check_plain_folder(tmp_path / "name")


@pytest.mark.parametrize(
    ("place", "target"),
    [
        ("model.safetensors", "../secret.txt"),
        ("data/b.parquet", "../../secret.txt"),
        ("README.md", "/etc/passwd"),
        ("more", "../elsewhere"),
        ("tokenizer.json", "/dev/zero"),
        ("chain", "second"),
    ],
)
def test_a_link_that_leads_out_is_refused_by_name(folder, place, target):
    (folder / "second").symlink_to("../secret.txt") if target == "second" else None
    (folder / place).symlink_to(target)
    with pytest.raises(ModelError, match="a link that leads out of its folder"):
        check_plain_folder(folder, ModelError)


def test_links_to_nothing_and_in_a_circle_are_refused(folder):
    (folder / "a").symlink_to("b")
    with pytest.raises(InputError, match="a link that leads nowhere"):
        check_plain_folder(folder)
    (folder / "b").symlink_to("a")
    with pytest.raises(InputError, match="a link that leads nowhere"):
        check_plain_folder(folder)


def test_a_pipe_is_refused_and_nobody_waits_for_it(folder):
    os.mkfifo(folder / "model.safetensors")
    with pytest.raises(InputError, match="device, pipe or socket"):
        check_plain_folder(folder)
    with pytest.raises(InputError, match="not a plain file"):
        read_bounded(folder / "model.safetensors", 10)


@pytest.mark.parametrize(
    ("place", "target"),
    [
        (".README.md.partial", "../secret.txt"),
        (".git", "../elsewhere"),
        (".cache/huggingface/x.metadata", "/etc/passwd"),
        ("data/.hidden/config.json", "../../../secret.txt"),
    ],
)
def test_hidden_entries_are_checked_like_all_others(folder, place, target):
    (folder / place).parent.mkdir(parents=True, exist_ok=True)
    (folder / place).symlink_to(target)
    with pytest.raises(InputError, match="a link that leads out of its folder"):
        check_plain_folder(folder)


def test_what_git_and_the_hubs_client_keep_beside_a_model_is_in_order(folder):
    for name in (".git/HEAD", ".git/lfs/objects/ab/cd/abcd", ".cache/huggingface/download/config.json.metadata"):
        (folder / name).parent.mkdir(parents=True, exist_ok=True)
        (folder / name).write_text("x")
    # As git-annex keeps large files.
    (folder / "model.safetensors").symlink_to(".git/lfs/objects/ab/cd/abcd")
    check_plain_folder(folder)


def test_a_folder_without_links_is_told_from_one_with_any(folder):
    check_no_links(folder)
    (folder / "data" / ".link").symlink_to("a.parquet")
    with pytest.raises(ModelError, match=r"data/\.link: a link"):
        check_no_links(folder, ModelError)
    (folder / "data" / ".link").unlink()
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="device, pipe or socket"):
        check_no_links(folder)


def test_the_hubs_cache_may_link_to_its_blobs_and_to_nothing_else(tmp_path):
    repository = tmp_path / "models--org--name"
    snapshot = repository / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (repository / "blobs").mkdir()
    (repository / "blobs" / "abc").write_text("{}")
    (snapshot / "config.json").symlink_to("../../blobs/abc")
    check_plain_folder(snapshot)
    (tmp_path / "secret.txt").write_text("secret")
    (snapshot / "README.md").symlink_to("../../../secret.txt")
    with pytest.raises(InputError, match="leads out"):
        check_plain_folder(snapshot)


def test_blobs_that_are_a_link_themselves_open_no_door(tmp_path):
    repository = tmp_path / "models--org--name"
    snapshot = repository / "snapshots" / "0123"
    snapshot.mkdir(parents=True)
    (repository / "blobs").symlink_to("/etc")
    (snapshot / "config.json").symlink_to("../../blobs/passwd")
    with pytest.raises(InputError, match="leads out"):
        check_plain_folder(snapshot)


def test_only_the_entries_that_are_given_are_checked(folder):
    (folder / "bad").symlink_to("../secret.txt")
    check_plain(folder, [folder / "config.json"])
    with pytest.raises(InputError):
        check_plain(folder, [folder / "bad"])


def test_a_file_is_read_up_to_its_limit_and_no_further(folder):
    path = folder / "config.json"
    assert read_bounded(path, 2) == b"{}"
    with pytest.raises(InputError, match="longer than"):
        read_bounded(path, 1)
    with pytest.raises(ModelError, match="No such file"):
        read_bounded(folder / "absent", 1, ModelError)
    with pytest.raises(InputError, match=r"not a plain file|Is a directory"):
        read_bounded(folder / "data", 1)
