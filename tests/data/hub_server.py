"""The Hub as a server of HTTP: the data sets below a folder, for programs whose client of the Hub is the real one.

It is the proxy of these programs, so that hosts of any name lead to it: the Hub, its store of large files, and the
server of the viewer, of which `datasets` asks the types of columns.
"""

from __future__ import annotations

import hashlib
import json
import re
import threading
from collections import Counter
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import parse_qs, quote, unquote, urlsplit

HUB, STORE, VIEWER = "hub.test", "store.hub.test", "datasets-server.hub.test"
TOKEN = "hf_" + "Kx7Qp2Lm9Rt4Vw8Zb3Nc6Yd1Fg5Hj0Sa2u"
LARGE = (".parquet", ".arrow", ".zip")
"""The suffixes of files that the Hub keeps in its store."""
RESOLVE = re.compile(r"/datasets/([^/]+/[^/]+)/resolve/([^/]+)/(.+)")
API = re.compile(r"/api/datasets/([^/]+/[^/]+)(?:/(revision|tree|paths-info|refs)/?([^/]*)(?:/(.+))?)?")


class HubServer:
    """A running server; `with` ends it.

    Attributes:
        folder: The folder with a folder `owner/name` of each data set, and `owner/name@branch` of further branches.
        gated: The data sets that only the owner of `TOKEN` may read.
        refused: The data sets that nobody may read, each with the status of the answer.
        cut: For names of files the number of bytes after which the connection ends.
        features: The types of columns that the viewer states, by the name of the data set.
        requests: The number of requests by method and path.
        sent: The number of bytes that were sent of each file, by its path in the data set.
    """

    def __init__(self, folder):
        self.folder = Path(folder)
        self.gated, self.refused, self.cut, self.features = set(), {}, {}, {}
        self.requests, self.sent = Counter(), Counter()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Handler", (Handler,), {"hub": self}))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def __enter__(self):
        return self

    def __exit__(self, *_):
        self.server.shutdown()
        self.server.server_close()

    def environment(self, home, **others):
        """Return the environment of a program whose Hub is this server; `home` holds its caches."""
        proxy = f"http://127.0.0.1:{self.server.server_port}"
        about = {"HF_HOME": str(home), "HF_ENDPOINT": f"http://{HUB}", "HF_HUB_OFFLINE": "0", "http_proxy": proxy}
        return {**about, "HF_HUB_DISABLE_TELEMETRY": "1", **others}

    def forget(self):
        """Begin to count again."""
        self.requests.clear()
        self.sent.clear()

    def branches(self, name):
        """Return the folders of the branches of a data set."""
        folders = (self.folder / name).parent.iterdir()
        return sorted(path for path in folders if path.name.partition("@")[0] == name.partition("/")[2])

    def revision(self, name, revision):
        """Return the folder and the commit of a branch or commit; None for one that does not exist."""
        for folder in self.branches(name):
            contents = ((path.relative_to(folder).as_posix(), path.read_bytes()) for path in files_of(folder))
            commit = hashlib.sha1(repr([name, *contents]).encode()).hexdigest()
            if revision in (folder.name.partition("@")[2] or "main", commit):
                return folder, commit
        return None


def files_of(folder):
    return sorted(path for path in folder.rglob("*") if path.is_file())


class Handler(BaseHTTPRequestHandler):
    """Answers one request as the Hub does."""

    hub: HubServer
    protocol_version = "HTTP/1.1"

    def log_message(self, *_):
        """Print nothing."""

    def do_HEAD(self):
        self.answer()

    def do_GET(self):
        self.answer()

    def do_POST(self):
        self.answer(parse_qs(self.rfile.read(int(self.headers["Content-Length"])).decode()))

    def answer(self, form=None):
        url = urlsplit(self.path)
        path = unquote(url.path)
        self.hub.requests[f"{self.command} {path}"] += 1
        if url.hostname == VIEWER:
            return self.answer_viewer(parse_qs(url.query)["dataset"][0])
        if url.hostname == STORE:
            assert "Authorization" not in self.headers, "a token was sent to another host"
            name, commit, file = path[1:].split("::")
            return self.send_file(self.hub.revision(name, commit)[0] / file, file)
        match = RESOLVE.fullmatch(url.path) or API.fullmatch(url.path)
        if match is None:
            return self.refuse(404, "", "no such page")
        name = unquote(match[1])
        if not (self.hub.folder / name).is_dir():
            return self.refuse(401, "RepoNotFound", "Invalid username or password.")
        # Everybody sees which files a gated data set has.
        is_file = match.re is RESOLVE
        if is_file and name in self.hub.gated and self.headers.get("Authorization") != f"Bearer {TOKEN}":
            return self.refuse(401, "GatedRepo", f"Access to dataset {name} is restricted.")
        if is_file and name in self.hub.refused:
            return self.refuse(self.hub.refused[name], "GatedRepo", f"Access to dataset {name} is restricted.")
        if not is_file and match[2] == "refs":
            branches = [path.name.partition("@")[2] or "main" for path in self.hub.branches(name)]
            refs = [{"name": branch, "ref": f"refs/heads/{branch}", "targetCommit": "0"} for branch in branches]
            return self.send_json({"branches": refs, "tags": [], "converts": []})
        revision = unquote(match[2] if is_file else match[3] or "main")
        if (found := self.hub.revision(name, revision)) is None:
            return self.refuse(404, "RevisionNotFound", f"Invalid rev id: {revision}")
        folder, commit = found
        if is_file:
            return self.resolve(name, folder, commit, unquote(match[3]))
        if match[2] == "tree":
            recursive = parse_qs(url.query).get("recursive") == ["true"]
            return self.answer_tree(folder, unquote(match[4] or ""), recursive)
        if match[2] == "paths-info":
            return self.send_json([entry(folder, folder / path) for path in form["paths"] if (folder / path).exists()])
        siblings = [{"rfilename": file.relative_to(folder).as_posix()} for file in files_of(folder)]
        about = {"id": name, "sha": commit, "private": False, "gated": False, "disabled": False, "tags": []}
        return self.send_json({**about, "downloads": 0, "likes": 0, "siblings": siblings})

    def answer_viewer(self, name):
        if name not in self.hub.features:
            return self.refuse(404, "ResponseNotFound", "Not found.")
        infos = {"default": {"features": self.hub.features[name]}}
        about = {"dataset_info": infos, "partial": False, "pending": [], "failed": []}
        return self.send_json(about, {"X-Revision": self.hub.revision(name, "main")[1]})

    def answer_tree(self, folder, inner, recursive):
        if not (folder / inner).is_dir():
            return self.refuse(404, "EntryNotFound", f"{inner} does not exist")
        paths = (folder / inner).rglob("*") if recursive else (folder / inner).iterdir()
        return self.send_json([entry(folder, path) for path in sorted(paths)])

    def resolve(self, name, folder, commit, file):
        path = folder / file
        about = {"X-Repo-Commit": commit}
        if not path.is_file():
            return self.refuse(404, "EntryNotFound", "Entry not found", about)
        about["ETag"] = f'"{hashlib.sha256(path.read_bytes()).hexdigest()}"'
        if path.suffix not in LARGE:
            return self.send_file(path, file, about)
        linked = {"X-Linked-ETag": about["ETag"], "X-Linked-Size": str(path.stat().st_size)}
        location = f"http://{STORE}/{quote(f'{name}::{commit}::{file}')}"
        return self.reply(302, b"", {**about, **linked, "Location": location})

    def send_file(self, path, file, about=()):
        content, status, headers = path.read_bytes(), 200, {**dict(about), "Accept-Ranges": "bytes"}
        if match := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            first, last = int(match[1]), min(int(match[2] or len(content)), len(content) - 1)
            if first > last:
                return self.refuse(416, "", "no such range", {"Content-Range": f"bytes */{len(content)}"})
            headers["Content-Range"] = f"bytes {first}-{last}/{len(content)}"
            content, status = content[first : last + 1], 206
        whole = len(content)
        if self.command == "GET" and file in self.hub.cut:
            content, self.close_connection = content[: self.hub.cut[file]], True
        self.hub.sent[file] += len(content) if self.command == "GET" else 0
        return self.reply(status, content, {**headers, "Content-Length": str(whole)})

    def send_json(self, value, headers=()):
        return self.reply(200, json.dumps(value).encode(), {**dict(headers), "Content-Type": "application/json"})

    def refuse(self, status, code, message, headers=()):
        about = {"X-Error-Code": code, "X-Error-Message": message}
        return self.reply(status, json.dumps({"error": message}).encode(), {**dict(headers), **about})

    def reply(self, status, body, headers):
        self.send_response(status)
        for name, value in {"Content-Length": str(len(body)), **headers}.items():
            self.send_header(name, value)
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(body)


def entry(folder, path):
    """Describe a file or folder as the list of a repository does."""
    about = {"path": path.relative_to(folder).as_posix(), "oid": hashlib.sha1(str(path).encode()).hexdigest()}
    if path.is_dir():
        return {**about, "type": "directory", "size": 0}
    about |= {"type": "file", "size": path.stat().st_size}
    if path.suffix in LARGE:
        oid = hashlib.sha256(path.read_bytes()).hexdigest()
        about["lfs"] = {"oid": oid, "size": path.stat().st_size, "pointerSize": 130}
    return about
