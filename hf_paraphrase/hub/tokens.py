"""The Hub token: where it comes from, and how it is kept out of everything that is printed."""

from __future__ import annotations

import os
import re
from pathlib import Path

from ..errors import InputError, UsageError
from ..messages import HIDDEN, without_secrets

# The signature of a presigned address is a key of its own.
_QUERY = re.compile(r"(https?://[^\s?'\"]+)(?:\?[^\s'\"]*)?")


def find_token(token_file: str | os.PathLike[str] | None = None) -> str:
    """Finds the token to use: the file if one is named, else `HF_TOKEN`, else the one that `hf auth login` saved.

    Raises:
        InputError: If the named file cannot be read or does not hold one token.
        UsageError: If there is no token, or it has characters that no token has.
    """
    if token_file is not None:
        path = os.fspath(token_file)
        try:
            with Path(token_file).expanduser().open("rb") as stream:
                # More than any token has: what is longer, or never ends, does not hold one.
                token = stream.read(1 << 16).decode("utf-8").strip()
        except UnicodeDecodeError as error:
            raise InputError("the token file is not text", path=path) from error
        except OSError as error:
            raise InputError(f"cannot read the token file: {error.strerror}", path=path) from None
        if not is_token(token):
            raise InputError("the file does not hold one token", path=path, remedy="one line, nothing else")
        return token
    from huggingface_hub import get_token

    found = get_token()
    if not found:
        raise UsageError(
            "there is no token for the Hub", remedy="log in with `hf auth login`, set HF_TOKEN, or name a --token-file"
        )
    return check_token(found)


def check_token(token: str) -> str:
    """Returns the token, if it can be one.

    Raises:
        UsageError: If it is empty or has characters that no token has.
    """
    if not is_token(token):
        raise UsageError("the token has characters that no token has", remedy="see HF_TOKEN, or `hf auth login`")
    return token


def is_token(text: str) -> bool:
    """Tells whether a text could be a token: printable ASCII without spaces."""
    # An HTTP library that meets other characters in a header prints the header.
    return bool(text) and text.isascii() and text.isprintable() and " " not in text


def redact(text: str, token: str | None = None) -> str:
    """Takes the token in use, all that no text may show, and what stands behind addresses out of a text."""
    if token:
        text = text.replace(token, HIDDEN)
    return _QUERY.sub(r"\1", without_secrets(text))
