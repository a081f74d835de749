"""Send requests to the server from several clients at once, and measure throughput and waiting time.

    python scripts/benchmarks/serve.py --model builtin --text FILE

One in ten requests is a search in an index of the texts, all others ask for the vector of a text, which is compared
with the vector of `encode`. The figures depend on the machine, whose cores the clients share with the server.
"""

from __future__ import annotations

import argparse
import json
import sys
import time
from collections.abc import Iterator, Sequence
from concurrent.futures import ThreadPoolExecutor
from http.client import HTTPConnection
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import pyarrow as pa

import interleaved as bench
from hf_paraphrase.artefacts.hub_models import BUILTIN
from hf_paraphrase.data.text_files import numbered_lines
from hf_paraphrase.encoders.sentence_encoder import SentenceEncoder
from hf_paraphrase.errors import InputError
from hf_paraphrase.searching.index import SearchIndex, build_index
from hf_paraphrase.searching.server import Service, running

SEARCH_EVERY = 10
FLAGS = {
    "model": (BUILTIN, "our encoder, or any other that SentenceEncoder opens"),
    "text": ("", "text file with one sentence per line"),
    "requests": (2000, "number of requests"),
    "clients": (16, "number of clients, each with one connection"),
}


def measure(arguments: argparse.Namespace, folder: Path) -> dict[str, Any]:
    """Answer all requests and compute the figures."""
    texts = [text for _, text in numbered_lines(Path(arguments.text)) if text.strip()][: arguments.requests]
    if len(texts) < arguments.requests:
        raise InputError(f"{len(texts)} texts for {arguments.requests} requests", path=arguments.text)
    encoder = SentenceEncoder.from_pretrained(arguments.model)
    expected = encoder.encode(texts, normalize_embeddings=True)
    build_index(encoder, [pa.table({"sentence": texts})], folder)
    with running(Service(encoder, "model", SearchIndex(folder, encoder))) as url:

        def ask(numbers: Sequence[int]) -> Iterator[tuple[float, bool]]:
            connection = HTTPConnection(urlsplit(url).netloc)
            for number in numbers:
                begin = time.perf_counter()
                is_right = answer(connection, number)
                yield time.perf_counter() - begin, is_right

        def answer(connection: HTTPConnection, number: int) -> bool:
            is_search = number % SEARCH_EVERY == 0
            body = {"query": texts[number], "top_k": 1} if is_search else {"input": texts[number]}
            connection.request("POST", "/search" if is_search else "/v1/embeddings", json.dumps(body))
            response = connection.getresponse()
            found = json.loads(response.read())
            if response.status != 200:
                return False
            if is_search:
                return bool(found["results"][0]["neighbours"][0]["score"] > 0.999)
            return bool(np.abs(np.array(found["data"][0]["embedding"]) - expected[number]).max() < 1e-3)

        begin = time.perf_counter()
        with ThreadPoolExecutor(arguments.clients) as pool:
            parts = pool.map(
                lambda first: list(ask(range(first, len(texts), arguments.clients))), range(arguments.clients)
            )
            answers = [each for part in parts for each in part]
        seconds = time.perf_counter() - begin
    milliseconds = 1000 * np.array([waited for waited, _ in answers])
    return {
        "requests_per_second": len(answers) / seconds,
        "median_ms": float(np.median(milliseconds)),
        "p99_ms": float(np.percentile(milliseconds, 99)),
        "wrong": sum(not is_right for _, is_right in answers),
    }


if __name__ == "__main__":
    sys.exit(bench.run_benchmark(measure, __doc__, FLAGS))
