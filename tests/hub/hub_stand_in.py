"""A small Hub on the loopback interface: repositories, branches, commits, large files, and failures on demand.

It speaks what huggingface_hub asks for when it publishes and downloads (with HF_HUB_DISABLE_XET=1), keeps all in
memory, and records every request.
"""

from __future__ import annotations

import base64
import fnmatch
import hashlib
import json
import re
import threading
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from urllib.parse import parse_qs, unquote, urlsplit

TOKEN = "hf_" + "Kx7Qp2Lm9Rt4Vw8Zb3Nc6Yd1Fg5Hj0Sa2u"
READ_ONLY = "hf_" + "Readonly0Readonly1Readonly2Readonl"
USER = "ann"


def blob_name(data):
    return hashlib.sha1(b"blob %d\0" % len(data) + data).hexdigest()


@dataclass
class Repository:
    private: bool = False
    sdk: str | None = None
    branches: dict = field(default_factory=dict)  # name -> commit
    commits: dict = field(default_factory=dict)  # commit -> {"files": {path: (data, is_large)}, "message": text}

    def commit(self, branch, files, message):
        oid = hashlib.sha1(f"{id(self)} {len(self.commits)}".encode()).hexdigest()
        self.commits[oid] = {"files": dict(files), "message": message}
        self.branches[branch] = oid
        return oid

    def at(self, revision):
        """The commit that a branch or a commit's name stands for, or None."""
        return self.branches.get(revision, revision if revision in self.commits else None)


class HubStandIn:
    """The server's state.

    Attributes:
        answers: (method, pattern of a path) -> list of (status, headers, body); each answers one matching request.
    """

    def __init__(self):
        self.repositories = {}
        self.large = {}  # sha256 -> content
        self.requests = []  # (method, path, bytes of the body that arrived)
        self.answers = {}
        self.lock = threading.RLock()
        self.server = ThreadingHTTPServer(("127.0.0.1", 0), type("Bound", (Handler,), {"hub": self}))
        self.server.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.server.server_address[1]}"
        threading.Thread(target=self.server.serve_forever, kwargs={"poll_interval": 0.02}, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()

    def repository(self, repo_id, kind="model"):
        return self.repositories[kind, repo_id]

    def files(self, repo_id, kind="model", branch="main"):
        """What a branch holds: name -> content."""
        repository = self.repository(repo_id, kind)
        found = repository.commits[repository.branches[branch]]["files"]
        return {path: data for path, (data, _) in found.items() if path != ".gitattributes"}

    def make(self, repo_id, kind="model", *, private=False, files=None):
        """Makes a repository, as the Hub does with a first commit."""
        repository = Repository(private=private)
        first = {".gitattributes": (b"*.parquet filter=lfs\n", False)}
        for path, data in (files or {}).items():
            first[path] = (data, is_large(path, len(data)))
        repository.commit("main", first, "initial commit")
        self.repositories[kind, repo_id] = repository
        return repository

    def sent(self, method, pattern):
        """The paths of recorded requests of a method whose path matches."""
        return [path for verb, path, _ in self.requests if verb == method and fnmatch.fnmatch(path, pattern)]

    def uploads(self):
        """The SHA-256 of each large file, once for each upload of it."""
        return [path.split("/")[2] for path in self.sent("PUT", "/storage/*")]


def content_name(data, large):
    return hashlib.sha256(data).hexdigest() if large else blob_name(data)


def is_large(path, size):
    return path.endswith((".safetensors", ".parquet")) or size > 10_000_000


class Handler(BaseHTTPRequestHandler):
    hub: HubStandIn
    protocol_version = "HTTP/1.1"

    def log_message(self, *args):
        pass

    def answer(self, status, value=None, headers=None):
        data = value if isinstance(value, bytes) else json.dumps(value if value is not None else {}).encode()
        self.send_response(status)
        for key, text in {"Content-Type": "application/json", **(headers or {})}.items():
            self.send_header(key, text)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        if self.command != "HEAD":
            self.wfile.write(data)

    def fail(self, status, code=None, text=None):
        headers = {} if code is None else {"X-Error-Code": code}
        if text is not None:
            headers["X-Error-Message"] = text
        self.answer(status, {"error": text or code or str(status)}, headers)

    def read_body(self):
        if "chunked" in self.headers.get("Transfer-Encoding", ""):
            parts = []
            while size := int(self.rfile.readline(), 16):
                parts.append(self.rfile.read(size))
                self.rfile.readline()
            self.rfile.readline()
            return b"".join(parts)
        return self.rfile.read(int(self.headers.get("Content-Length") or 0))

    def user(self):
        """The rights of the token: "write", "read", "" without one, None for an unknown one."""
        token = self.headers.get("Authorization", "").removeprefix("Bearer ")
        return {TOKEN: "write", READ_ONLY: "read", "": ""}.get(token)

    def route(self):
        split = urlsplit(self.path)
        self.place, self.query = unquote(split.path), parse_qs(split.query)
        try:
            body = self.read_body()
            with self.hub.lock:
                self.hub.requests.append((self.command, self.place, len(body)))
                for (method, pattern), waiting in self.hub.answers.items():
                    if waiting and method == self.command and fnmatch.fnmatch(self.place, pattern):
                        status, headers, value = waiting.pop(0)
                        self.answer(status, value, headers)
                        return
                self.serve(body)
        except (ConnectionError, ValueError):
            self.close_connection = True

    do_GET = do_HEAD = do_POST = do_PUT = route

    def serve(self, body):
        if self.place.startswith("/storage/"):
            self.store(body)
        elif self.user() is None:
            self.fail(401, None, "Invalid credentials in Authorization header")
        elif self.place == "/api/repos/create":
            self.create(json.loads(body))
        elif self.place == "/api/validate-yaml":
            self.answer(200, {"errors": [], "warnings": []})
        elif found := re.fullmatch(r"/api/(model|dataset|space)s/([^/]+/[^/]+)(?:/(.*))?", self.place):
            self.repository_api(found[1], found[2], (found[3] or "").rstrip("/"), body)
        elif found := re.fullmatch(r"/(?:(dataset|space)s/)?([^/]+/[^/]+)\.git/info/lfs/objects/batch", self.place):
            self.batch(json.loads(body))
        elif found := re.fullmatch(r"/(?:(dataset|space)s/)?([^/]+/[^/]+)/resolve/([^/]+)/(.+)", self.place):
            self.resolve(found[1] or "model", found[2], found[3], found[4])
        else:
            self.fail(404, "EntryNotFound")

    def create(self, wish):
        namespace = wish.get("organization") or USER
        kind, repo_id = wish.get("type") or "model", f"{namespace}/{wish['name']}"
        prefix = "" if kind == "model" else f"{kind}s/"
        url = f"{self.hub.url}/{prefix}{repo_id}"
        if self.user() == "":
            self.fail(401, None, "Invalid username or password.")
        elif self.user() != "write" or namespace != USER:
            self.fail(403, None, f"You don't have the rights to create a {kind} under the namespace {namespace}")
        elif (kind, repo_id) in self.hub.repositories:
            self.answer(409, {"error": "You already created this repo", "url": url})
        else:
            private = wish.get("visibility") == "private" or bool(wish.get("private"))
            self.hub.make(repo_id, kind, private=private).sdk = wish.get("sdk")
            self.answer(200, {"url": url})

    def repository_api(self, kind, repo_id, rest, body):
        repository = self.hub.repositories.get((kind, repo_id))
        if repository is None or (repository.private and not self.user()):
            self.fail(404 if self.user() else 401, "RepoNotFound", "Repository not found")
            return
        action, _, rest = rest.partition("/")
        if self.command == "POST" and action != "paths-info" and self.user() != "write":
            self.fail(403, None, "you need write access")
            return
        if action == "branch":
            taken = rest in repository.branches
            if not taken:
                repository.branches[rest] = repository.branches["main"]
            self.answer(409 if taken else 200, {"error": "exists"} if taken else None)
            return
        revision, _, path = rest.partition("/")
        if rest.startswith("refs/"):
            revision, path = rest, ""
        commit = repository.at(revision or "main")
        if commit is None:
            self.fail(404, "RevisionNotFound", f"Invalid rev id: {revision}")
            return
        files = repository.commits[commit]["files"]
        if action in {"", "revision"}:
            self.answer(
                200,
                {
                    "id": repo_id,
                    "sha": commit,
                    "private": repository.private,
                    "disabled": False,
                    "gated": False,
                    "downloads": 0,
                    "likes": 0,
                    "tags": [],
                    "siblings": [{"rfilename": name} for name in files],
                },
            )
        elif action == "tree":
            self.answer(200, self.tree(files, path, self.query.get("recursive", ["false"])[0].lower() == "true"))
        elif action == "paths-info":
            wished = parse_qs(body.decode()).get("paths", []) if body[:1] != b"{" else json.loads(body)["paths"]
            self.answer(200, [entry for entry in self.tree(files, "", True) if entry["path"] in wished])
        elif action == "preupload":
            found = []
            for file in json.loads(body)["files"]:
                large = is_large(file["path"], file["size"])
                item = {"path": file["path"], "uploadMode": "lfs" if large else "regular", "shouldIgnore": False}
                if file["path"] in files:
                    item["oid"] = content_name(*files[file["path"]])
                found.append(item)
            self.answer(200, {"files": found})
        elif action == "commit":
            self.commit(repository, repo_id, revision, commit, body)
        else:
            self.fail(404, "EntryNotFound")

    def tree(self, files, path, recursive):
        prefix = f"{path}/" if path else ""
        entries, folders = [], set()
        for name, (data, large) in sorted(files.items()):
            if not name.startswith(prefix):
                continue
            inner = name[len(prefix) :].split("/")
            folders.update(prefix + "/".join(inner[:depth]) for depth in range(1, len(inner)))
            if len(inner) > 1 and not recursive:
                continue
            entry = {"type": "file", "path": name, "size": len(data), "oid": blob_name(data)}
            if large:
                entry["lfs"] = {"oid": hashlib.sha256(data).hexdigest(), "size": len(data), "pointerSize": 130}
                entry["oid"] = blob_name(entry["lfs"]["oid"].encode())
            entries.append(entry)
        for name in sorted(folders):
            if recursive or "/" not in name[len(prefix) :]:
                entries.append({"type": "directory", "path": name, "size": 0, "oid": blob_name(name.encode())})
        return entries

    def batch(self, wish):
        objects = []
        for item in wish["objects"]:
            found = {"oid": item["oid"], "size": item["size"]}
            if item["oid"] not in self.hub.large:
                address = f"{self.hub.url}/storage/{item['oid']}?X-Amz-Signature=secret"
                found["actions"] = {"upload": {"href": address, "header": {}}}
            objects.append(found)
        self.answer(200, {"transfer": "basic", "objects": objects})

    def store(self, data):
        self.hub.large[hashlib.sha256(data).hexdigest()] = data
        self.answer(200, None, {"ETag": f'"{hashlib.md5(data).hexdigest()}"'})

    def commit(self, repository, repo_id, branch, parent, body):
        files, message = dict(repository.commits[parent]["files"]), ""
        for line in body.splitlines():
            item = json.loads(line)
            value = item["value"]
            if item["key"] == "header":
                message = value["summary"]
                if value.get("parentCommit", parent) != parent:
                    self.fail(412, None, "A commit has happened since. Please refresh and try again.")
                    return
            elif item["key"] == "file":
                files[value["path"]] = (base64.b64decode(value["content"]), False)
            elif item["key"] == "lfsFile":
                if value["oid"] not in self.hub.large:
                    self.fail(400, None, f"LFS pointer pointed to a file that does not exist: {value['path']}")
                    return
                files[value["path"]] = (self.hub.large[value["oid"]], True)
            elif item["key"] == "deletedFile":
                del files[value["path"]]
        oid = repository.commit(branch, files, message)
        self.answer(200, {"commitUrl": f"{self.hub.url}/{repo_id}/commit/{oid}", "commitOid": oid})

    def resolve(self, kind, repo_id, revision, path):
        repository = self.hub.repositories.get((kind, repo_id))
        if repository is None or (repository.private and not self.user()):
            self.fail(404 if self.user() else 401, "RepoNotFound", "Repository not found")
            return
        commit = repository.at(revision)
        if commit is None:
            self.fail(404, "RevisionNotFound")
            return
        if path not in repository.commits[commit]["files"]:
            self.fail(404, "EntryNotFound")
            return
        data, large = repository.commits[commit]["files"][path]
        name = content_name(data, large)
        headers = {"X-Repo-Commit": commit, "ETag": f'"{name}"', "Content-Type": "application/octet-stream"}
        headers["Accept-Ranges"] = "bytes"
        if found := re.fullmatch(r"bytes=(\d+)-(\d*)", self.headers.get("Range", "")):
            start, end = int(found[1]), min(int(found[2] or len(data) - 1), len(data) - 1)
            headers["Content-Range"] = f"bytes {start}-{end}/{len(data)}"
            self.answer(206, data[start : end + 1], headers)
        else:
            self.answer(200, data, headers)
