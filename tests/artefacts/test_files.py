from __future__ import annotations

import numpy as np
import pytest

from hf_paraphrase.artefacts.files import check_no_links, open_array, read_json_object
from hf_paraphrase.errors import InputError, ModelError


@pytest.mark.parametrize("content", [b"[]", b"\xff\xfe", b"[" * 100_000, b'{"a": 1'])
def test_what_is_not_a_json_object_is_an_error_that_names_the_file(tmp_path, content):
    path = tmp_path / "config.json"
    path.write_bytes(content)
    with pytest.raises(ModelError, match=r"config\.json is damaged") as caught:
        read_json_object(path, ModelError)
    assert caught.value.path == str(path) and len(str(caught.value)) < 600


def test_a_damaged_array_is_an_error_that_names_the_file(tmp_path):
    path = tmp_path / "a.npy"
    np.save(path, np.zeros((100, 4), np.float32))
    content = path.read_bytes()
    unreadable = content.replace(b"(100, 4)", b"(100\0\xf4)"), content.replace(b"(100, 4), }", b"(100, 4    ")
    for damaged in (content[:-1], content[:60], b"", b"text" * 50, *unreadable):
        path.write_bytes(damaged)
        with pytest.raises(InputError, match=r"a\.npy: not a readable NumPy file"):
            open_array(path)


def test_a_pickle_in_an_array_file_is_never_loaded(tmp_path):
    class Evil:
        def __reduce__(self):
            return open, (str(tmp_path / "owned"), "w")

    path = tmp_path / "a.npy"
    np.save(path, np.array([Evil()], object), allow_pickle=True)
    with pytest.raises(InputError, match="not a readable NumPy file"):
        open_array(path)
    assert not (tmp_path / "owned").exists()


def test_a_link_below_a_folder_that_is_written_to_is_refused(tmp_path):
    (tmp_path / "out" / "data").mkdir(parents=True)
    (tmp_path / "out" / "data" / "file").write_text("x")
    check_no_links(tmp_path / "out")
    (tmp_path / "out" / "data" / ".link").symlink_to("file")
    with pytest.raises(ModelError, match=r"data/\.link: a link"):
        check_no_links(tmp_path / "out", ModelError)
