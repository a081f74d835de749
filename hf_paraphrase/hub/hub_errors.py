"""Says in one line what went wrong between this machine and the Hub, and never shows the token."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager

from ..errors import HfParaphraseError, HubError
from .tokens import redact

_AGAIN = "repeat the command: what has arrived is not sent again"
# huggingface_hub 1 stands on httpx and 2 on httpx2; both may be absent by those names one day.
_HTTP_LIBRARIES = {"httpx", "httpx2", "httpcore", "httpcore2", "h11", "h2", "requests", "urllib3"}


@contextmanager
def hub_errors(endpoint: str, repo_id: str, token: str | None) -> Iterator[None]:
    """Turns whatever the Hub's client raises in the block into a :class:`~hf_paraphrase.errors.HubError`.

    Errors of this package pass. The original error is not chained, because its text or its request may hold the token.

    Args:
        endpoint: The Hub's address, for messages.
        repo_id: The repository, for messages.
        token: The token in use, to be taken out of every text.

    Raises:
        HubError: For every other exception than this package's errors and interruptions.
    """
    try:
        yield
    except HfParaphraseError as error:
        error.message = redact(error.message, token)
        raise
    except Exception as error:
        problem, remedy = _explain(_innermost(error), endpoint, repo_id)
        failure = HubError(redact(problem, token), remedy=remedy)
    else:
        return
    raise failure from None


def _innermost(error: BaseException) -> BaseException:
    """Returns the error of the HTTP exchange behind the client's own wrappings, or the error itself."""
    found: BaseException | None = error
    while found is not None:
        if _status(found) is not None or _is_network(found):
            return found
        found = found.__cause__
    return error


def _status(error: BaseException) -> int | None:
    status = getattr(getattr(error, "response", None), "status_code", None)
    return status if isinstance(status, int) else None


def _is_network(error: BaseException) -> bool:
    libraries = {kind.__module__.partition(".")[0] for kind in type(error).__mro__}
    return bool(libraries & _HTTP_LIBRARIES) or isinstance(error, (ConnectionError, TimeoutError))


def _explain(error: BaseException, endpoint: str, repo_id: str) -> tuple[str, str | None]:
    """Returns what is wrong and what to do about it."""
    from huggingface_hub.errors import HFValidationError, OfflineModeIsEnabled, RevisionNotFoundError

    status = _status(error)
    said = _said(error)
    tokens = f"{endpoint}/settings/tokens"
    if isinstance(error, OfflineModeIsEnabled):
        return "the Hub's client is set to work offline", "unset HF_HUB_OFFLINE"
    if status == 401:
        return (
            f"the Hub rejected the token, or it may not see {repo_id}{said}",
            f"make one that may write at {tokens} and log in with `hf auth login`",
        )
    if status == 403:
        return (
            f"the token may not write to {repo_id}{said}",
            f"use a token with the right to write ({tokens}), and a namespace that is yours",
        )
    if isinstance(error, RevisionNotFoundError):
        return f"{repo_id} has no such branch{said}", "name another --revision"
    if status == 404:
        return f"there is no repository {repo_id}, or the token may not see it{said}", "see --repo-id and --repo-type"
    if status in {409, 412}:
        return f"{repo_id} changed while this was sent{said}", _AGAIN
    if status is not None and (status == 429 or status >= 500):
        return f"the Hub answered with status {status}{said}", f"wait, then {_AGAIN}"
    if status is not None:
        return f"the Hub refused with status {status}{said}", None
    if _is_network(error):
        reason = str(error) or type(error).__name__
        return f"the connection to {endpoint} failed: {reason}", f"see your network and HF_ENDPOINT, then {_AGAIN}"
    if isinstance(error, HFValidationError):
        return str(error), "see --repo-id"
    return f"the Hub's client failed: {type(error).__name__}: {error}", _AGAIN


def _said(error: BaseException) -> str:
    message = getattr(error, "server_message", None)
    return f": {message}" if isinstance(message, str) and message.strip() else ""
