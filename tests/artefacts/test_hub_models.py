from __future__ import annotations

import fnmatch
import json
import shutil
from pathlib import Path
from unittest.mock import MagicMock

import huggingface_hub
import numpy as np
import pytest
from huggingface_hub import constants, errors
from tiny_encoders import write_average

from hf_paraphrase.artefacts import hub_models
from hf_paraphrase.artefacts.artefact import Artefact
from hf_paraphrase.artefacts.hub_models import BUILTIN_FOLDER, fetched_folder, model_folder, repository_name
from hf_paraphrase.artefacts.provenance import fingerprint, read_provenance
from hf_paraphrase.commands import main
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import HubError, ModelError
from hf_paraphrase.translation.loading import load_translation_model


class HubOfOneModel:
    """Stands in for `snapshot_download`: fetches what the patterns allow, into a folder of its own."""

    def __init__(self, source, cache):
        self.source, self.cache = source, cache
        self.revisions = {}
        self.calls = []
        self.fetched = []
        self.error = None

    def __call__(self, repo_id, *, revision=None, allow_patterns):
        self.calls.append((repo_id, revision))
        if self.error is not None:
            raise self.error
        snapshot = self.cache / f"models--{repo_id.replace('/', '--')}" / "snapshots" / str(revision)
        source = self.revisions.get(revision, self.source)
        for path in source.rglob("*"):
            name = path.relative_to(source).as_posix()
            if path.is_file() and any(fnmatch.fnmatch(name, pattern) for pattern in allow_patterns):
                (snapshot / name).parent.mkdir(parents=True, exist_ok=True)
                shutil.copy(path, snapshot / name)
                self.fetched.append(name)
        return str(snapshot)


@pytest.fixture(scope="module")
def encoder_folder(tmp_path_factory):
    """An encoder as it is on the Hub: with its code, and with files that must not be fetched."""
    folder = tmp_path_factory.mktemp("published") / "avg"
    write_average(folder)
    (folder / "README.md").write_text("---\nlicense: mit\nlanguage:\n- en\n---\n\n# avg\n")
    (folder / "modeling_avg.py").write_text("raise SystemExit('the code of a repository ran')\n")
    config = json.loads((folder / "config.json").read_text())
    config["auto_map"] = {"AutoModel": "modeling_avg.AvgModel"}
    (folder / "config.json").write_text(json.dumps(config))
    for name in ("pytorch_model.bin", "training_args.bin", "weights.pkl", "setup.sh"):
        (folder / name).write_bytes(b"\x80\x04")
    shutil.copytree(folder, folder / "source", ignore=shutil.ignore_patterns("source"))
    return folder


@pytest.fixture
def hub(encoder_folder, tmp_path, monkeypatch):
    hub = HubOfOneModel(encoder_folder, tmp_path / "cache")
    monkeypatch.setattr(huggingface_hub, "snapshot_download", hub)
    monkeypatch.setattr(hub_models, "_FOLDERS", {})
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", False)
    (tmp_path / "here").mkdir()
    monkeypatch.chdir(tmp_path / "here")
    return hub


def test_an_encoder_of_the_hub_gives_the_vectors_of_its_folder_and_runs_none_of_its_code(hub, encoder_folder):
    texts = ["w1 w2", "w3"]
    vectors = SentenceEncoder.from_pretrained("ann/avg").encode(texts)
    assert np.array_equal(vectors, SentenceEncoder.from_pretrained(encoder_folder).encode(texts))
    assert set(hub.calls) == {("ann/avg", None)}
    fetched = {path.relative_to(hub.cache).parts[-1] for path in hub.cache.rglob("*") if path.is_file()}
    assert {"config.json", "model.safetensors", "tokenizer.json"} <= fetched
    assert {Path(name).suffix for name in fetched} <= {".json", ".safetensors", ".md"}


def test_the_revision_is_that_of_the_call_and_a_model_is_fetched_once(hub):
    SentenceEncoder.from_pretrained("ann/avg", revision="v2")
    assert set(hub.calls) == {("ann/avg", "v2")}
    hub.calls.clear()
    SentenceEncoder.from_pretrained("ann/avg", revision="v2")
    assert hub.calls == []
    SentenceEncoder.from_pretrained("ann/avg")
    assert set(hub.calls) == {("ann/avg", None)}


def test_two_revisions_of_one_model_are_recorded_each_as_itself(hub, tmp_path):
    hub.revisions["v2"] = write_average(tmp_path / "v2", ["w1", "w2"], hidden_size=3)
    encoders = {revision: SentenceEncoder.from_pretrained("ann/avg", revision=revision) for revision in (None, "v2")}
    names = {revision: repository_name(encoder.folder) for revision, encoder in encoders.items()}
    assert names == {None: "ann/avg", "v2": "ann/avg@v2"}
    assert repository_name("ann/avg") == "ann/avg" and fetched_folder("ann/avg") == encoders[None].folder
    for revision, encoder in encoders.items():
        encoder.save_pretrained(tmp_path / f"copy_{revision}")
        with Artefact(tmp_path / f"other_{revision}", command="x", settings={}, inputs=[encoder.folder]) as artefact:
            artefact.finish()
        for made in (f"copy_{revision}", f"other_{revision}"):
            (item,) = read_provenance(tmp_path / made)["inputs"]
            assert (item["name"], item["sha256"]) == (names[revision], fingerprint(encoder.folder))
    assert fingerprint(encoders[None].folder) != fingerprint(encoders["v2"].folder)


def test_a_name_means_the_main_branch_even_if_only_another_revision_was_fetched(hub):
    model_folder("ann/avg", revision="v2")
    assert fetched_folder("ann/avg") is None and repository_name("ann/avg") is None
    assert [repository_name(name) for name in ("builtin", BUILTIN_FOLDER, str(BUILTIN_FOLDER))] == ["builtin"] * 3


@pytest.fixture
def other_type(hub, encoder_folder, tmp_path):
    """A large repository whose model is not of this package, and a folder of it with the same."""
    hub.source = tmp_path / "other_type"
    for place in (hub.source, hub.source / "[it]"):
        for name in (
            "tokenizer.json",
            "model-00001-of-00002.safetensors",
            "onnx/model.onnx",
            "onnx/model_fp16.onnx",
            "data/huge.json",
        ):
            (place / name).parent.mkdir(parents=True, exist_ok=True)
            (place / name).write_bytes(b"much")
        (place / "config.json").write_text('{"model_type": "llama"}')
    return hub


@pytest.mark.parametrize(("name", "place"), [("ann/llama", "config.json"), ("ann/llama/[it]", "[it]/config.json")])
def test_of_a_model_of_another_type_only_the_settings_are_fetched_and_the_error_is_that_of_a_folder(
    other_type, name, place
):
    with pytest.raises(ModelError) as here:
        SentenceEncoder.from_pretrained(other_type.source)
    with pytest.raises(ModelError) as there:
        SentenceEncoder.from_pretrained(name)
    assert there.value.message == here.value.message == "a model of type `llama` is not a sentence encoder"
    assert there.value.remedy == here.value.remedy
    assert other_type.fetched == [place]
    with pytest.raises(ModelError, match="a model of type `llama` is not a translation model"):
        load_translation_model(name)


@pytest.mark.parametrize("settings", ["[1]", '{"model_type": ["avg"]}', '{"model_type": null}', "{", "{}"])
def test_damaged_settings_are_one_line_and_nothing_more_is_fetched(other_type, settings):
    (other_type.source / "config.json").write_text(settings)
    with pytest.raises(ModelError, match=r"damaged|is not a sentence encoder"):
        SentenceEncoder.from_pretrained("ann/llama")
    assert other_type.fetched == ["config.json"]


def test_of_a_repository_without_settings_only_a_folder_with_a_model_is_fetched(hub, encoder_folder, tmp_path):
    hub.source = tmp_path / "vectors"
    shutil.copytree(encoder_folder / "source", hub.source / "source")
    (hub.source / "model.safetensors").write_bytes(b"much")
    with pytest.raises(ModelError, match=r"no model: there is no config.json.*namespace/name/folder names a model"):
        SentenceEncoder.from_pretrained("ann/vectors")
    with pytest.raises(ModelError, match="the repository has no folder target"):
        model_folder("ann/vectors/target")
    assert hub.fetched == []
    assert SentenceEncoder.from_pretrained("ann/vectors/source").dimension == 5
    assert not list(hub.cache.glob("*/snapshots/*/model.safetensors"))


def test_files_deeper_than_the_folders_of_the_package_are_not_fetched(hub, encoder_folder, tmp_path):
    hub.source = shutil.copytree(encoder_folder, tmp_path / "much", ignore=shutil.ignore_patterns("source"))
    own = sorted(path.name for path in hub.source.iterdir() if path.suffix in {".json", ".safetensors", ".md"})
    parts = ("1_Pooling/config.json", "onnx/model.onnx", "source_tokenizer/tokenizer.json")
    others = (
        "checkpoint-500/model.safetensors",
        "checkpoint-500/config.json",
        "data/huge.json",
        "model-a/00001-of-00002.safetensors",
        "onnx/old/model.onnx",
        "onnx/model_fp16.onnx",
        "adapter.safetensors",
        "source_tokenizer/old/tokenizer.json",
    )
    for name in (*parts, *others):
        (hub.source / name).parent.mkdir(parents=True, exist_ok=True)
        (hub.source / name).write_bytes(b"much")
    model_folder("ann/avg")
    assert sorted(set(hub.fetched)) == sorted([*own, *parts])


def test_an_empty_name_does_not_mean_the_current_folder():
    with pytest.raises(ModelError, match="the name of the model is empty"):
        SentenceEncoder.from_pretrained("")


def test_a_local_folder_or_an_invalid_name_is_never_looked_up_on_the_hub(hub):
    Path("ann/avg").mkdir(parents=True)
    paths = [
        "ann/avg",
        Path("bob/avg"),
        "avg",
        "./avg",
        "../x/avg",
        "/x/avg",
        "~/avg",
        "a//b",
        "ann/more/avg",
        "a b/c",
    ]
    for path in paths:
        assert model_folder(path) == Path(path)
    for path in paths:
        with pytest.raises(ModelError, match=r"config.json|no such model folder"):
            SentenceEncoder.from_pretrained(path)
    with pytest.raises(ModelError, match=r"give a folder that train-encoder made, or namespace/name of such a model"):
        SentenceEncoder.from_pretrained("avg")
    assert hub.calls == []


def answer(kind, status):
    return kind("a long story\nof several lines", response=MagicMock(headers={}, status_code=status))


@pytest.mark.parametrize(
    ("error", "kind", "wording"),
    [
        (lambda: answer(errors.RepositoryNotFoundError, 401), ModelError, "no such model on the Hub.*hf auth login"),
        (lambda: answer(errors.GatedRepoError, 403), ModelError, "the model on the Hub is gated.*hf auth login"),
        (lambda: answer(errors.RevisionNotFoundError, 404), ModelError, "has no revision `v2`"),
        (lambda: answer(errors.HfHubHTTPError, 503), HubError, "cannot be reached: status 503"),
        (lambda: errors.LocalEntryNotFoundError("nothing\nhere"), HubError, "cannot be reached.*your network"),
        (lambda: ConnectionError("no route"), HubError, "cannot be reached: ConnectionError"),
        (lambda: errors.OfflineModeIsEnabled("offline"), HubError, "is offline.*unset HF_HUB_OFFLINE"),
    ],
)
def test_an_error_of_the_hub_is_one_line_with_a_remedy(hub, error, kind, wording):
    hub.error = error()
    with pytest.raises(kind, match=wording) as caught:
        SentenceEncoder.from_pretrained("ann/avg", revision="v2")
    assert caught.value.path == "ann/avg"
    assert "\n" not in str(caught.value) and "several" not in str(caught.value)
    assert caught.value.__cause__ is None and caught.value.__suppress_context__


def test_an_offline_client_uses_its_copy_or_reports_that_there_is_none(hub, monkeypatch):
    monkeypatch.setattr(constants, "HF_HUB_OFFLINE", True)
    assert SentenceEncoder.from_pretrained("ann/avg").dimension == 5
    hub.error = errors.LocalEntryNotFoundError("nothing")
    with pytest.raises(HubError, match="is offline and has no copy"):
        SentenceEncoder.from_pretrained("ann/other")


def test_verbs_take_names_of_the_hub_and_record_them(hub, encoder_folder, capsys):
    Path("text").write_text("w1 w2\nw3\n")
    assert main(["encode", "--model", "ann/avg", "--input", "text", "--output", "v.npy"]) == 0
    assert np.array_equal(np.load("v.npy"), SentenceEncoder.from_pretrained(encoder_folder).encode(["w1 w2", "w3"]))
    assert main(["search", "--model", "ann/avg", "--corpus", "text", "--output", "index"]) == 0
    assert main(["search", "--index", "index", "--query", "w3"]) == 0
    assert "\tw3\n" in capsys.readouterr().out
    (model, _) = json.loads(Path("index/provenance.json").read_text())["inputs"]
    assert (model["name"], model["license"]) == ("ann/avg", ["mit"])
    assert model["sha256"] == fingerprint("ann/avg") == fingerprint(model_folder("ann/avg"))
    assert main(["export", "--model", "ann/avg", "--format", "safetensors", "--output", "half"]) == 0
    assert "The sentence encoder **ann/avg**" in Path("half/README.md").read_text()
    assert json.loads(Path("half/provenance.json").read_text())["inputs"][0]["name"] == "ann/avg"
    assert hub.fetched.count("model.safetensors") == 1


def test_another_type_of_model_on_the_hub_and_a_missing_one_are_one_line(hub, capsys):
    with pytest.raises(ModelError, match="a model of type `avg` is not a translation model"):
        load_translation_model("ann/avg")
    hub.error = answer(errors.RepositoryNotFoundError, 404)
    assert main(["encode", "--model", "ann/none", "--input", __file__, "--output", "v.npy"]) == 2
    assert capsys.readouterr().err.count("\n") == 1
