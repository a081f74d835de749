"""The command `serve`: embeddings in the format of OpenAI's API, and an index to search and change, over HTTP.

A body has at most 4 MiB and 2,048 texts. A request with a key that its path does not know is refused, so that a
misspelled filter never returns rows that it should hide. Every error is a JSON object in OpenAI's format.
"""

from __future__ import annotations

import base64
import json
import math
import os
import socket
import socketserver
from collections import Counter
from collections.abc import Callable, Collection, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from hmac import compare_digest
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Event, Lock, Thread
from time import perf_counter
from typing import Any
from urllib.parse import unquote, urlsplit

import numpy as np

from ..artefacts.hub_models import BUILTIN
from ..artefacts.provenance import read_provenance
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import InputError, UsageError, choice_of
from ..messages import log
from ..settings import recipe, setting
from ..text.normalization import is_blank
from ..tokenization.fast_tokenize import list_of_texts
from ..training.devices import DeviceSettings
from .index import SearchIndex

HOST = "127.0.0.1"
API_KEY = "HF_PARAPHRASE_API_KEY"
MAX_BODY = 4 << 20
MAX_TEXTS, MAX_NEIGHBOURS = 2048, 1000
_MOST_DISCARDED = 256 << 20
_SECONDS_TO_FINISH = 30
_PROMPTS = ("prompt_name", "prompt")
Json = dict[str, Any]


@dataclass(kw_only=True)
class ServeSettings(DeviceSettings):
    """Answer requests over HTTP: /v1/embeddings and /v1/models as in OpenAI's API, /search and /health.

    With --writable an index can be changed: /add and /remove. With the environment variable HF_PARAPHRASE_API_KEY set,
    every request but /health needs this key as its bearer token. Without it, serve this machine only.
    """

    model: str | None = setting(
        "the sentence encoder; by default that of the --index, else builtin, which is installed with this package",
        None,
        path=True,
    )
    index: str | None = setting("an index folder made by search, for /search", None, path=True)
    host: str = setting("the address to listen on; 0.0.0.0 also accepts requests from other machines", HOST)
    port: int = setting("the port; 0 chooses a free one", 8000, at_least=0, at_most=65_535)
    writable: bool = setting("accept /add and /remove, which change the index", False, only_with="index")
    allowed_host: list[str] = setting(
        "names by which browsers and clients may address the server, besides localhost and --host; * accepts all", []
    )


class RequestError(UsageError):
    """A request that cannot be answered, with another status code than 400."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Service:
    """Answers requests: bodies in, answers out, whatever transport brings them.

    Args:
        encoder: The encoder of `/v1/embeddings`.
        name: The name of the encoder in answers.
        index: The index of `/search`; it is read again when another process has changed it.
        writable: Whether `/add` and `/remove` are allowed.
        api_key: The bearer token that requests need; None for no token.
        allowed_hosts: Accepted values of the header `Host`, without the port; None for all.
    """

    def __init__(
        self,
        encoder: SentenceEncoder,
        name: str,
        index: SearchIndex | None = None,
        *,
        writable: bool = False,
        api_key: str | None = None,
        allowed_hosts: Collection[str] | None = None,
    ) -> None:
        self._encoder, self._name, self._index, self._writable = encoder, name, index, writable
        self.api_key, self.allowed_hosts = api_key, allowed_hosts
        self._counts: Counter[tuple[str, int]] = Counter()
        self._seconds: dict[str, float] = {}
        # Neither tokenizers nor networks are made for calls from several threads.
        self._lock = Lock()

    def count(self, path: str, status: int, seconds: float) -> None:
        """Counts an answered request for `/metrics`."""
        with self._lock:
            self._counts[path, status] += 1
            self._seconds[path] = self._seconds.get(path, 0.0) + seconds

    def metrics(self, body: Json) -> str:
        """Returns the numbers of requests and the seconds they took in the text format of Prometheus."""
        lines = ["# TYPE hf_paraphrase_requests_total counter"]
        lines += [
            f'hf_paraphrase_requests_total{{path="{path}",status="{status}"}} {count}'
            for (path, status), count in sorted(self._counts.items())
        ]
        lines.append("# TYPE hf_paraphrase_request_seconds_total counter")
        lines += [
            f'hf_paraphrase_request_seconds_total{{path="{path}"}} {seconds:.6f}'
            for path, seconds in sorted(self._seconds.items())
        ]
        return "\n".join(lines) + "\n"

    def health(self, body: Json) -> Json:
        """Returns what is served."""
        sentences = None if self._index is None else len(self._index)
        return {"status": "ok", "model": self._name, "dimension": self._encoder.dimension, "sentences": sentences}

    def models(self, body: Json) -> Json:
        """Lists the one model."""
        return {"object": "list", "data": [self.model(self._name)]}

    def model(self, name: str) -> Json:
        """Describes a model by its name."""
        self._check_model(name)
        return {"id": self._name, "object": "model", "created": 0, "owned_by": "hf_paraphrase"}

    def _check_model(self, name: Any) -> None:
        if name not in (None, self._name):
            raise RequestError(HTTPStatus.NOT_FOUND, f"there is no model {name!r}, but {self._name}")

    def embeddings(self, body: Json) -> Json:
        """Embed `input` to vectors of length 1, the first `dimensions` components of them; blank texts to zeros.

        `input_type` is `query` or `document`, for encoders that embed them differently; `prompt_name` or `prompt` is
        put before each text.
        """
        _check_keys(body, "input", "model", "dimensions", "encoding_format", "user", "input_type", *_PROMPTS)
        texts = _texts(body, "input")
        self._check_model(body.get("model"))
        dimensions = _count(body, "dimensions", self._encoder.dimension, self._encoder.dimension)
        if (encoding := body.get("encoding_format") or "float") not in ("float", "base64"):
            raise UsageError(f"encoding_format is {encoding!r}, not float or base64")
        if (task := body.get("input_type")) not in (None, "query", "document"):
            raise UsageError(f"input_type is {task!r}, not query or document")
        encoder = self._encoder if task is None else self._encoder.for_task(task)
        with self._lock:
            prompt = encoder.choose_prompt(**_prompts(body))
            ids = encoder.token_ids(texts, prompt)
            vectors = encoder.encode(texts, prompt=prompt, truncate_dim=dimensions, normalize_embeddings=True)
        vectors[[is_blank(text) for text in texts]] = 0.0
        if not np.isfinite(vectors).all():
            raise RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, "the encoder gave vectors with NaN or infinity")
        embeddings = (
            vector.tolist() if encoding == "float" else base64.b64encode(vector.astype("<f4").tobytes()).decode()
            for vector in vectors
        )
        data = [{"object": "embedding", "index": row, "embedding": item} for row, item in enumerate(embeddings)]
        usage = {"prompt_tokens": len(ids.ids), "total_tokens": len(ids.ids)}
        return {"object": "list", "data": data, "model": self._name, "usage": usage}

    def search(self, body: Json) -> Json:
        """Finds the `top_k` neighbours of each `query`, as `hf-paraphrase search` does."""
        index = self._opened_index()
        _check_keys(body, "query", "top_k", "filter", "hybrid", "snippets", *_PROMPTS)
        queries, k = _texts(body, "query"), _count(body, "top_k", 10, MAX_NEIGHBOURS)
        filters = _strings(body, "filter")
        options = {name: body.get(name, False) for name in ("hybrid", "snippets")}
        for name, value in options.items():
            if not isinstance(value, bool):
                raise UsageError(f"{name} must be true or false")
        prompts = _prompts(body)
        with self._lock:
            index.refresh()
            prompt = index.encoder.choose_prompt(**prompts) if prompts else None
            found = [
                [neighbor.record() for neighbor in each]
                for each in index.search(queries, k, filters=filters, prompt=prompt, **options)
            ]
        pairs = zip(queries, found, strict=True)
        return {"results": [{"query": query, "neighbours": neighbors} for query, neighbors in pairs]}

    def add(self, body: Json) -> Json:
        """Adds `sentences` to the index, perhaps with `ids` and other `columns`; rows of these ids are replaced."""
        _check_keys(body, "sentences", "ids", "columns", "unique")
        index, sentences = self._opened_index(to_change=True), _texts(body, "sentences")
        ids, columns, unique = body.get("ids"), body.get("columns") or {}, body.get("unique", False)
        lists = [*([] if ids is None else [ids]), *(columns.values() if isinstance(columns, dict) else [None])]
        if not all(isinstance(values, list) for values in lists) or not isinstance(unique, bool):
            raise UsageError("ids must be a list, columns an object of lists, and unique true or false")
        with self._lock:
            try:
                added = index.add(sentences, ids=ids, columns=columns, unique=unique)
            except InputError as error:  # columns of other types than those of the index
                raise UsageError(str(error)) from error
            return {"added": added, "replaced": index.num_replaced, "sentences": len(index)}

    def remove(self, body: Json) -> Json:
        """Removes rows by `sentences`, by `ids` and by `filter`, as far as they are given."""
        _check_keys(body, "sentences", "ids", "filter")
        index, filters, ids = self._opened_index(to_change=True), _strings(body, "filter"), body.get("ids") or []
        sentences = _texts(body, "sentences") if "sentences" in body else []
        if not isinstance(ids, list) or not (sentences or ids or filters):
            raise UsageError("give sentences, ids (a list) or filter")
        with self._lock:
            return {"removed": index.remove(sentences, ids=ids, filters=filters), "sentences": len(index)}

    def _opened_index(self, *, to_change: bool = False) -> SearchIndex:
        if self._index is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "there is no index: start the server with --index")
        if to_change and not self._writable:
            raise RequestError(HTTPStatus.FORBIDDEN, "the index is read only: start the server with --writable")
        return self._index


def _check_keys(body: Json, *names: str) -> None:
    """Refuses keys that a request does not have: an ignored filter would return what it should hide."""
    if unknown := [name for name in body if name not in names]:
        raise UsageError(f"unknown key {unknown[0]!r}: {choice_of(unknown[0], names)}")


def _strings(body: Json, name: str) -> list[str]:
    values = body.get(name) or []
    values = [values] if isinstance(values, str) else values
    if not isinstance(values, list) or not all(isinstance(value, str) for value in values):
        raise UsageError(f"{name} must be a text such as year>=2020, or a list of such texts")
    return values


def _prompts(body: Json) -> dict[str, str]:
    """Return the arguments of `SentenceEncoder.choose_prompt`; a name that the encoder lacks is refused there."""
    given = {name: body[name] for name in _PROMPTS if body.get(name) is not None}
    if len(given) == 2 or not all(isinstance(value, str) for value in given.values()):
        raise UsageError("give prompt_name or prompt, a text")
    return {"name" if name == "prompt_name" else name: value for name, value in given.items()}


def _texts(body: Json, name: str) -> list[str]:
    value = body.get(name)
    if value == [] or not isinstance(value, str | list):
        raise UsageError(f"{name} must be a text or a list of texts, and not empty")
    if isinstance(value, list) and len(value) > MAX_TEXTS:
        raise UsageError(f"{name} has {len(value):,} texts, more than {MAX_TEXTS:,}")
    if isinstance(value, list) and isinstance(value[0], int | list):
        what = f"{name} has token ids, which another tokenizer made: send texts"
        raise UsageError(f"{what} (LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))")
    try:
        return list_of_texts(value)
    except TypeError as error:
        raise UsageError(f"{name}: {error}") from error


def _count(body: Json, name: str, default: int, most: int) -> int:
    value = body.get(name)
    value = default if value is None else value
    if not isinstance(value, int) or isinstance(value, bool) or not 1 <= value <= most:
        raise UsageError(f"{name} is {value!r}, not a whole number from 1 to {most:,}")
    return value


class Server(ThreadingHTTPServer):
    """Listens at a port; each connection has a thread."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: Service, host: str, port: int) -> None:
        self.service = service
        self.routes: dict[str, tuple[str, Callable[[Json], Json | str]]] = {
            "/health": ("GET", service.health),
            "/v1/models": ("GET", service.models),
            "/v1/embeddings": ("POST", service.embeddings),
            "/search": ("POST", service.search),
            "/add": ("POST", service.add),
            "/remove": ("POST", service.remove),
            "/metrics": ("GET", service.metrics),
        }
        self.closing = False
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._requests, self._changed = 0, Condition()
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Binds the port, without asking the network for the name of this machine."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Counts a request while it is answered."""
        with self._changed:
            self._requests += 1
        try:
            yield
        finally:
            with self._changed:
                self._requests -= 1
                self._changed.notify_all()

    def finish(self) -> None:
        """Closes the port and waits for the requests that are being answered."""
        self.closing = True
        self.shutdown()
        self.server_close()
        with self._changed:
            self._changed.wait_for(lambda: self._requests == 0, _SECONDS_TO_FINISH)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Does nothing: the client is gone, and errors of the service are answered with a status."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = default_request_version = "HTTP/1.1"
    server_version, sys_version = "hf-paraphrase", ""
    timeout = 60
    disable_nagle_algorithm = True
    _started = 0.0

    def do_GET(self) -> None:
        self._started = perf_counter()
        with self.server.answering():
            try:
                self._send(HTTPStatus.OK, self._answer(self._body()))
            except UsageError as error:
                self.send_error(getattr(error, "status", HTTPStatus.BAD_REQUEST), str(error))
            except OSError:
                self.close_connection = True  # the client has gone, or sends nothing
            except Exception as error:
                log(f"{self.path}: {type(error).__name__}: {error}")
                self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, "an error of the server, which is in its log")

    do_POST = do_PUT = do_DELETE = do_PATCH = do_GET

    def _check_headers(self, path: str) -> None:
        """Refuses another Host, which a web page could use to reach this server, and a missing key."""
        service = self.server.service
        host = urlsplit(f"//{self.headers.get('Host', '')}").hostname or ""
        if host and service.allowed_hosts is not None and host not in service.allowed_hosts:
            raise RequestError(HTTPStatus.FORBIDDEN, f"the Host {host[:80]!r} is not allowed: see --allowed-host")
        if service.api_key is not None and path != "/health":
            given = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if not compare_digest(given.encode("utf-8", "replace"), service.api_key.encode()):
                raise RequestError(HTTPStatus.UNAUTHORIZED, "a wrong API key, or none: send Authorization: Bearer KEY")

    def _answer(self, data: bytes) -> Json | str:
        path = self.path.partition("?")[0]
        self._check_headers(path)
        if path.startswith("/v1/models/") and self.command == "GET":
            return self.server.service.model(unquote(path.removeprefix("/v1/models/")))
        if path not in self.server.routes:
            raise RequestError(HTTPStatus.NOT_FOUND, f"no such path; there are {', '.join(self.server.routes)}")
        method, answer = self.server.routes[path]
        if self.command != method:
            raise RequestError(HTTPStatus.METHOD_NOT_ALLOWED, f"{path} takes {method}, not {self.command}")
        try:
            body = json.loads(data) if method == "POST" else {}
        except (ValueError, RecursionError) as error:
            raise UsageError(f"the body is not JSON: {error}") from error
        if not isinstance(body, dict):
            raise UsageError("the body is not a JSON object")
        return answer(body)

    def _body(self) -> bytes:
        text = self.headers.get("Content-Length", "0")
        if "Transfer-Encoding" in self.headers or not (text.isascii() and text.isdigit()) or len(text) > 18:
            self._discard(_MOST_DISCARDED if "Transfer-Encoding" in self.headers else 0, end=b"0\r\n\r\n")
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "send the body with its Content-Length, in bytes")
        if (size := int(text)) > MAX_BODY:
            self._discard(size if size <= _MOST_DISCARDED else 0)
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body of more than {MAX_BODY >> 20} MiB")
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionError("the body ends early")
        return data

    def _discard(self, size: int, end: bytes | None = None) -> None:
        """Reads the rest of a request: one that is still sending would not see the answer."""
        last = b""
        while size > 0 and last != end and (data := self.rfile.read1(min(size, 1 << 16))):
            size -= len(data)
            last = (last + data)[-len(end or b"-") :]

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answers with a status and says why; what the client sends after that is not read."""
        self.close_connection = True
        kind = "server_error" if code >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        problem = {"message": message or HTTPStatus(code).phrase, "type": kind, "param": None, "code": None}
        self._send(code, {"error": problem})

    def _send(self, status: int, answer: Json | str) -> None:
        text, is_text = answer if isinstance(answer, str) else dump_json(answer), isinstance(answer, str)
        data = text.encode("utf-8", "backslashreplace")
        path = self.path.partition("?")[0] if hasattr(self, "path") else ""
        known = path if path in self.server.routes else "other"
        self.server.service.count(known, int(status), perf_counter() - self._started)
        self.close_connection |= self.server.closing
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4" if is_text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data if self.command != "HEAD" else b"")

    def log_message(self, format: str, *values: Any) -> None:
        """Logs no requests: their texts may be private, and a proxy counts them."""


def dump_json(value: Any) -> str:
    """Writes JSON in which NaN and infinity, which JSON lacks, are null, and dates are text."""
    try:
        return json.dumps(value, ensure_ascii=False, default=str, allow_nan=False)
    except ValueError:
        return json.dumps(_finite(value), ensure_ascii=False, default=str)


def _finite(value: Any) -> Any:
    if isinstance(value, dict):
        return {name: _finite(each) for name, each in value.items()}
    if isinstance(value, list):
        return [_finite(each) for each in value]
    return None if isinstance(value, float) and not math.isfinite(value) else value


@contextmanager
def running(service: Service, host: str = HOST, port: int = 0) -> Iterator[str]:
    """Answers requests while the block runs, which is given the URL."""
    try:
        server = Server(service, host, port)
    except (OSError, OverflowError) as error:
        reason = getattr(error, "strerror", None) or error
        raise UsageError(f"cannot listen on {host}:{port}: {reason}", remedy="give another --port, or 0") from error
    Thread(target=server.serve_forever, args=(0.1,), daemon=True).start()
    try:
        yield f"http://{f'[{host}]' if ':' in host else host}:{server.server_port}"
    finally:
        server.finish()


@recipe(ServeSettings)
def serve(settings: ServeSettings) -> None:
    """Answers requests over HTTP until it is interrupted."""
    with running(_service(settings), settings.host, settings.port) as url:
        with suppress(KeyboardInterrupt):
            log(f"listening on {url} (stop with Ctrl-C)")
            Event().wait()
        log("stopping: requests in progress are answered")


def _service(settings: ServeSettings) -> Service:
    index, name = None, settings.model or BUILTIN
    if settings.index is not None:
        index = SearchIndex(settings.index, settings.model, device=settings.device)
        name = settings.model or str(read_provenance(index.folder)["results"].get("encoder") or "encoder")
    encoder = SentenceEncoder.from_pretrained(name, device=settings.device) if index is None else index.encoder
    hosts = None
    if "*" not in settings.allowed_host and settings.host not in ("0.0.0.0", "::"):  # noqa: S104
        hosts = {"localhost", "127.0.0.1", "::1", settings.host, *settings.allowed_host}
    elif settings.allowed_host and "*" not in settings.allowed_host:
        hosts = {"localhost", "127.0.0.1", "::1", *settings.allowed_host}
    return Service(
        encoder,
        Path(name).resolve().name if Path(name).exists() else name,
        index,
        writable=settings.writable,
        api_key=os.environ.get(API_KEY) or None,
        allowed_hosts=hosts,
    )
