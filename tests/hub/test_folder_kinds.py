from __future__ import annotations

import json

import pytest

from hf_paraphrase.artefacts.card_heads import read_head
from hf_paraphrase.errors import HfParaphraseError, InputError, OutputError, UsageError
from hf_paraphrase.hub.folder_kinds import REPO_TYPES, check_place, check_whole, data_patterns, kind_of
from hf_paraphrase.hub.licences import refusal
from hf_paraphrase.hub.travelling_files import list_files


def tell(folder):
    return kind_of(folder, list_files(folder), read_head(folder))


def check(folder, kind):
    check_whole(folder, kind, list_files(folder), read_head(folder))


def test_each_folder_tells_its_type_and_is_whole(model_folder, data_folder, metric_folder):
    for folder, kind in zip((model_folder, data_folder, metric_folder), REPO_TYPES, strict=True):
        assert tell(folder) == kind
        check(folder, kind)


def test_a_tokenizer_is_a_model_that_needs_no_weights(model_folder):
    for path in [*model_folder.glob("model*"), model_folder / "config.json"]:
        path.unlink()
    assert tell(model_folder) == "model"
    check(model_folder, "model")


@pytest.mark.parametrize(
    ("change", "wording"),
    [
        (lambda folder: (folder / "data.parquet").write_text(""), "a model and data.*--repo-type model|dataset|space"),
        (lambda folder: [(folder / name).unlink() for name in ("config.json", "tokenizer.json")], "cannot tell"),
    ],
)
def test_files_that_do_not_tell_need_the_flag(model_folder, change, wording):
    change(model_folder)
    with pytest.raises(UsageError, match=wording):
        tell(model_folder)


def test_a_space_without_sdk_is_told_what_it_lacks(metric_folder):
    (metric_folder / "README.md").write_text("# STS\n")
    with pytest.raises(UsageError, match="sdk: gradio"):
        tell(metric_folder)


@pytest.mark.parametrize(
    ("name", "text", "wording"),
    [
        ("README.md", None, "no card"),
        ("provenance.json", None, "not an artefact of hf-paraphrase"),
        ("provenance.json", "[1]", "names no command"),
        ("provenance.json", '{"command": "other tool"}', "names no command"),
        ("provenance.json", "[" * 100_000, "not JSON"),
        ("model-00002-of-00002.safetensors", None, "part of the weights is missing"),
        ("model-00002-of-00002.safetensors", "short", "damaged or cut off"),
        ("model.safetensors.index.json", "{}", "cannot be read"),
    ],
)
def test_a_model_that_lacks_something_is_refused_by_the_name_of_the_file(model_folder, name, text, wording):
    (model_folder / name).unlink()
    if text is not None:
        (model_folder / name).write_text(text)
    with pytest.raises(InputError, match=wording) as caught:
        check(model_folder, "model")
    assert caught.value.path.startswith(str(model_folder))


def test_a_model_without_any_weights_is_refused(model_folder):
    for path in model_folder.glob("model*"):
        path.unlink()
    with pytest.raises(InputError, match="no weights"):
        check(model_folder, "model")


@pytest.mark.parametrize("keep", [0, 7, 8, 100, -1])
def test_weights_that_are_cut_off_anywhere_or_lie_about_their_length_are_refused(model_folder, keep):
    path = model_folder / "model-00001-of-00002.safetensors"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match="damaged or cut off"):
        check(model_folder, "model")


def test_a_header_that_claims_gigabytes_is_not_read(model_folder):
    path = model_folder / "model-00001-of-00002.safetensors"
    path.write_bytes((1 << 62).to_bytes(8, "little") + path.read_bytes()[8:])
    with pytest.raises(InputError, match="damaged"):
        check(model_folder, "model")


@pytest.mark.parametrize("keep", [0, 4, -1])
def test_parquet_files_that_are_cut_off_are_refused(data_folder, keep):
    path = data_folder / "data" / "train-00001-of-00002.parquet"
    path.write_bytes(path.read_bytes()[:keep])
    with pytest.raises(InputError, match="damaged or cut off") as caught:
        check(data_folder, "dataset")
    assert caught.value.path == str(path)


@pytest.mark.parametrize("index", [0, 1])
def test_a_missing_shard_is_named(data_folder, index):
    path = data_folder / "data" / f"train-0000{index}-of-00002.parquet"
    path.unlink()
    with pytest.raises(InputError, match="one of 2 parts is missing") as caught:
        check(data_folder, "dataset")
    assert caught.value.path == str(path)


def test_a_split_that_the_card_lists_must_be_there(data_folder):
    card = data_folder / "README.md"
    card.write_text(card.read_text().replace("data/train-*", "data/test-*"))
    with pytest.raises(InputError, match="lists `data/test-\\*`, but no such file"):
        check(data_folder, "dataset")


def test_a_space_needs_the_program_that_its_card_names(metric_folder):
    (metric_folder / "app.py").unlink()
    with pytest.raises(InputError, match="lacks the program"):
        check(metric_folder, "space")
    (metric_folder / "README.md").write_text("---\nsdk: static\n---\n")
    check(metric_folder, "space")
    for sdk in ("x", "[gradio]", "{}"):
        (metric_folder / "README.md").write_text(f"---\nsdk: {sdk}\n---\n")
        with pytest.raises(InputError, match="names no `sdk`"):
            check(metric_folder, "space")


@pytest.mark.parametrize("name", [".avg.partial", ".avg.previous"])
def test_the_folders_of_unfinished_work_are_refused_from_inside_too(model_folder, name, monkeypatch):
    folder = model_folder.rename(model_folder.parent / name)
    with pytest.raises(OutputError, match="unfinished work"):
        check_place(folder)
    monkeypatch.chdir(folder)
    with pytest.raises(OutputError, match="unfinished work"):
        check_place(".")


@pytest.mark.parametrize(
    ("configs", "patterns"),
    [
        ("[]", []),
        ("x", []),
        ("[x, 3]", []),
        ("[{data_files: a/*}]", ["a/*"]),
        ("[{data_files: [a, b]}, {data_files: {path: c}}]", ["a", "b", "c"]),
        ("[{data_files: [{split: train, path: [a, b]}, {split: test, path: c}]}]", ["a", "b", "c"]),
        ("[{config_name: x, data_dir: d}]", []),
    ],
)
def test_patterns_are_read_in_every_form_that_the_hub_knows(tmp_path, configs, patterns):
    (tmp_path / "README.md").write_text(f"---\nconfigs: {configs}\n---\n")
    assert list(data_patterns(read_head(tmp_path))) == patterns


@pytest.mark.parametrize(
    ("text", "line"),
    [
        (b"---\na: 1\n", 1),
        (b"---\na: [\n---\n", 2),
        (b"---\n- a\n---\n", 1),
        (b"\xff", None),
        (b"---\na: b: c\n---\n", 2),
    ],
)
def test_a_card_with_a_broken_head_is_refused_with_its_line(tmp_path, text, line):
    (tmp_path / "README.md").write_bytes(text)
    with pytest.raises(HfParaphraseError) as caught:
        read_head(tmp_path)
    assert (caught.value.path, caught.value.line) == (str(tmp_path / "README.md"), line)


def test_a_head_whose_aliases_would_fill_the_memory_is_read_and_judged(tmp_path):
    levels = "".join(f"a{n}: &a{n} [{', '.join([f'*a{n - 1}'] * 9)}]\n" for n in range(1, 40))
    (tmp_path / "README.md").write_text(f"---\na0: &a0 [x]\n{levels}license: *a39\nsdk: *a39\nconfigs: *a39\n---\n")
    head = read_head(tmp_path)
    assert "not one that is known" in refusal(head)
    assert list(data_patterns(head)) == []


@pytest.mark.parametrize("text", ["date: 2020-13-45", "[" * 20_000])
def test_a_head_that_the_parser_chokes_on_is_refused(tmp_path, text):
    (tmp_path / "README.md").write_text(f"---\n{text}\n---\n")
    with pytest.raises(InputError, match="not YAML"):
        read_head(tmp_path)


def test_a_card_as_long_as_a_book_is_read_to_the_end_of_its_head(tmp_path):
    (tmp_path / "README.md").write_text("---\nlicense: mit\n---\n" + "x" + "é" * (1 << 20))
    assert read_head(tmp_path) == {"license": "mit"}


@pytest.mark.parametrize("text", [None, "", "# Title\n---\na: 1\n---\n", "---\n---\n", "--- \n# comment\n---\n"])
def test_a_card_without_a_head_has_no_entries(tmp_path, text):
    if text is not None:
        (tmp_path / "README.md").write_text(text)
    assert read_head(tmp_path) == {}


def test_a_head_with_the_line_ends_of_windows_and_a_mark_of_order_is_read(tmp_path):
    (tmp_path / "README.md").write_bytes(b"\xef\xbb\xbf---\r\nlicense: mit\r\n---\r\n")
    assert read_head(tmp_path) == {"license": "mit"}


def test_an_index_that_names_files_elsewhere_is_refused(model_folder):
    path = model_folder / "model.safetensors.index.json"
    path.write_text(json.dumps({"weight_map": {"a": "../../other.safetensors"}}))
    with pytest.raises(InputError, match="part of the weights is missing"):
        check(model_folder, "model")
