"""The command `serve`: embeddings in the format of OpenAI's API, and an index to search and change, over HTTP.

A body has at most 4 MiB and 2,048 texts. A request with a key that its path does not know is refused, so that a
misspelled filter never returns rows that it should hide. Every error is a JSON object in OpenAI's format.
"""

from __future__ import annotations

import base64
import json
import os
import socket
import socketserver
from collections import Counter, defaultdict
from collections.abc import Callable, Collection, Iterator
from contextlib import ExitStack, contextmanager, suppress
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

from ..artefacts.files import dump_json
from ..artefacts.hub_models import BUILTIN
from ..artefacts.provenance import read_provenance
from ..encoders.sentence_encoder import SentenceEncoder
from ..errors import InputError, UsageError
from ..messages import log
from ..settings import recipe, setting
from ..text.normalization import is_blank
from ..tokenization.ragged_ids import TokenIds
from ..training.devices import DeviceSettings
from ..vectors.similarity import unit_rows
from .index import SearchIndex
from .request_batches import RequestEncoder
from .request_body import MAX_TEXTS, Json, list_texts, read_count, read_keys
from .token_arrays import ArrayReader, list_token_arrays, open_array_reader

HOST = "127.0.0.1"
API_KEY = "HF_PARAPHRASE_API_KEY"
MAX_BODY = 4 << 20
MAX_NEIGHBOURS = 1000
_MAX_DISCARDED = 256 << 20
_SECONDS_TO_FINISH = 30


@dataclass(kw_only=True)
class ServeSettings(DeviceSettings):
    """Answer requests over HTTP: /v1/embeddings and /v1/models as in OpenAI's API, /search and /health.

    With --writable an index can be changed: /add and /remove. With the environment variable HF_PARAPHRASE_API_KEY set,
    every request but /health needs this key as its bearer token. Without it, serve this machine only.
    """

    model: str | None = setting(
        "the sentence encoder; by default the encoder of the --index, or builtin without an index",
        None,
        path=True,
    )
    index: str | None = setting("an index folder made by search, for /search", None, path=True)
    host: str = setting("the address to listen on; 0.0.0.0 also accepts requests from other machines", HOST)
    port: int = setting("the port; 0 chooses a free one", 8000, at_least=0, at_most=65_535)
    token_arrays: str | None = setting(
        "accept token ids as input of /v1/embeddings, as LangChain's OpenAIEmbeddings sends them: model = ids of the "
        "encoder's own tokenizer, or the name of the clients' encoding of tiktoken, e.g. cl100k_base",
        None,
    )
    writable: bool = setting("accept /add and /remove, which change the index", False, only_with="index")
    allowed_host: list[str] = setting(
        "host names that requests and the web pages that send them may use, in addition to localhost and --host; * "
        "accepts all names in requests",
        [],
    )


class RequestError(UsageError):
    """A request that is answered with another status code than 400."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


class Service:
    """Answers requests: the body of a request comes in, the answer goes out.

    Args:
        encoder: The encoder of `/v1/embeddings`.
        name: The name of the encoder in answers.
        index: The index of `/search`; it is read again when another process has changed it.
        writable: Whether `/add` and `/remove` are allowed.
        api_key: The bearer token that requests need; None for no token.
        allowed_hosts: Accepted hosts of the headers `Host` and `Origin`, without the port; with `*` or None, all are
            accepted in `Host`.
        array_reader: Reads token ids as input of `/v1/embeddings`; None refuses them.
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
        array_reader: ArrayReader | None = None,
    ) -> None:
        self._encoder, self._name, self._index, self._writable = encoder, name, index, writable
        self.api_key, self.allowed_hosts, self._array_reader = api_key, allowed_hosts, array_reader
        self._counts: Counter[tuple[str, int]] = Counter()
        self._seconds: defaultdict[str, float] = defaultdict(float)
        self._counts_lock = Lock()
        # Neither tokenizers nor networks are made for calls from several threads.
        self._lock = Lock()
        self._requests = RequestEncoder(encoder, self._lock)
        self.routes: dict[str, tuple[str, Callable[[Json], Json | str]]] = {
            "/health": ("GET", self.health),
            "/v1/models": ("GET", self.models),
            "/v1/embeddings": ("POST", self.embeddings),
            "/search": ("POST", self.search),
            "/add": ("POST", self.add),
            "/remove": ("POST", self.remove),
            "/metrics": ("GET", self.metrics),
        }

    def count(self, path: str, status: int, seconds: float) -> None:
        """Count an answered request for `/metrics`."""
        path = path if path in self.routes else "other"
        with self._counts_lock:
            self._counts[path, status] += 1
            self._seconds[path] += seconds

    def metrics(self, body: Json) -> str:
        """Return the numbers of requests and their durations in the text format of Prometheus."""
        requests, seconds = "hf_paraphrase_requests_total", "hf_paraphrase_request_seconds_total"
        with self._counts_lock:
            counts, durations = sorted(self._counts.items()), sorted(self._seconds.items())
        lines = [f"# TYPE {requests} counter"]
        for (path, status), count in counts:
            lines.append(f'{requests}{{path="{path}",status="{status}"}} {count}')
        lines.append(f"# TYPE {seconds} counter")
        lines += [f'{seconds}{{path="{path}"}} {total:.6f}' for path, total in durations]
        return "\n".join(lines) + "\n"

    def health(self, body: Json) -> Json:
        """Return the name of the model and the size of the index."""
        sentences = None if self._index is None else len(self._index)
        return {"status": "ok", "model": self._name, "dimension": self._encoder.dimension, "sentences": sentences}

    def models(self, body: Json) -> Json:
        """List the model."""
        return {"object": "list", "data": [self.model(self._name)]}

    def model(self, name: Any) -> Json:
        """Describe a model by its name."""
        if name not in (None, self._name):
            raise RequestError(HTTPStatus.NOT_FOUND, f"there is no model {name!r}, but {self._name}")
        return {"id": self._name, "object": "model", "created": 0, "owned_by": "hf_paraphrase"}

    def embeddings(self, body: Json) -> Json:
        """Embed `input` to vectors of length 1, the first `dimensions` components of them; blank texts to zeros.

        `input_type` is `query` or `document`, for encoders that embed them differently; `prompt_name` or `prompt` is
        put before each text.
        """
        keys = ("model", "dimensions", "encoding_format", "user", "input_type", "prompt_name", "prompt")
        given = read_keys(body, "input", *keys)
        self.model(given["model"])
        texts, task, size = self._read_input(given["input"]), given["input_type"], self._encoder.dimension
        dimensions = read_count("dimensions", given["dimensions"], size, size)
        if given["encoding_format"] not in (None, "float", "base64"):
            raise UsageError(f"encoding_format is {given['encoding_format']!r}, not float or base64")
        if task not in (None, "query", "document"):
            raise UsageError(f"input_type is {task!r}, not query or document")
        encoder = self._encoder if task is None else self._encoder.for_task(task)
        prompt = encoder.choose_prompt(given["prompt"], given["prompt_name"])
        if isinstance(texts, TokenIds):
            if prompt:
                raise UsageError("a prompt cannot be put before token ids: send texts")
            with self._lock:
                vectors = unit_rows(encoder.encode_token_ids(texts)[:, :dimensions])
            num_tokens = len(texts.ids)
        else:
            vectors, num_tokens = self._requests.encode(texts, task=task, prompt=prompt, truncate_dim=dimensions)
            vectors[[is_blank(text) for text in texts]] = 0.0
        if not np.isfinite(vectors).all():
            raise RequestError(HTTPStatus.INTERNAL_SERVER_ERROR, "the encoder gave vectors with NaN or infinity")
        embeddings: list[Any] = vectors.tolist()
        if given["encoding_format"] == "base64":
            embeddings = [base64.b64encode(vector.astype("<f4").tobytes()).decode() for vector in vectors]
        data = [{"object": "embedding", "index": row, "embedding": each} for row, each in enumerate(embeddings)]
        usage = {"prompt_tokens": num_tokens, "total_tokens": num_tokens}
        return {"object": "list", "data": data, "model": self._name, "usage": usage}

    def _read_input(self, value: Any) -> TokenIds | list[str]:
        if (arrays := list_token_arrays(value)) is None:
            return list_texts("input", value)
        if self._array_reader is None:
            what = "input has token ids: send texts (LangChain: OpenAIEmbeddings(check_embedding_ctx_length=False))"
            raise UsageError(f"{what}, or start the server with --token-arrays")
        if len(arrays) > MAX_TEXTS:
            raise UsageError(f"input has {len(arrays):,} arrays, more than {MAX_TEXTS:,}")
        return self._array_reader(arrays)

    def search(self, body: Json) -> Json:
        """Find the `top_k` neighbours of each `query`, like `hf-paraphrase search`."""
        index = self._opened_index()
        options = read_keys(body, "query", "top_k", "filter", "hybrid", "snippets", "prompt_name", "prompt")
        queries, filters = options.pop("query"), options.pop("filter") or ()
        k = read_count("top_k", options.pop("top_k"), 10, MAX_NEIGHBOURS)
        with self._lock:
            index.refresh()
            hits = list(index.search(queries, k, filters=filters, **options))
        return {
            "results": [
                {"query": query, "neighbours": [neighbor.record() for neighbor in neighbors]}
                for query, neighbors in zip(queries, hits, strict=True)
            ]
        }

    def add(self, body: Json) -> Json:
        """Add `sentences` to the index, perhaps with `ids` and other `columns`; rows of these ids are replaced."""
        index = self._opened_index(to_change=True)
        given = read_keys(body, "sentences", "ids", "columns", "unique")
        sentences = list_texts("sentences", given.pop("sentences"))
        if not all(isinstance(values, list) for values in (given["columns"] or {}).values()):
            raise UsageError("columns must be an object of lists")
        with self._changing():
            added = index.add(sentences, **given)
            return {"added": added, "replaced": index.num_replaced, "sentences": len(index)}

    def remove(self, body: Json) -> Json:
        """Remove rows by the given `sentences`, `ids` and `filter`."""
        index = self._opened_index(to_change=True)
        given = {name: value or [] for name, value in read_keys(body, "sentences", "ids", "filter").items()}
        if not any(given.values()):
            raise UsageError("give sentences, ids (a list) or filter")
        with self._changing():
            removed = index.remove(given["sentences"], ids=given["ids"], filters=given["filter"])
            return {"removed": removed, "sentences": len(index)}

    @contextmanager
    def _changing(self) -> Iterator[None]:
        """Hold the lock, and report input that the index refuses, such as columns of other types, as a bad request."""
        with self._lock:
            try:
                yield
            except InputError as error:
                raise UsageError(error.message, remedy=error.remedy) from error

    def _opened_index(self, *, to_change: bool = False) -> SearchIndex:
        if self._index is None:
            raise RequestError(HTTPStatus.NOT_FOUND, "there is no index: start the server with --index")
        if to_change and not self._writable:
            raise RequestError(HTTPStatus.FORBIDDEN, "the index is read only: start the server with --writable")
        return self._index


class Server(ThreadingHTTPServer):
    """Listens at a port; each connection has a thread."""

    daemon_threads = True
    request_queue_size = 128

    def __init__(self, service: Service, host: str, port: int) -> None:
        self.service = service
        self.closing = False
        self.address_family = socket.AF_INET6 if ":" in host else socket.AF_INET
        self._requests, self._changed = 0, Condition()
        super().__init__((host, port), _Handler)

    def server_bind(self) -> None:
        """Bind the port without looking up the name of this machine in the network."""
        socketserver.TCPServer.server_bind(self)
        self.server_name, self.server_port = self.server_address[:2]  # type: ignore[assignment]

    @contextmanager
    def answering(self) -> Iterator[None]:
        """Count a request while it is answered."""
        with self._changed:
            self._requests += 1
        try:
            yield
        finally:
            with self._changed:
                self._requests -= 1
                self._changed.notify_all()

    def finish(self) -> None:
        """Close the port and wait for the requests in progress."""
        self.closing = True
        self.shutdown()
        self.server_close()
        with self._changed:
            self._changed.wait_for(lambda: self._requests == 0, _SECONDS_TO_FINISH)

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Do nothing: the client is gone, and errors of the service are answered with a status."""


class _Handler(BaseHTTPRequestHandler):
    server: Server
    protocol_version = default_request_version = "HTTP/1.1"
    server_version, sys_version = "hf-paraphrase", ""
    timeout = 60
    disable_nagle_algorithm = True
    _started, _is_allowed_page = 0.0, False

    def handle_one_request(self) -> None:
        """Answer the next request of the connection."""
        with ExitStack() as self._request:
            super().handle_one_request()

    def parse_request(self) -> bool:
        """Count the request from its first line on: after `100 Continue` the client sends the body."""
        self._request.enter_context(self.server.answering())
        return super().parse_request()

    def do_GET(self) -> None:
        self._started, self._is_allowed_page = perf_counter(), False
        try:
            self._send(HTTPStatus.OK, self._answer(self._body()))
        except UsageError as error:
            self.send_error(getattr(error, "status", HTTPStatus.BAD_REQUEST), str(error))
        except OSError:
            self.close_connection = True  # the client has gone, or sends nothing
        except Exception as error:
            log(f"{self.path}: {type(error).__name__}: {error}")
            self.send_error(HTTPStatus.INTERNAL_SERVER_ERROR, "an error of the server, which is in its log")

    do_POST = do_PUT = do_DELETE = do_PATCH = do_OPTIONS = do_GET

    def _check_headers(self, path: str) -> None:
        """Refuse a missing key, an unlisted `Host` (DNS rebinding), and requests of web pages of unlisted hosts."""
        service = self.server.service
        host = _read_host(f"//{self.headers.get('Host', '')}")
        if host and service.allowed_hosts is not None and not {host, "*"} & {*service.allowed_hosts}:
            raise RequestError(HTTPStatus.FORBIDDEN, f"the Host {host[:80]!r} is not allowed: see --allowed-host")
        # Browsers send requests of any page, and only hide the answers: a page could remove rows.
        origin = self.headers.get("Origin")
        if origin is not None and _read_host(origin) not in {host, *(service.allowed_hosts or ())} - {"", "*"}:
            raise RequestError(HTTPStatus.FORBIDDEN, f"the Origin {origin[:80]!r} is not allowed: see --allowed-host")
        self._is_allowed_page = origin is not None
        # A browser asks for permission without the key.
        if service.api_key is not None and path != "/health" and self.command != "OPTIONS":
            given = self.headers.get("Authorization", "").removeprefix("Bearer ")
            if not compare_digest(given.encode("utf-8", "replace"), service.api_key.encode()):
                raise RequestError(HTTPStatus.UNAUTHORIZED, "a wrong API key, or none: send Authorization: Bearer KEY")

    def _answer(self, data: bytes) -> Json | str:
        path = self.path.partition("?")[0]
        self._check_headers(path)
        if self.command == "OPTIONS":
            return {}
        if path.startswith("/v1/models/") and self.command == "GET":
            return self.server.service.model(unquote(path.removeprefix("/v1/models/")))
        routes = self.server.service.routes
        if path not in routes:
            raise RequestError(HTTPStatus.NOT_FOUND, f"no such path; there are {', '.join(routes)}")
        method, answer = routes[path]
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
            self._discard(_MAX_DISCARDED if "Transfer-Encoding" in self.headers else 0, end=b"0\r\n\r\n")
            raise RequestError(HTTPStatus.LENGTH_REQUIRED, "send the body with its Content-Length, in bytes")
        if (size := int(text)) > MAX_BODY:
            self._discard(size if size <= _MAX_DISCARDED else 0)
            raise RequestError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, f"a body of more than {MAX_BODY >> 20} MiB")
        data = self.rfile.read(size)
        if len(data) < size:
            raise ConnectionError("the body ends early")
        return data

    def _discard(self, size: int, end: bytes | None = None) -> None:
        """Read the rest of a request, because a client that is still sending would not see the answer."""
        last = b""
        while size > 0 and last != end and (data := self.rfile.read1(min(size, 1 << 16))):
            size -= len(data)
            last = (last + data)[-len(end or b"-") :]

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Answer with a status and a reason, and close the connection."""
        self.close_connection = True
        kind = "server_error" if code >= HTTPStatus.INTERNAL_SERVER_ERROR else "invalid_request_error"
        problem = {"message": message or HTTPStatus(code).phrase, "type": kind, "param": None, "code": None}
        self._send(code, {"error": problem})

    def _send(self, status: int, answer: Json | str) -> None:
        text, is_text = answer if isinstance(answer, str) else dump_json(answer), isinstance(answer, str)
        data = text.encode("utf-8", "backslashreplace")
        path = getattr(self, "path", "").partition("?")[0]
        self.server.service.count(path, int(status), perf_counter() - self._started)
        self.close_connection |= self.server.closing
        self.send_response(status)
        self.send_header("Content-Type", "text/plain; version=0.0.4" if is_text else "application/json")
        self.send_header("Content-Length", str(len(data)))
        if self._is_allowed_page:
            headers = " ".join(self.headers.get("Access-Control-Request-Headers", "").split())
            self.send_header("Access-Control-Allow-Origin", "*")
            self.send_header("Access-Control-Allow-Headers", headers)
        if self.close_connection:
            self.send_header("Connection", "close")
        self.end_headers()
        self.wfile.write(data if self.command != "HEAD" else b"")

    def log_message(self, format: str, *values: Any) -> None:
        """Log no requests: their texts may be private."""


def _read_host(url: str) -> str:
    """Return the host of a URL; a URL that is none, such as the origin `null`, is no host that is allowed."""
    try:
        return urlsplit(url).hostname or url.removeprefix("//")
    except ValueError:
        return url


@contextmanager
def running(service: Service, host: str = HOST, port: int = 0) -> Iterator[str]:
    """Answer requests while the block runs, and yield the URL."""
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
    """Answer requests over HTTP until the process is interrupted."""
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
    is_public = settings.host in ("0.0.0.0", "::") and not settings.allowed_host  # noqa: S104
    names = [settings.host, *settings.allowed_host, *(["*"] if is_public else [])]
    hosts = {"localhost", "127.0.0.1", "::1", *(_read_host(name).lower() for name in names)}
    return Service(
        encoder,
        Path(name).resolve().name if Path(name).exists() else name,
        index,
        writable=settings.writable,
        api_key=os.environ.get(API_KEY) or None,
        allowed_hosts=hosts,
        array_reader=open_array_reader(settings.token_arrays, encoder) if settings.token_arrays else None,
    )
