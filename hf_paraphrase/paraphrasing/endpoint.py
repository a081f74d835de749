"""Paraphrases by a chat model behind an OpenAI-compatible endpoint."""

from __future__ import annotations

import hashlib
import http.client
import json
import os
import threading
import time
import urllib.error
import urllib.request
from collections.abc import Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..data.batch_function import Progress, no_progress
from ..errors import ModelError
from ..messages import log, sanitize_line, without_secrets
from ..text.normalization import is_blank
from .answers import paraphrases_in
from .generators import SENTENCE, ApiOptions, Candidate, Generator, SamplingOptions, check_prompt

_REQUESTS_AT_A_TIME = 4
_ATTEMPTS = 7
_TIMEOUT, _LONGEST_PAUSE = 60.0, 60.0
"""Seconds."""
_LARGEST_SEED = 1 << 31
_LARGEST_ANSWER = 1 << 24
_PASSING = frozenset({408, 409, 425, 429, *range(500, 600)})
_ABOUT_THE_REQUEST = frozenset({400, 413, 422})


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirects, which could send the key to another host."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Follow none."""


class _RequestRefusedError(Exception):
    """The endpoint refuses one request; other requests may succeed."""


class Endpoint(Generator):
    """Asks a chat model at a URL for paraphrases.

    A request asks for all answers to a sentence, and is repeated where the endpoint returns fewer. With a folder for
    answers, each is saved when it arrives, and a saved sentence is not sent again.

    Args:
        model: Name of the model at the endpoint.
        prompt: The message of the user, with `{sentence}`.
    """

    writes_freely = True

    def __init__(
        self,
        model: str,
        prompt: str,
        options: ApiOptions,
        *,
        language: str | None = None,
        sampling: SamplingOptions | None = None,
        max_new_tokens: int = 128,
    ) -> None:
        self.model, self.prompt, self.options, self.language = model, check_prompt(prompt), options, language
        self.sampling, self.max_new_tokens = sampling or SamplingOptions(), max_new_tokens
        self.url = f"{options.base_url.rstrip('/')}/chat/completions"
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._next_turn, self._has_answered = 0.0, False

    def candidates(
        self, sentences: Sequence[str], num: int, *, progress: Progress = no_progress
    ) -> list[list[Candidate] | str]:
        """Ask for all sentences, several at a time."""
        kept = _KeptAnswers(self.options.answers, [self.model, self.prompt, repr(self.sampling), str(num), *sentences])

        def ask(index: int) -> list[Candidate] | str:
            if is_blank(sentences[index]):
                return "empty source"
            if index not in kept.answers:
                try:
                    kept.add(index, self._answers(sentences[index], num))
                except _RequestRefusedError as refusal:
                    return str(refusal)
                except ModelError:
                    self._stopped.set()
                    raise
            answers = [Candidate(text, is_finished=ended) for text, ended in kept.answers[index]]
            return [candidate for answer in answers for candidate in paraphrases_in(answer)]

        outcomes: list[list[Candidate] | str] = []
        self._stopped.clear()
        with ThreadPoolExecutor(_REQUESTS_AT_A_TIME) as pool:
            try:
                for outcome in pool.map(ask, range(len(sentences))):
                    outcomes.append(outcome)
                    progress(1)
            except BaseException:
                self._stopped.set()
                pool.shutdown(wait=False, cancel_futures=True)
                raise
        return outcomes

    def _answers(self, sentence: str, num: int) -> list[tuple[str, bool]]:
        """Return the distinct answers for one sentence, and whether each is complete."""
        key = f"{self.sampling.seed}\n{sentence}".encode()
        seed = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) % _LARGEST_SEED
        request: dict[str, Any] = {
            "model": self.model,
            "messages": [{"role": "user", "content": self.prompt.replace(SENTENCE, sentence)}],
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "max_tokens": self.max_new_tokens,
        }
        if self.sampling.top_k:
            request["top_k"] = self.sampling.top_k
        answers: list[tuple[str, bool]] = []
        while len(answers) < num:
            answers += self._request(
                {**request, "n": num - len(answers), "seed": (seed + len(answers)) % _LARGEST_SEED}
            )
        return list(dict.fromkeys(answers[:num]))

    def _request(self, body: dict[str, Any]) -> list[tuple[str, bool]]:
        """Send a request, with growing pauses between attempts, and return at least one answer."""
        problem, pause = "", 0.0
        for attempt in range(_ATTEMPTS):
            if self._stopped.wait(pause):
                raise _RequestRefusedError("another request failed")
            self._wait_for_turn()
            try:
                return self._send(body)
            except urllib.error.HTTPError as error:
                problem = self._check_status(error)
                pause = _seconds_asked(error) or min(_LONGEST_PAUSE, 2.0**attempt)
            except (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, IndexError) as error:
                problem, pause = _explain(error), min(_LONGEST_PAUSE, 2.0**attempt)
            log(f"{self.options.base_url}: {problem}; attempt {attempt + 1} of {_ATTEMPTS}")
        remedy = "check that the endpoint runs, or give another --api-base; --resume keeps the answers received so far"
        raise ModelError(f"no usable answer: {problem}", path=self.options.base_url, remedy=remedy)

    def _send(self, body: dict[str, Any]) -> list[tuple[str, bool]]:
        request = urllib.request.Request(self.url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310
        if key := os.environ.get(self.options.key_variable):
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        with self._opener.open(request, timeout=_TIMEOUT) as response:
            choices = json.loads(response.read(_LARGEST_ANSWER))["choices"]
        answers = [(choice["message"]["content"] or "", choice.get("finish_reason") != "length") for choice in choices]
        if not answers or not all(isinstance(text, str) for text, _ in answers):
            raise ValueError("the answer has no text")
        self._has_answered = True
        return answers

    def _check_status(self, error: urllib.error.HTTPError) -> str:
        """Describe a temporary status; raise for a permanent one."""
        with error:
            text = sanitize_line(error.read(_LARGEST_ANSWER).decode(errors="replace"), 200)
        problem = f"status {error.code}{': ' if text else ''}{text}"
        if error.code in _PASSING:
            return problem
        if error.code in _ABOUT_THE_REQUEST and self._has_answered:
            raise _RequestRefusedError(f"the endpoint refuses the request: {problem}")
        remedy = f"check --api-base and the model {self.model}"
        if error.code in (401, 403):
            remedy = f"put a valid key into the environment variable {self.options.key_variable}"
        raise ModelError(f"the endpoint answers with {problem}", path=self.options.base_url, remedy=remedy)

    def _wait_for_turn(self) -> None:
        """Wait until the rate limit permits a request."""
        if self.options.requests_per_minute is None:
            return
        with self._lock:
            turn = max(time.monotonic(), self._next_turn)
            self._next_turn = turn + 60.0 / self.options.requests_per_minute
        self._stopped.wait(turn - time.monotonic())

    def describe(self) -> dict[str, Any]:
        """Return the model, the endpoint and the prompt."""
        return {"model": self.model, "endpoint": without_secrets(self.options.base_url), "prompt": self.prompt}


def _seconds_asked(error: urllib.error.HTTPError) -> float:
    """Return the pause in seconds that the endpoint requests, at most a minute; 0 without a request."""
    value = error.headers.get("Retry-After") or ""
    return min(_LONGEST_PAUSE, float(value)) if value.isdecimal() else 0.0


def _explain(error: Exception) -> str:
    if isinstance(error, TimeoutError) or isinstance(getattr(error, "reason", None), TimeoutError):
        return "no answer in time"
    if isinstance(error, OSError):
        return f"cannot connect: {getattr(error, 'reason', error)}"
    return f"the answer is not a chat completion ({type(error).__name__}: {sanitize_line(str(error), 100)})"


class _KeptAnswers:
    """Answers for sentences, saved to a file of the folder when they arrive."""

    def __init__(self, folder: str | None, identity: Sequence[str]) -> None:
        self.answers: dict[int, list[tuple[str, bool]]] = {}
        self._path, self._lock = None, threading.Lock()
        if folder is None:
            return
        digest = hashlib.blake2b(json.dumps(identity).encode(), digest_size=16).hexdigest()
        self._path = Path(folder) / f"answers-{digest}.jsonl"
        lines = self._path.read_text(encoding="utf-8").splitlines() if self._path.is_file() else []
        for line in lines:
            with suppress(ValueError):  # the line that was being written when the process was killed
                index, answers = json.loads(line)
                self.answers[index] = [(text, ended) for text, ended in answers]

    def add(self, index: int, answers: list[tuple[str, bool]]) -> None:
        """Keep the answers for one sentence."""
        self.answers[index] = answers
        if self._path is not None:
            self._path.parent.mkdir(parents=True, exist_ok=True)
            with self._lock, self._path.open("a", encoding="utf-8") as file:
                file.write("\n" + json.dumps([index, answers]))
