"""Paraphrases with a chat model behind an OpenAI-compatible endpoint."""

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
from contextlib import suppress
from pathlib import Path
from typing import Any

from ..data.batch_function import Progress, no_progress
from ..errors import ModelError
from ..messages import HIDDEN, log, sanitize_line, without_secrets
from .generators import ApiOptions, Candidate, ChatGenerator, SamplingOptions

API_KEY = "OPENAI_API_KEY"
"""The environment variable with the key."""
_ATTEMPTS = 7
_TIMEOUT, _LONGEST_PAUSE = 60.0, 60.0
"""Seconds."""
_LARGEST_SEED = 1 << 31
_LARGEST_ANSWER = 1 << 24
_TEMPORARY = frozenset({408, 409, 425, 429, *range(500, 600)})
_ABOUT_THE_REQUEST = frozenset({400, 413, 422})
_UNUSABLE = (OSError, http.client.HTTPException, ValueError, KeyError, TypeError, IndexError)
Answers = list[tuple[str, bool]]
"""The texts of answers, and whether each is complete."""


class _NoRedirects(urllib.request.HTTPRedirectHandler):
    """Follows no redirects: the endpoint is the host that the user named."""

    def redirect_request(self, *args: Any, **kwargs: Any) -> None:
        """Follow none."""


class _RequestRefusedError(Exception):
    """The endpoint refuses one request; other requests may succeed."""


class Endpoint(ChatGenerator):
    """Asks a chat model at a URL for paraphrases.

    A request asks for all answers to a sentence, and is repeated if the endpoint returns fewer. With a folder for
    answers, each answer is saved when it arrives, and sentences with saved answers are not sent again.

    Args:
        name: Name of the model at the endpoint.
        prompt: The message of the user, with `{sentence}`.
        api: The endpoint.
        **options: Options of :class:`ChatGenerator`.
    """

    def __init__(self, name: str, prompt: str, api: ApiOptions, **options: Any) -> None:
        super().__init__(name, prompt, **options)
        self.api, self.sampling = api, self.sampling or SamplingOptions()
        self._opener = urllib.request.build_opener(_NoRedirects)
        self._lock, self._stopped = threading.Lock(), threading.Event()
        self._next_turn, self._has_answered = 0.0, False
        self._saved: dict[str, Answers] = {}
        self._file: Path | None = None

    def candidates(
        self, sentences: Sequence[str], num: int, *, progress: Progress = no_progress
    ) -> list[list[Candidate] | str]:
        """Read the saved answers, and ask for all other sentences, several at a time."""
        if self.api.answers is not None:
            identity = json.dumps([self.name, self.prompt, repr(self.sampling), str(num), *sentences])
            digest = hashlib.blake2b(identity.encode(), digest_size=16).hexdigest()
            self._file = Path(self.api.answers) / f"answers-{digest}.jsonl"
            self._file.parent.mkdir(parents=True, exist_ok=True)
            self._file.touch()
            for line in self._file.read_text(encoding="utf-8").splitlines():
                with suppress(ValueError):  # the line that was being written when the process was killed
                    sentence, answers = json.loads(line)
                    self._saved[sentence] = [(text, ended) for text, ended in answers]
        self._stopped.clear()
        try:
            return super().candidates(sentences, num, progress=progress)
        except BaseException:
            self._stopped.set()
            raise
        finally:
            self._saved.clear()

    def answers(self, sentence: str, num: int) -> list[Candidate] | str:
        """Return the distinct answers to a sentence, and save them."""
        answers = self._saved.get(sentence)
        if answers is None:
            try:
                answers = self._ask(sentence, num)
            except _RequestRefusedError as refusal:
                return str(refusal)
            except ModelError:
                self._stopped.set()
                raise
            if self._file is not None:
                with self._lock, self._file.open("a", encoding="utf-8") as file:
                    file.write("\n" + json.dumps([sentence, answers]))
        return [Candidate(text, is_finished=ended) for text, ended in answers]

    def _ask(self, sentence: str, num: int) -> Answers:
        assert self.sampling is not None
        key = f"{self.sampling.seed}\n{sentence}".encode()
        seed = int.from_bytes(hashlib.blake2b(key, digest_size=8).digest()) % _LARGEST_SEED
        request: dict[str, Any] = {
            "model": self.name,
            "messages": self.messages(sentence),
            "temperature": self.sampling.temperature,
            "top_p": self.sampling.top_p,
            "max_tokens": self.max_new_tokens,
        }
        if self.sampling.top_k:
            request["top_k"] = self.sampling.top_k
        answers: Answers = []
        while len(answers) < num:
            number = {"n": num - len(answers), "seed": (seed + len(answers)) % _LARGEST_SEED}
            answers += self._request({**request, **number})
        return list(dict.fromkeys(answers[:num]))

    def _request(self, body: dict[str, Any]) -> Answers:
        """Send a request, with growing pauses between attempts, and return at least one answer."""
        problem, pause = "", 0.0
        for attempt in range(_ATTEMPTS):
            if self._stopped.wait(pause):
                raise _RequestRefusedError("another request failed")
            self._wait_for_turn()
            pause = min(_LONGEST_PAUSE, 2.0**attempt)
            try:
                return self._send(body)
            except urllib.error.HTTPError as error:
                problem = self._check_status(error)
                if (asked := error.headers.get("Retry-After") or "").isdecimal():
                    pause = min(_LONGEST_PAUSE, float(asked)) or pause
            except _UNUSABLE as error:
                problem = (
                    f"the answer is not a chat completion ({type(error).__name__}: {sanitize_line(str(error), 100)})"
                )
                if isinstance(error, OSError):
                    reason = getattr(error, "reason", error)
                    problem = "no answer in time" if isinstance(reason, TimeoutError) else f"cannot connect: {reason}"
            log(f"{self.api.base_url}: {problem}; attempt {attempt + 1} of {_ATTEMPTS}")
        remedy = "check that the endpoint runs, or give another --api-base"
        if problem.startswith("status 429"):
            remedy = "wait, check your quota, or give a lower --requests-per-minute"
        remedy += "; --resume keeps the answers received so far"
        raise ModelError(f"no usable answer: {problem}", path=self.api.base_url, remedy=remedy)

    def _send(self, body: dict[str, Any]) -> Answers:
        url = f"{self.api.base_url.rstrip('/')}/chat/completions"
        request = urllib.request.Request(url, json.dumps(body).encode(), {"Content-Type": "application/json"})  # noqa: S310
        if key := self._key():
            request.add_unredirected_header("Authorization", f"Bearer {key}")
        with self._opener.open(request, timeout=_TIMEOUT) as response:
            choices = json.loads(response.read(_LARGEST_ANSWER))["choices"]
        answers = [(choice["message"]["content"] or "", choice.get("finish_reason") != "length") for choice in choices]
        if not answers or not all(isinstance(text, str) for text, _ in answers):
            raise ValueError("the answer has no text")
        self._has_answered = True
        return answers

    def _key(self) -> str:
        """Return the key, or an empty text, without the line break of a key that was read from a file."""
        key = os.environ.get(API_KEY, "").strip()
        if key.isascii() and key.isprintable():
            return key
        problem = f"the environment variable {API_KEY} has characters that no key has, such as “"
        raise ModelError(problem, remedy="put the key alone into it")

    def _check_status(self, error: urllib.error.HTTPError) -> str:
        """Describe a temporary status; raise for a permanent one."""
        with error:
            text = error.read(_LARGEST_ANSWER).decode(errors="replace")
        if key := self._key():
            text = text.replace(key, HIDDEN)
        text = sanitize_line(text, 200)
        problem = f"status {error.code}{': ' if text else ''}{text}"
        if error.code in _TEMPORARY:
            return problem
        if error.code in _ABOUT_THE_REQUEST and self._has_answered:
            raise _RequestRefusedError(f"the endpoint refuses the request: {problem}")
        remedy = f"check --api-base and the model {self.name}"
        if error.code in (401, 403):
            remedy = f"put a valid key into the environment variable {API_KEY}"
        raise ModelError(f"the endpoint answers with {problem}", path=self.api.base_url, remedy=remedy)

    def _wait_for_turn(self) -> None:
        """Wait until the rate limit permits a request."""
        if self.api.requests_per_minute is None:
            return
        with self._lock:
            turn = max(time.monotonic(), self._next_turn)
            self._next_turn = turn + 60.0 / self.api.requests_per_minute
        self._stopped.wait(turn - time.monotonic())

    def describe(self) -> dict[str, Any]:
        """Return the model, the endpoint and the prompt."""
        return {"model": self.name, "endpoint": without_secrets(self.api.base_url), "prompt": self.prompt}
