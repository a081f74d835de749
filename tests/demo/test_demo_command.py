"""What the verb does before, around and after the page."""

from __future__ import annotations

import socket
import urllib.request
from types import SimpleNamespace
from urllib.error import HTTPError

import pytest

from hf_paraphrase.commands import main
from hf_paraphrase.demo import run


def error_of(capfd):
    return [line for line in capfd.readouterr().err.splitlines() if line.startswith("hf-paraphrase: error: ")][-1]


def test_the_page_is_served_until_it_is_interrupted(gradio, models, capfd, monkeypatch, free_port):
    port, seen = free_port, []

    def interrupted():
        with urllib.request.urlopen(f"http://127.0.0.1:{port}") as answer:
            seen.append(answer.read().decode())
        raise KeyboardInterrupt

    monkeypatch.setattr(run, "Event", lambda: SimpleNamespace(wait=interrupted))
    assert main(["demo", "--models", str(models), "--port", str(port)]) == 0
    said = capfd.readouterr().err
    assert f"the page is at http://127.0.0.1:{port} (Ctrl-C ends it)" in said and "the page is closed" in said
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
    assert "cannot be used (give another --port, or 0)" in error_of(capfd)
