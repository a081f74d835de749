from __future__ import annotations

import base64
import json
import re
import signal
import socket
import subprocess
import sys
import time
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from threading import Event
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa
import pytest
from tiny_encoders import write_average

import hf_paraphrase
from hf_paraphrase.artefacts.provenance import write_provenance
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.searching.index import SearchIndex, build_index
from hf_paraphrase.searching.request_body import MAX_TEXTS
from hf_paraphrase.searching.server import MAX_BODY, ServeSettings, Service, _service, running

WORDS = [f"w{number}" for number in range(30)]
CORPUS = pa.table(
    {"sentence": ["w1 w2", "w2 w3", "w4 w5 w6", "w7"], "year": [2019, 2020, 2021, None], "by": ["a", "b", "a", "a"]}
)


@pytest.fixture(scope="module")
def index(encoder, tmp_path_factory):
    folder = tmp_path_factory.mktemp("index")
    build_index(encoder, [CORPUS], folder)
    return SearchIndex(folder, encoder)


@pytest.fixture(scope="module")
def url(encoder, index):
    with running(Service(encoder, "tiny", index)) as url:
        yield url


def connect(url):
    return HTTPConnection(urlsplit(url).netloc, timeout=60)


def refuse_constant(name):
    raise AssertionError(f"{name} is not JSON")


def ask(url, path, body=None, connection=None, **headers):
    """The status and the answer to one request; the body is JSON, or bytes as they are."""
    connection = connection or connect(url)
    data = body if body is None or isinstance(body, bytes) else json.dumps(body)
    connection.request("GET" if body is None else "POST", path, data, {"Authorization": "Bearer key", **headers})
    answer = connection.getresponse()
    assert answer.headers["Content-Type"] == "application/json"
    return answer.status, json.loads(answer.read(), parse_constant=refuse_constant)


# ----- answers


def test_embeddings_are_the_encoders_in_openais_format(url, encoder):
    texts = ["w1 w2", "w3", "w29 w1 w1"]
    expected = encoder.encode(texts, normalize=True)
    for body, rows in (({"input": texts, "model": "tiny"}, expected), ({"input": texts[1]}, expected[1:2])):
        status, answer = ask(url, "/v1/embeddings", body)
        assert status == 200 and answer["object"] == "list" and answer["model"] == "tiny"
        assert [(item["object"], item["index"]) for item in answer["data"]] == [
            ("embedding", number) for number in range(len(rows))
        ]
        np.testing.assert_allclose([item["embedding"] for item in answer["data"]], rows, atol=1e-6)
    tokens = len(encoder.token_ids(texts[1]).ids)
    assert answer["usage"] == {"prompt_tokens": tokens, "total_tokens": tokens}
    body = {"input": "w4 w5", "dimensions": 3, "encoding_format": "base64"}
    packed = ask(url, "/v1/embeddings", body)[1]["data"][0]["embedding"]
    expected = encoder.encode("w4 w5", truncate_dim=3, normalize=True)
    np.testing.assert_allclose(np.frombuffer(base64.b64decode(packed), "<f4"), expected, atol=1e-6)
    assert ask(url, "/health")[1] == {"status": "ok", "model": "tiny", "dimension": 8, "sentences": 4}
    assert [model["id"] for model in ask(url, "/v1/models")[1]["data"]] == ["tiny"]


def test_a_blank_text_has_the_zero_vector_and_no_neighbours(url, encoder):
    for blank in (" ", "", "\u200b"):
        vectors = [item["embedding"] for item in ask(url, "/v1/embeddings", {"input": ["w1", blank]})[1]["data"]]
        np.testing.assert_allclose(vectors[0], encoder.encode("w1", normalize=True), atol=1e-6)
        assert not np.any(vectors[1])
        results = ask(url, "/search", {"query": ["w1", blank], "hybrid": True})[1]["results"]
        assert results[0]["neighbours"] and results[1]["neighbours"] == []


def test_search_gives_what_the_index_gives(url, index):
    query = "w1 w2 w7"
    both = ["by=a", "year<2021"]
    for options, body in (
        ({"k": 2}, {"query": query, "top_k": 2}),
        ({"filters": ["year>=2020"]}, {"query": [query], "filter": "year>=2020"}),
        ({"filters": both, "hybrid": True}, {"query": query, "filter": both, "hybrid": True}),
    ):
        status, answer = ask(url, "/search", body)
        expected = [item.record() for item in next(index.search(query, **options))]
        assert status == 200 and answer == {"results": [{"query": query, "neighbours": expected}]} and expected
    assert expected[0]["columns"] == {"year": 2019, "by": "a"}


def test_the_client_of_openai_gets_the_vectors(url, encoder):
    openai = pytest.importorskip("openai", reason="pip install openai")
    client = openai.OpenAI(base_url=f"{url}/v1", api_key="none")
    expected = encoder.encode(["w1", "w2 w3"], normalize=True)
    for options in ({}, {"encoding_format": "float"}):
        answer = client.embeddings.create(model="tiny", input=["w1", "w2 w3"], **options)
        np.testing.assert_allclose([item.embedding for item in answer.data], expected, atol=1e-6)
    assert [model.id for model in client.models.list()] == ["tiny"]
    with pytest.raises(openai.NotFoundError, match="there is no model 'other'"):
        client.embeddings.create(model="other", input="w1")
    with pytest.raises(openai.BadRequestError, match="must be a text"):
        client.embeddings.create(model="tiny", input=[])


# ----- load


def test_a_thousand_requests_of_eight_threads_are_all_answered_each_with_its_own_vector(url, encoder):
    texts = [f"w{number % 30} w{number % 7}" for number in range(1000)]
    expected = encoder.encode(texts, normalize=True)

    def of_one_thread(numbers):
        connection, found = connect(url), []
        for number in numbers:
            begin = time.perf_counter()
            status, answer = ask(url, "/v1/embeddings", {"input": texts[number]}, connection=connection)
            found.append((number, status, answer["data"][0]["embedding"], time.perf_counter() - begin))
        return found

    with ThreadPoolExecutor(8) as pool:
        parts = list(pool.map(of_one_thread, [range(start, 1000, 8) for start in range(8)]))
    answers = sorted(answer for part in parts for answer in part)
    assert [(number, status) for number, status, _, _ in answers] == [(number, 200) for number in range(1000)]
    np.testing.assert_allclose([vector for _, _, vector, _ in answers], expected, atol=1e-6)
    slowest = np.percentile([1000 * seconds for *_, seconds in answers], 99)
    print(f"\n1,000 requests from 8 threads: p99 {slowest:.1f} ms")  # noqa: T201 - `pytest -s` shows it


# ----- bad input


@pytest.mark.parametrize(
    ("path", "body", "status", "message"),
    [
        ("/v1/embeddings", {"input": "w1", "prompt": "\ud800"}, 400, "prompt"),
        ("/v1/embeddings", {"input": ["w1", 7]}, 400, "7 .int., not a string"),
        ("/v1/embeddings", {"input": ["w1"] * (MAX_TEXTS + 1)}, 400, "2,049 texts, more than 2,048"),
        ("/v1/embeddings", {"input": "w1", "dimensions": 9}, 400, "dimensions is 9, not a whole number from 1 to 8"),
        ("/v1/embeddings", {"input": "w1", "model": ["tiny"]}, 404, "there is no model"),
        ("/v1/embeddings", b"[" * 100_000, 400, "not JSON"),
        ("/v1/embeddings", None, 405, "takes POST"),
        ("/search", {"query": "w1", "top_k": 0}, 400, "top_k is 0"),
        ("/search", {"query": "w1", "filter": "year"}, 400, "not a filter"),
        ("/search", {"query": "w1", "hybrid": "yes"}, 400, "hybrid is 'yes', not true or false"),
    ],
)
def test_a_request_that_cannot_be_answered_is_told_so_in_json(url, path, body, status, message):
    connection = connect(url)
    found, answer = ask(url, path, body, connection=connection)
    assert found == status
    assert re.search(message, answer["error"]["message"])
    assert answer["error"]["type"] == "invalid_request_error"
    assert ask(url, "/health", connection=connection)[0] == 200


def test_a_body_of_100_megabytes_is_refused_and_others_are_served(url):
    size = 100_000_000
    assert size > MAX_BODY
    status, answer = ask(url, "/v1/embeddings", b"x" * size)
    assert status == 413 and "more than 4 MiB" in answer["error"]["message"]
    connection = connect(url)
    connection.request("POST", "/search", (b"x" * 1_000_000 for _ in range(100)), encode_chunked=True)
    assert connection.getresponse().status == 411
    assert ask(url, "/health")[0] == 200


@pytest.mark.parametrize(
    ("head", "status"),
    [
        (b"POST /search HTTP/1.1\r\nTransfer-Encoding: chunked\r\n\r\n0\r\n\r\n", 411),
        (b"no request at all\r\n\r\n", 400),
    ],
)
def test_what_is_no_proper_request_is_answered_and_the_connection_closed(url, head, status):
    parts = urlsplit(url)
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        connection.sendall(head)
        answer = connection.makefile("rb").read()
    first, _, body = answer.partition(b"\r\n\r\n")
    assert f" {status} ".encode() in first.splitlines()[0] and b"Connection: close" in first
    assert json.loads(body)["error"]["message"]


def test_a_client_that_leaves_early_disturbs_nobody(url, capfd):
    parts = urlsplit(url)
    for data in (b"", b"POST /search HTTP/1.1\r\nContent-Length: 50\r\n\r\n{", b"GET /hea"):
        with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
            connection.sendall(data)
    assert ask(url, "/health")[0] == 200 and capfd.readouterr().err == ""


def test_vectors_with_nan_are_an_error_of_the_server(encoder, monkeypatch):
    monkeypatch.setattr(encoder, "encode", lambda *_, **options: np.full((1, 8), np.nan, np.float32))
    with running(Service(encoder, "tiny")) as url:
        status, answer = ask(url, "/v1/embeddings", {"input": "w1"})
        assert status == 500 and "NaN" in answer["error"]["message"] and answer["error"]["type"] == "server_error"
        assert ask(url, "/search", {"query": "w1"})[0] == 404


def test_the_state_of_the_server_is_answered_while_it_encodes(encoder, monkeypatch):
    service, encode, is_encoding, may_end = Service(encoder, "tiny"), encoder.encode, Event(), Event()

    def wait(texts, **options):
        is_encoding.set()
        assert may_end.wait(60)
        return encode(texts, **options)

    monkeypatch.setattr(encoder, "encode", wait)
    with running(service) as url, ThreadPoolExecutor(1) as pool:
        embedding = pool.submit(ask, url, "/v1/embeddings", {"input": "w1"})
        assert is_encoding.wait(60)
        try:
            assert [ask(url, path)[0] for path in ("/health", "/v1/models")] == [200] * 2
            connection = connect(url)
            connection.request("GET", "/metrics")
            assert b'path="/health",status="200"' in connection.getresponse().read()
            assert ask(url, "/v1/embeddings", {"input": 1})[0] == 400 and not embedding.done()
        finally:
            may_end.set()
        assert embedding.result()[0] == 200


def test_two_servers_on_one_port_and_an_index_of_another_encoder_are_one_line(index, tmp_path):
    with socket.socket() as taken:
        taken.bind(("127.0.0.1", 0))
        taken.listen()
        port = taken.getsockname()[1]
        with pytest.raises(hf_paraphrase.UsageError, match=f"cannot listen on 127.0.0.1:{port}: Address already"):
            hf_paraphrase.serve(port=port)
    with pytest.raises(hf_paraphrase.UsageError, match=r"cannot listen on 192\.0\.2\.1:0"):
        hf_paraphrase.serve(port=0, host="192.0.2.1")
    other = write_average(tmp_path, WORDS, seed=1, hidden_size=8)
    with pytest.raises(hf_paraphrase.ModelError, match="other vectors than those in the index"):
        hf_paraphrase.serve(model=other, index=index.folder, port=0)


@pytest.fixture
def server():
    words = [sys.executable, "-m", "hf_paraphrase", "serve", "--port", "0"]
    with subprocess.Popen(words, stderr=subprocess.PIPE, text=True) as process:
        yield process
        process.kill()


def test_an_interrupted_server_answers_what_it_has_begun_and_ends_well(server):
    parts = urlsplit(server.stderr.readline().split()[2])
    body = json.dumps({"input": "A doctor bought a car."}).encode()
    with socket.create_connection((parts.hostname, parts.port), timeout=30) as connection:
        answer = connection.makefile("rb")
        head = f"POST /v1/embeddings HTTP/1.1\r\nContent-Length: {len(body)}\r\nExpect: 100-continue\r\n\r\n"
        connection.sendall(head.encode())
        assert b" 100 " in answer.readline()
        server.send_signal(signal.SIGTERM)
        assert "stopping" in server.stderr.readline()
        connection.sendall(body)
        assert b"HTTP/1.1 200 OK" in answer.read()
    assert server.wait(60) == 0 and server.stderr.read() == ""


# ----- what a request may contain, and who may send it


@pytest.fixture
def writable(encoder, tmp_path):
    table = pa.table({"sentence": ["w1 w2", "w3 w4"], "id": ["a", "b"], "share": [0.5, float("nan")]})
    (tmp_path / "index").mkdir()
    build_index(encoder, [table], tmp_path / "index")
    write_provenance(tmp_path / "index", command="search", settings={})
    index = SearchIndex(tmp_path / "index", encoder)
    service = Service(index.encoder, "tiny", index, writable=True, api_key="key", allowed_hosts={"127.0.0.1"})
    with running(service) as url:
        yield url, index


def test_prompts_of_queries_and_documents_are_followed(encoder, tmp_path):
    prompts = {"query": "w1 ", "document": "w2 ", "mine": "w3 w4 "}
    prompted = SentenceEncoder.from_pretrained(encoder.folder, prompts=prompts)
    build_index(prompted, [CORPUS], tmp_path)
    index = SearchIndex(tmp_path, prompted)
    cases = (
        ({}, "w7"),
        ({"input_type": "query"}, "w1 w7"),
        ({"input_type": "document"}, "w2 w7"),
        ({"prompt_name": "mine"}, "w3 w4 w7"),
        ({"prompt": "w9 ", "input_type": "query"}, "w9 w7"),
    )
    with running(Service(prompted, "tiny", index)) as url:
        for options, text in cases:
            answer = ask(url, "/v1/embeddings", {"input": "w7", **options})[1]
            expected = encoder.encode(text, normalize_embeddings=True)
            np.testing.assert_allclose(answer["data"][0]["embedding"], expected, atol=1e-6)
            assert answer["usage"]["prompt_tokens"] == len(text.split())
        scores = {}
        for options, text in (({}, "w1 w7"), ({"prompt_name": "mine"}, "w3 w4 w7"), ({"prompt": ""}, "w7")):
            best = ask(url, "/search", {"query": "w7", "top_k": 1, **options})[1]["results"][0]["neighbours"][0]
            scores[text] = best["score"]
            expected = encoder.similarity(text, ["w2 " + sentence for sentence in CORPUS["sentence"].to_pylist()])
            assert best["score"] == pytest.approx(expected.max(), abs=1e-5)
    assert len({*scores.values()}) == 3


@pytest.mark.parametrize(
    ("path", "body", "message"),
    [
        ("/search", {"query": "w1", "filters": "id=a"}, "unknown key 'filters': did you mean filter?"),
        ("/v1/embeddings", {"input": "w1", "dimension": 2}, "did you mean dimensions?"),
        ("/v1/embeddings", {"input": [[1, 2], [3]]}, "check_embedding_ctx_length=False"),
        ("/v1/embeddings", {"input": [1, 2]}, "or start the server with --token-arrays"),
        ("/v1/embeddings", {"input": ["w1", [1, 2]]}, "input: "),
        ("/search", {"query": [1, 2]}, "query: "),
        ("/search", {"query": []}, "a text or a list of texts, and not empty"),
        ("/search", {"query": "w1", "filter": "id='a"}, "without its closing '"),
        ("/search", {"query": "w1", "filter": "(" * 100_000}, "a filter of 100,000 characters"),
        ("/search", {"query": "w1", "filter": ""}, "not a filter: ''"),
        ("/search", {"query": "w1", "filter": False}, "filter must be a text or a list of texts"),
        ("/remove", {"filter": {}, "ids": ["a"]}, "filter must be a text or a list of texts"),
        ("/add", {"sentences": ["w1"], "ids": "a"}, "ids is 'a', not a list"),
        ("/add", {"sentences": ["w1"], "columns": {"sentence": ["w2"]}}, "the index reserves the column sentence"),
        ("/add", {"sentences": ["w1", "w2"], "columns": {"n": [1, "x"]}}, "values of a column differ in type"),
        ("/add", {"sentences": ["w1"], "ids": [{"a": 1}]}, "types of the columns are not those of the index: id"),
        ("/add", {"sentences": ["w1"], "ids": [10**30]}, "exceed 64 bits"),
        ("/remove", {}, "give sentences, ids"),
        ("/remove", {"filter": "position>0"}, "nothing would be left"),
        ("/search", {"query": "w1", "prompt_name": "quer"}, "prompt_name `quer` is unknown"),
        ("/add", {"sentences": ["w1"], "columns": {"n": "x"}}, "columns must be an object of lists"),
        ("/add", {}, "sentences must be a text or a list of texts"),
        ("/v1/embeddings", {"input": "w1", "prompt": ["w2"]}, "prompt is ['w2'], not a text"),
        ("/search", {"query": "w1", "prompt": "w2", "prompt_name": "mine"}, "give prompt_name or prompt, not both"),
        ("/v1/embeddings", {"input": "w1", "input_type": "passage"}, "input_type is 'passage', not query or document"),
    ],
)
def test_what_a_request_does_not_have_is_refused(writable, path, body, message):
    status, answer = ask(writable[0], path, body)
    assert status == 400 and message in answer["error"]["message"]


def test_an_index_is_changed_over_http_and_an_index_that_grew_is_read_again(writable):
    url, index = writable
    body = {"sentences": ["w5", "w6"], "ids": ["a", "c"]}
    assert ask(url, "/add", body) == (200, {"added": 2, "replaced": 1, "sentences": 3})
    # Another process adds a row.
    SearchIndex(index.folder, index.encoder).add("w7 w7")
    found = ask(url, "/search", {"query": "w7", "top_k": 9})[1]["results"][0]["neighbours"]
    assert found[0]["sentence"] == "w7 w7" and {item["columns"]["share"] for item in found} == {None}
    assert ask(url, "/remove", {"filter": "id=c"})[1] == {"removed": 1, "sentences": 3}
    assert ask(url, "/v1/models/tiny")[1]["id"] == "tiny" and ask(url, "/v1/models/other")[0] == 404
    connection = connect(url)
    connection.request("GET", "/metrics", headers={"Authorization": "Bearer key"})
    assert b'hf_paraphrase_requests_total{path="/search",status="200"} 1' in connection.getresponse().read()


def test_a_foreign_host_and_a_wrong_key_are_refused(writable):
    url, _ = writable
    refused = [{"Host": "evil.example:80"}, {"Host": "[::"}, {"Origin": "http://evil.example"}, {"Origin": "null"}]
    for headers in refused:
        assert ask(url, "/remove", {"ids": ["a"]}, **headers)[0] == 403
    assert (
        ask(url, "/v1/models", Authorization="Bearer no")[0] == 401 and ask(url, "/health", Authorization="")[0] == 200
    )


@pytest.mark.parametrize("others", [["*"], ["app.example", "SERVER.example"]])
def test_pages_of_given_hosts_are_allowed_in_any_case_and_beside_all_hosts(encoder, others):
    settings = ServeSettings(model=str(encoder.folder), allowed_host=["https://Page.example", *others])
    with running(_service(settings)) as url:
        for page, status in (
            ("https://page.example", 200),
            ("http://localhost:3000", 200),
            ("http://evil.example", 403),
        ):
            assert ask(url, "/health", Host="server.example", Origin=page)[0] == status, page


def test_a_page_of_an_allowed_host_may_ask_and_read_the_answer(writable):
    connection = connect(writable[0])
    headers = {"Origin": "http://127.0.0.1:3000", "Access-Control-Request-Headers": "authorization,content-type"}
    connection.request("OPTIONS", "/search", headers=headers)
    answer = connection.getresponse()
    assert (answer.status, answer.headers["Access-Control-Allow-Origin"]) == (200, "*") and answer.read()
    assert answer.headers["Access-Control-Allow-Headers"] == "authorization,content-type"
    connection.request("GET", "/health")
    assert "Access-Control-Allow-Origin" not in connection.getresponse().headers


def test_an_index_is_read_only_unless_it_is_asked_for(writable):
    with running(Service(writable[1].encoder, "tiny", writable[1])) as url:
        assert ask(url, "/add", {"sentences": ["w1"]})[0] == ask(url, "/remove", {"ids": ["a"]})[0] == 403
