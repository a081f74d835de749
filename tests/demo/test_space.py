"""The folder of a Space: `push` takes it, and its own app.py serves the page."""

from __future__ import annotations

import runpy
import urllib.request

import pytest
import yaml

from hf_paraphrase import launch_demo
from hf_paraphrase.commands import main
from hf_paraphrase.demo.run import free_port
from hf_paraphrase.errors import OutputError, UsageError
from hf_paraphrase.hub.publishing import plan_push


@pytest.fixture
def space(gradio, tmp_path, capfd):
    folder = tmp_path / "space"
    assert main(["demo", "--models", "builtin", "someone/nmt", "--output", str(folder)]) == 0
    assert "push --path" in capfd.readouterr().err
    return folder


def test_a_space_is_what_push_sends(gradio, space, tmp_path, monkeypatch):
    plan = plan_push(space, "someone/demo")
    assert plan.repo_type == "space"
    assert {file.name for file in plan.files} == {"README.md", "app.py", "provenance.json", "requirements.txt"}
    head = yaml.safe_load((space / "README.md").read_text().split("---")[1])
    assert (head["sdk"], head["app_file"], head["models"]) == ("gradio", "app.py", ["someone/nmt"])
    assert head["sdk_version"] == gradio.__version__
    assert (space / "requirements.txt").read_text().startswith("hf-paraphrase[demo]==")
    with pytest.raises(OutputError, match="exists"):
        launch_demo(models=["builtin"], output=str(space))
    (tmp_path / "builtin").mkdir()
    monkeypatch.chdir(tmp_path)
    launch_demo(models=["builtin"], output=str(space), overwrite=True)
    assert "['builtin']" in (space / "app.py").read_text()


@pytest.mark.parametrize("name", ["avg", "no name", "a/b c"])
def test_a_space_names_models_of_the_hub_only(gradio, models, tmp_path, monkeypatch, name):
    monkeypatch.chdir(models)
    with pytest.raises(UsageError, match=f"--models {name}"):
        launch_demo(models=[name], output=str(tmp_path / "space"))
    assert not (tmp_path / "space").exists()


def test_the_program_of_a_space_serves_the_page(gradio, tmp_path, monkeypatch):
    folder = launch_demo(models=["builtin"], output=str(tmp_path / "space"))
    launch, seen = gradio.Blocks.launch, []

    def launch_at_a_free_port(page, **options):
        _, url, _ = launch(page, prevent_thread_lock=True, server_port=free_port(), **options)
        with urllib.request.urlopen(url) as answer:
            seen.append(answer.read().decode())
        page.close(verbose=False)

    monkeypatch.setattr(gradio.Blocks, "launch", launch_at_a_free_port)
    runpy.run_path(str(folder / "app.py"), run_name="__main__")
    assert "Neighbours" in seen[0] or "Similarity" in seen[0]
