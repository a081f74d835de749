"""The recipe of the verb `serve`: embeddings in the format of OpenAI's API and search, by the standard library's HTTP.

A body is at most 4 MiB and has at most 2,048 texts. Every error is a JSON object in OpenAI's format.
"""

from __future__ import annotations

import base64
import json
import socketserver
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from http import HTTPStatus
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from threading import Condition, Event, Lock, Thread
from typing import Any

import numpy as np

from ..artefacts.hub_models import BUILTIN
from ..artefacts.provenance import read_provenance
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import UsageError
from ..messages import log
from ..settings import recipe, setting
from ..tokenization.fast_tokenize import list_of_texts
from ..training.devices import DeviceSettings
from ..vectors.similarity import unit_rows
from .index import SearchIndex

HOST = "127.0.0.1"
MAX_BODY = 4 << 20
MAX_TEXTS, MAX_NEIGHBOURS = 2048, 1000
_MOST_DISCARDED = 256 << 20
_SECONDS_TO_FINISH = 30
Json = dict[str, Any]


@dataclass(kw_only=True)
class ServeSettings(DeviceSettings):
    """Answer requests over HTTP: /v1/embeddings and /v1/models as OpenAI's API does, /search and /health.

    Requests are not authenticated: to serve other machines, put a proxy that authenticates them in front of it.
    """

    model: str | None = setting(
        "the sentence encoder; by default that of the --index, else builtin, which is installed with this package",
        None,
        path=True,
    )
    index: str | None = setting("an index folder made by search, for /search", None, path=True)
    host: str = setting("the address to listen on; 0.0.0.0 also accepts requests from other machines", HOST)
    port: int = setting("the port; 0 chooses a free one", 8000, at_least=0, at_most=65_535)


class RequestError(UsageError):
    """A request that cannot be answered, with another status code than 400."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Service:
    """What is answered to requests, whatever brings them: bodies in, answers out."""

    def __init__(self, encoder: SentenceEncoder, name: str, index: SearchIndex | None = None) -> None:
        self._encoder, self._name, self._index = encoder, name, index
        # Neither tokenizers nor networks are made for calls of several threads.
        self._lock = Lock()

    def health(self, body: Json) -> Json:
        """Says what is served."""
        sentences = None if self._index is None else len(self._index)
        return {"status": "ok", "model": self._name, "dimension": self._encoder.dimension, "sentences": sentences}

    def models(self, body: Json) -> Json:
        """Lists the one model."""
        model = {"id": self._name, "object": "model", "created": 0, "owned_by": "hf_paraphrase"}
        return {"object": "list", "data": [model]}

    def embeddings(self, body: Json) -> Json:
        """Embeds `input` to vectors of length 1, the first `dimensions` components of them."""
        texts = _texts(body, "input")
        if body.get("model") not in (None, self._name):
            raise RequestError(HTTPStatus.NOT_FOUND, f"there is no model {body['model']!r}, but {self._name}")
        dimensions = _count(body, "dimensions", self._encoder.dimension, self._encoder.dimension)
        if (encoding := body.get("encoding_format") or "float") not in ("float", "base64"):
            raise UsageError(f"encoding_format is {encoding!r}, not float or base64")
        with self._lock:
            ids = self._encoder.token_ids(texts)
            vectors = unit_rows(self._encoder.encode_token_ids(ids)[:, :dimensions])
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
        if self._index is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "there is no index: start the server with --index")
        queries, k = _texts(body, "query"), _count(body, "top_k", 10, MAX_NEIGHBOURS)
        filters = body.get("filter") or []
        filters = [filters] if isinstance(filters, str) else filters
        if not isinstance(filters, list) or not all(isinstance(item, str) for item in filters):
            raise UsageError("filter must be a text such as year>=2020, or a list of such texts")
        options = {name: body.get(name, False) for name in ("hybrid", "snippets")}
        for name, value in options.items():
            if not isinstance(value, bool):
                raise UsageError(f"{name} must be true or false")
        with self._lock:
            found = list(self._index.search(queries, k, filters=filters, **options))
        neighbours = [[item.record() for item in items] for items in found]
        pairs = zip(queries, neighbours, strict=True)
        return {"results": [{"query": query, "neighbours": items} for query, items in pairs]}


def _texts(body: Json, name: str) -> list[str]:
    value = body.get(name)
    if not value or not isinstance(value, str | list):
        raise UsageError(f"{name} must be a text or a list of texts, and not empty")
    if isinstance(value, list) and len(value) > MAX_TEXTS:
        raise UsageError(f"{name} has {len(value):,} texts, more than {MAX_TEXTS:,}")
    try:
        texts = list_of_texts(value)
    except TypeError as error:
        raise UsageError(f"{name}: {error}") from error
    if (empty := next((place for place, text in enumerate(texts) if not text.strip()), None)) is not None:
        raise UsageError(f"{name}: text {empty} (from 0) is empty")
    return texts


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
        self.routes: dict[str, tuple[str, Callable[[Json], Json]]] = {
            "/health": ("GET", service.health),
            "/v1/models": ("GET", service.models),
            "/v1/embeddings": ("POST", service.embeddings),
            "/search": ("POST", service.search),
        }
        self.closing = False
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
        """Does nothing: the client has gone, and what goes wrong here is answered with a status."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = default_request_version = "HTTP/1.1"
    server_version, sys_version = "hf-paraphrase", ""
    timeout = 60
    disable_nagle_algorithm = True

    def do_GET(self) -> None:
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

    def _answer(self, data: bytes) -> Json:
        path = self.path.partition("?")[0]
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
        """Reads what a client sends, to its end: one that is still sending would not see the answer."""
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

    def _send(self, status: int, answer: Json) -> None:
        data = json.dumps(answer, ensure_ascii=False, default=str).encode()
        self.close_connection |= self.server.closing
        self.send_response(status)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data if self.command != "HEAD" else b"")

    def log_message(self, format: str, *values: Any) -> None:
        """Logs no requests: their texts may be private, and a proxy counts them."""


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
        yield f"http://{host}:{server.server_port}"
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
    return Service(encoder, Path(name).resolve().name if Path(name).exists() else name, index)
