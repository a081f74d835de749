from __future__ import annotations

import os

import pytest

from hf_paraphrase.artefacts.foreign_files import check_plain, check_plain_folder, read_bounded
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


def test_hidden_entries_are_nobodys_business(folder):
    (folder / ".git").symlink_to("../elsewhere")
    check_plain_folder(folder)


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
