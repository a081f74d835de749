"""Damages files and folders at random: what a broken disk, a careless program or a hostile person might hand over."""

from __future__ import annotations

import gzip
import json
import os
import random
import shutil
import socket
from collections.abc import Callable
from contextlib import suppress
from pathlib import Path
from typing import Any

_TOKENS = [
    b"\x00",
    b"\xff\xfe",
    b"\xef\xbb\xbf",
    b"\xc3",
    b"\xed\xa0\x80",
    b"\r",
    b"\r\n",
    b"\n",
    b"\n\n\n",
    b"\t",
    b"\t\t\t\t",
    b"\xc2\x85",
    b"\xe2\x80\xa8",
    b"\xe2\x80\xae",
    b"\x1b]0;owned\x07\x1b[2J",
    b'"',
    b'""',
    b"'",
    b"\\",
    b"\\ud800",
    b"{",
    b"}",
    b"[",
    b"]]>",
    b"<!--",
    b"<seg>",
    b"&lt;",
    b"&#0;",
    b"&undefined;",
    b"---\n",
    b"...\n",
    b"!!python/object/apply:os.system [true]\n",
    b"&a [*a]",
    b"2020-01-01",
    b"nan",
    b"inf",
    b"-1",
    b"1e400",
    b"1000000000000000000",
    b"null",
    b"true",
    b"|||",
    b",",
    b"\\data\\",
    b"ngram 1=99999999999",
    b"</s>",
    b"#,",
    b'msgid ""',
    b"../../../private/.secret",
]
"""What stands where it is not expected."""
_LONG = [
    b" ",
    b"\t",
    b"(",
    b"[",
    b"{",
    b"<b>",
    b"a",
    b"9",
    b"\n",
    b"\r",
    b"- ",
    b"\xf0\x9f\x91\x8d",
    b'"',
    b"\\",
    b"0 ",
]
"""What is repeated."""
_VALUES: list[Any] = [
    None,
    True,
    [],
    {},
    "",
    "x",
    "../../../private/.secret",
    "\u001b]0;owned\u0007",
    "a\nb",
    "\ud800",
    -1,
    0,
    1,
    0.5,
    10**6,
    10**9,
    10**12,
    2**31,
    2**63,
    10**400,
    float("nan"),
    float("inf"),
    [1, [2]],
    {"a": 1},
]
"""What a value in JSON is replaced by."""


def damaged(content: bytes, chance: random.Random, name: str) -> bytes:
    """Changes a file in one to four places.

    Args:
        content: The file.
        chance: Draws the changes.
        name: Its name, by whose ending JSON is changed as JSON, and what is compressed is changed inside.
    """
    if name.endswith(".gz") and chance.random() < 0.7:
        with suppress(OSError, EOFError):
            return gzip.compress(damaged(gzip.decompress(content), chance, name.removesuffix(".gz")), mtime=0)
    if name.endswith(".json") and chance.random() < 0.7:
        with suppress(ValueError):
            return _damaged_json(content, chance)
    if name.endswith(".md") and chance.random() < 0.5:
        content = _damaged_head(content, chance)
    for _ in range(chance.choice((1, 1, 2, 4))):
        content = chance.choice(_CHANGES)(content, chance)
    return content


def _damaged_json(content: bytes, chance: random.Random) -> bytes:
    value = json.loads(content)
    for _ in range(chance.choice((1, 1, 2))):
        places = list(_places(value))
        if not places:
            break
        holder, key = chance.choice(places)
        if chance.random() < 0.2 and isinstance(holder, dict):
            del holder[key]
        else:
            holder[key] = chance.choice(_VALUES)
    text = json.dumps(value)
    return text.encode("utf-8", "surrogatepass")


def _places(value: Any) -> list[tuple[Any, Any]]:
    """Lists the places of the values in JSON; of a long list only the first ones."""
    items = (
        list(value.items())
        if isinstance(value, dict)
        else list(enumerate(value[:30]))
        if isinstance(value, list)
        else []
    )
    return [place for key, item in items for place in [(value, key), *_places(item)]]


def _damaged_head(content: bytes, chance: random.Random) -> bytes:
    """Puts something strange into the head of a card."""
    lines = content.split(b"\n")
    end = next((row for row, line in enumerate(lines[1:], 1) if line == b"---"), 1)
    row = chance.randint(0, end)
    what = chance.randrange(5)
    if what == 0:
        lines[row:row] = [b"title: " + chance.choice(_TOKENS) + chance.choice(_LONG) * 50_000]
    elif what == 1:
        lines[row:row] = [b"license: " + chance.choice(_TOKENS)]
    elif what == 2:
        lines = [line + b"\r" for line in lines]
        del lines[end : end + chance.randrange(2)]
    elif what == 3:
        # Lists of lists of lists, a few lines that mean millions.
        many = [b"%c: &%c [*%c, *%c, *%c, *%c]" % (n + 1, n + 1, n, n, n, n) for n in range(97, 110)]
        lines[row:row] = [b"a: &a [x, x, x]", *many]
    else:
        lines[row : row + 1] = []
    return b"\n".join(lines)


def _insert(content: bytes, chance: random.Random) -> bytes:
    place = chance.randint(0, len(content))
    return content[:place] + chance.choice(_TOKENS) + content[place:]


def _replace(content: bytes, chance: random.Random) -> bytes:
    place, token = chance.randint(0, len(content)), chance.choice(_TOKENS)
    return content[:place] + token + content[place + len(token) :]


def _flip(content: bytes, chance: random.Random) -> bytes:
    changed = bytearray(content)
    # What says how the rest is to be read stands at the beginning or at the end.
    where = chance.choice((len(changed), min(len(changed), 256), -min(len(changed), 512)))
    for _ in range(chance.choice((1, 2, 8, 64))):
        if changed:
            place = chance.randrange(where) if where > 0 else len(changed) + chance.randrange(where, 0)
            one_bit = changed[place] ^ (1 << chance.randrange(8))
            changed[place] = chance.choice((0, 255, 127, 128, one_bit, chance.randrange(256)))
    return bytes(changed)


def _cut(content: bytes, chance: random.Random) -> bytes:
    return content[: chance.randint(0, len(content))]


def _delete(content: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(content))
    return content[:start] + content[start + chance.choice((1, 2, 10, 100, 1000)) :]


def _repeat(content: bytes, chance: random.Random) -> bytes:
    start = chance.randint(0, len(content))
    part = content[start : start + chance.choice((1, 10, 100, 1000))]
    return content[:start] + part * chance.choice((2, 3, 100)) + content[start:]


def _lengthen(content: bytes, chance: random.Random) -> bytes:
    place = chance.randint(0, len(content))
    return content[:place] + chance.choice(_LONG) * chance.choice((100, 5_000, 60_000)) + content[place:]


def _empty(content: bytes, chance: random.Random) -> bytes:
    return chance.choice((b"", b"\n", b" ", b"\x00" * 100, chance.randbytes(300)))


def _digits(content: bytes, chance: random.Random) -> bytes:
    """Makes a number another one, or a very long one."""
    places = [place for place, byte in enumerate(content[:200_000]) if 48 <= byte <= 57]
    if not places:
        return _insert(content, chance)
    place = chance.choice(places)
    number = chance.choice((b"0", b"-1", b"9" * 9, b"9" * 18, b"9" * 5_000, b"1e999", b"nan", b"0.1", b"x"))
    return content[:place] + number + content[place + 1 :]


_CHANGES: list[Callable[[bytes, random.Random], bytes]] = [
    _insert,
    _replace,
    _flip,
    _flip,
    _cut,
    _delete,
    _repeat,
    _lengthen,
    _empty,
    _digits,
    _digits,
]


def damage_folder(folder: Path, chance: random.Random, private: Path, file: str | None = None) -> str:
    """Changes something in a folder, and says what.

    Args:
        folder: The folder.
        chance: Draws the change.
        private: A folder to which links are planted that lead out.
        file: What is in this file of it is damaged, and nothing else.
    """
    if file is not None:
        path = folder / file
        path.write_bytes(damaged(path.read_bytes(), chance, path.name))
        return f"{file} is damaged"
    files = sorted(path for path in folder.rglob("*") if path.is_file() and not path.is_symlink())
    # Small files say what the large ones are.
    small = [path for path in files if path.stat().st_size < 1 << 15]
    path = chance.choice(small if small and chance.random() < 0.6 else files)
    if chance.random() < 0.5:
        path.write_bytes(damaged(path.read_bytes(), chance, path.name))
        return f"{path.name} is damaged"
    if chance.random() < 0.5:
        other = f".{chance.choice(_HIDDEN)}" if chance.random() < 0.3 else f".{path.name}{chance.choice(_ENDINGS)}"
        hidden = path.parent / other
        with suppress(FileExistsError):
            return f"{hidden.name} is {_plant(hidden, chance, private)}"
    if chance.random() < 0.2:
        path.unlink()
        return f"{path.name} is gone"
    if chance.random() < 0.2:
        other_file = chance.choice(files)
        shutil.copyfile(other_file, path) if other_file != path else None
        return f"{path.name} is {other_file.name}"
    path.unlink()
    return f"{path.name} is {_plant(path, chance, private)}"


_ENDINGS = [".partial", ".previous", ".tmp", ".lock", ".claim", ""]
_HIDDEN = ["README.md.partial", "provenance.json.partial", "config.json.partial", "gitattributes", "cache", "hidden"]


def _plant(path: Path, chance: random.Random, private: Path) -> str:
    """Puts something into a place that is empty, and says what."""
    targets = {
        "a link to a private file": private / ".secret",
        "a relative link to a private file": Path(os.path.relpath(private / ".secret", path.parent)),
        "a link to a private folder": private,
        "a link to a file that could be made": private / "made",
        "a link to /dev/zero": Path("/dev/zero"),
        "a link to /dev/full": Path("/dev/full"),
        "a link to itself": Path(path.name),
        "a link that leads nowhere": Path("nowhere/at/all"),
        "a link to the folder above": Path(".."),
    }
    what = chance.choice([*targets, "a pipe", "a folder", "a socket"])
    if what == "a pipe":
        os.mkfifo(path)
    elif what == "a folder":
        path.mkdir()
        (path / "inside").write_text("x")
    elif what == "a socket":
        with socket.socket(socket.AF_UNIX) as opened, suppress(OSError):
            opened.bind(os.path.relpath(path))
    else:
        path.symlink_to(targets[what])
    return what
