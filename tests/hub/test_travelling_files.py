from __future__ import annotations

import io
import os
import pickle
import zipfile

import numpy as np
import pytest

from hf_paraphrase.errors import InputError
from hf_paraphrase.hub.travelling_files import list_files


@pytest.fixture
def folder(tmp_path):
    folder = tmp_path / "folder"
    (folder / "data").mkdir(parents=True)
    (folder / "data" / "b.txt").write_bytes(b"12345")
    (folder / "a.txt").write_text("é", encoding="utf-8")
    return folder


def names(folder, exclude=()):
    return [file.name for file in list_files(folder, exclude).files]


def test_files_are_listed_with_their_sizes_in_the_order_of_their_names(folder):
    found = list_files(folder)
    assert [(file.name, file.size) for file in found.files] == [("a.txt", 2), ("data/b.txt", 5)]
    assert found.size == 7
    assert found.left_out == ()


@pytest.mark.parametrize(
    ("name", "shown", "reason"),
    [
        (".git/config", ".git/", "hidden"),
        (".DS_Store", ".DS_Store", "hidden"),
        ("data/.cache/x", "data/.cache/", "hidden"),
        ("checkpoint-500/optimizer.pt", "checkpoint-500/", "a checkpoint of training"),
        ("checkpoints/1.txt", "checkpoints/", "a checkpoint of training"),
        ("__pycache__/x.pyc", "__pycache__/", "byte code"),
        ("training_args.bin", "training_args.bin", "state of training"),
        ("optimizer.pt", "optimizer.pt", "state of training"),
        ("rng_state_0.pth", "rng_state_0.pth", "state of training"),
        ("events.out.tfevents.17", "events.out.tfevents.17", "a log of training"),
    ],
)
def test_by_products_stay_at_home_with_their_reason(folder, name, shown, reason):
    (folder / name).parent.mkdir(exist_ok=True)
    (folder / name).write_bytes(b"x")
    found = list_files(folder)
    assert [file.name for file in found.files] == ["a.txt", "data/b.txt"]
    assert found.left_out == ((shown, reason),)


def numpy_objects():
    stream = io.BytesIO()
    np.save(stream, np.array([{}], dtype=object), allow_pickle=True)
    return stream.getvalue()


def torch_archive():
    stream = io.BytesIO()
    with zipfile.ZipFile(stream, "w") as archive:
        archive.writestr("archive/data.pkl", b"x")
    return stream.getvalue()


@pytest.mark.parametrize(
    ("name", "data"),
    [
        ("model.pkl", b""),
        ("pytorch_model.bin", torch_archive()),
        ("weights.pt", b"x"),
        ("innocent.json", pickle.dumps({})),
        ("vectors.npy", numpy_objects()),
    ],
)
def test_pickles_never_travel_under_whatever_name(folder, name, data):
    (folder / "data" / name).write_bytes(data)
    with pytest.raises(InputError, match=r"is a pickle.*safetensors, or leave it out with --exclude") as caught:
        list_files(folder)
    assert caught.value.path == str(folder / "data" / name)
    assert names(folder, ["*.pkl", "data/[!b]*"]) == ["a.txt", "data/b.txt"]


def test_arrays_of_numbers_and_archives_of_other_files_travel(folder):
    np.save(folder / "vectors.npy", np.zeros(3))
    np.savez(folder / "both.npz", a=np.zeros(3))
    (folder / "language_model.binary").write_bytes(b"mmap lm http://kheafield.com/code")
    assert names(folder) == ["a.txt", "both.npz", "data/b.txt", "language_model.binary", "vectors.npy"]


def test_links_never_travel_wherever_they_lead(folder, tmp_path):
    (tmp_path / "secret").mkdir()
    for target in (tmp_path / "secret", tmp_path / "absent", folder / "a.txt"):
        (folder / "data" / "link").symlink_to(target)
        with pytest.raises(InputError, match=r"it is a link.*copy"):
            list_files(folder)
        assert names(folder, ["link"]) == ["a.txt", "data/b.txt"]
        (folder / "data" / "link").unlink()


def test_a_pipe_is_refused_and_not_waited_for(folder):
    os.mkfifo(folder / "pipe")
    with pytest.raises(InputError, match="not a regular file"):
        list_files(folder)


@pytest.mark.parametrize("name", [".x.partial", "model.partial", ".train-00000.parquet", "x.incomplete", "a.tmp"])
def test_unfinished_files_stop_the_push(folder, name):
    (folder / "data" / name).write_bytes(b"x")
    with pytest.raises(InputError, match="the file is unfinished"):
        list_files(folder)


def test_an_unfinished_folder_inside_stops_the_push(folder):
    (folder / ".rest.partial").mkdir()
    with pytest.raises(InputError, match="unfinished"):
        list_files(folder)


@pytest.mark.parametrize("name", ["a\nb", "a\\b", os.fsdecode(b"\xff")])
def test_names_that_a_repository_cannot_have_are_refused(folder, name):
    (folder / name).write_bytes(b"x")
    with pytest.raises(InputError, match="rename it"):
        list_files(folder)


def test_patterns_leave_out_by_name_place_and_folder(folder):
    (folder / "data" / "deep").mkdir()
    (folder / "data" / "deep" / "a.txt").write_bytes(b"x")
    assert names(folder, ["a.txt"]) == ["data/b.txt"]
    assert names(folder, ["data/deep/"]) == ["a.txt", "data/b.txt"]
    assert list_files(folder, ["data"]).left_out == (("data/", "left out by --exclude"),)


@pytest.mark.parametrize(("make", "wording"), [(None, "no such folder"), ("file", "not a folder"), ("dir", "nothing")])
def test_a_folder_that_is_none_or_empty_is_refused(tmp_path, make, wording):
    path = tmp_path / "x"
    if make == "file":
        path.write_text("x")
    elif make == "dir":
        (path / ".git").mkdir(parents=True)
    with pytest.raises(InputError, match=wording):
        list_files(path)
