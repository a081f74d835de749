"""What the verb does before, around and after the page, and the folder of a Space that it writes."""

from __future__ import annotations

import runpy
import socket
import urllib.request
from importlib import metadata
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest
import yaml
from packaging.requirements import Requirement

from hf_paraphrase import launch_demo
from hf_paraphrase.commands import main
from hf_paraphrase.demo import run
from hf_paraphrase.errors import UsageError
from hf_paraphrase.hub.publishing import plan_push


def test_the_page_is_served_until_it_is_interrupted(gradio, models, capfd, monkeypatch, free_port):
    port, seen = free_port, []

    def interrupted():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}") as answer:
            seen.append(answer.read().decode())
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "Event", lambda: SimpleNamespace(wait=interrupted))
    assert main(["demo", "--models", str(models), "--port", str(port)]) == 0
    said = capfd.readouterr().err
    assert f"the page is at http://127.0.0.1:{port} (stop with Ctrl-C)" in said and "the page is closed" in said
    assert "Similarity" in seen[0]
    with socket.socket() as after:
        after.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)  # connections that ended linger
        after.bind(("127.0.0.1", port))


def test_the_page_is_for_this_machine_alone_and_gives_no_file_away(gradio, page_url, models):
    from urllib.parse import urlsplit

    port = urlsplit(page_url).port
    with socket.socket() as other, pytest.raises(OSError):
        other.settimeout(2)
        other.connect((socket.gethostbyname(socket.gethostname()).replace("127.0.0.1", "127.0.0.2"), port))
    for path in (models / "avg" / "config.json", "/etc/hostname"):
        with pytest.raises(HTTPError):
            urllib.request.urlopen(f"{page_url}/gradio_api/file={path}")


def test_a_port_that_is_taken_is_refused(gradio, models, capfd):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        assert main(["demo", "--models", str(models), "--port", str(taken.getsockname()[1])]) == 2
    assert "cannot be used (give another --port, or 0)" in capfd.readouterr().err


def test_a_space_is_what_push_sends_its_requirements_can_be_installed_and_its_package_works_alone(
    gradio, tmp_path, capfd, run_python
):
    space = tmp_path / "space"
    assert main(["demo", "--models", "builtin", "someone/nmt", "--output", str(space)]) == 0
    assert "push --path" in capfd.readouterr().err
    plan = plan_push(space, "someone/demo")
    assert plan.repo_type == "space"
    names = {file.name for file in plan.files}
    assert {"README.md", "app.py", "provenance.json", "requirements.txt", "hf_paraphrase/demo/page.css"} <= names
    assert not any("__pycache__" in name for name in names)
    head = yaml.safe_load((space / "README.md").read_text().split("---")[1])
    assert (head["sdk"], head["app_file"], head["models"]) == ("gradio", "app.py", ["someone/nmt"])
    assert head["sdk_version"] == gradio.__version__
    requirements = [Requirement(line) for line in (space / "requirements.txt").read_text().splitlines()]
    names = {requirement.name for requirement in requirements}
    assert {"torch", "transformers", "gradio"} <= names and "pytest" not in names
    # This package is in the folder: no index has its version.
    assert "hf-paraphrase" not in names
    for requirement in requirements:
        assert requirement.specifier.contains(metadata.version(requirement.name)), requirement
    script = (
        "import sys; sys.path.insert(0, sys.argv[1])\n"
        "import hf_paraphrase as package; from hf_paraphrase.artefacts.cards import template_path;"
        "cards = [template_path('dataset_cards', 'filtered'), template_path('model_cards', 'rnn_search')];"
        "print(package.__file__, *cards);"
        "print(package.SentenceEncoder.from_pretrained().dimension)"
    )
    *paths, dimension = run_python(script, space, folder=tmp_path).stdout.split()
    assert all(path.startswith(str(space / "hf_paraphrase")) for path in paths) and int(dimension) > 0


@pytest.mark.parametrize("name", ["avg", "a/b c"])
def test_a_space_names_models_of_the_hub_only(gradio, models, tmp_path, monkeypatch, name):
    monkeypatch.chdir(models)
    with pytest.raises(UsageError, match=f"--models {name}"):
        launch_demo(models=[name], output=str(tmp_path / "space"))
    assert not (tmp_path / "space").exists()


def test_the_program_of_a_space_serves_the_page(gradio, tmp_path, monkeypatch, free_port):
    folder = launch_demo(models=["builtin"], output=str(tmp_path / "space"))
    launch, seen = gradio.Blocks.launch, []

    def launch_at_a_free_port(page, **options):
        _, url, _ = launch(page, prevent_thread_lock=True, server_port=free_port, **options)
        with urllib.request.urlopen(url) as answer:
            seen.append(answer.read().decode())
        page.close(verbose=False)

    monkeypatch.setattr(gradio.Blocks, "launch", launch_at_a_free_port)
    runpy.run_path(str(folder / "app.py"), run_name="__main__")
    assert "Neighbours" in seen[0] or "Similarity" in seen[0]
