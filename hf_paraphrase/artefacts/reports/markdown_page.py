"""Markdown as the cards of this package are written in, as HTML in which nothing of others is markup.

What is known is what the templates of the cards use: headings, paragraphs, lists, tables, code, pictures, links,
emphasis, escapes. All else is text and is shown as it is spelt. A card may hold anyone's words, so every letter is
escaped, links lead to web pages only, and pictures are those that the caller hands out.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from html import escape, unescape

_FENCES = ("```", "~~~")
_HEADING = re.compile(r"(?P<marks>#{1,6})[ \t]+(?P<text>.*)")
_ITEM = re.compile(r"(?P<indent> *)(?P<mark>[*+-]|\d{1,9}[.)])[ \t]+(?P<text>.*)")
_RULE = re.compile(r"[ \t:|-]+")
_CELL_END = re.compile(r"(?<!\\)((?:\\\\)*)\|")
# Bounded, so that no text takes longer than a multiple of its length.
_INLINE = re.compile(
    r"(?P<code>(?<!`)(?P<ticks>`{1,2})(?!`)(?P<verbatim>[^`](?:.{0,300}?[^`])?)(?P=ticks)(?!`))"
    r"|\\(?P<escaped>[!-/:-@\[-`{-~])"
    r"|(?P<entity>&(?:\#\d{1,6}|\#[xX][0-9a-fA-F]{1,5}|lt|gt|amp|quot);)"
    r"|(?P<break><br ?/?>)"
    r"|(?P<picture>!\[(?P<alternative>[^\[\]]{0,300})\]\((?P<source>[^()\s]{1,300})\))"
    r"|(?P<link>\[(?P<named>[^\[\]]{1,300})\]\((?P<address>[^()\s]{1,600})\))"
    r"|(?P<address_alone><(?P<plain>https?://[^<>\s]{1,600})>)"
    r"|(?P<strong>\*\*(?=\S)(?P<bold>[^*]{1,600}?)(?<=\S)\*\*)"
    r"|(?P<emphasis>(?<![*\w])\*(?=\S)(?P<slanted>[^*]{1,600}?)(?<=\S)\*(?![*\w]))",
    re.DOTALL,
)
_WEB = re.compile(r"https?://[^\s\"'<>]+")

Pictures = Callable[[str], str | None]
"""Gives for the place of a picture an address that holds the picture itself; None for one that is not shown."""


@dataclass(frozen=True)
class Page:
    """A card as HTML.

    Attributes:
        title: Its heading, as plain text; empty if it has none.
        lead: What stands before the second heading.
        body: The rest.
    """

    title: str
    lead: str
    body: str


def as_page(markdown: str, pictures: Pictures = lambda place: None) -> Page:
    """Lays out a Markdown text.

    Args:
        markdown: The text, without the head of a card.
        pictures: What gives out its pictures.
    """
    title = ""
    lead: list[str] = []
    body: list[str] = []
    for level, block in _blocks(markdown.replace("\r\n", "\n").split("\n"), pictures):
        if level == 1 and not title:
            title = unescape(re.sub(r"<[^>]*>", "", block)).strip()
        elif body or level:
            body.append(block)
        else:
            lead.append(block)
    return Page(title, "\n".join(lead), "\n".join(body))


def _blocks(lines: Sequence[str], pictures: Pictures) -> Iterator[tuple[int, str]]:
    """Yields the blocks of a text; with each the level of the heading that it is, or 0."""
    place = 0
    while place < len(lines):
        line = lines[place]
        begin, place = place, place + 1
        if not line.strip() or _is_comment(line):
            continue
        if line.startswith(_FENCES):
            while place < len(lines) and not lines[place].startswith(line[:3]):
                place += 1
            code = "\n".join(lines[begin + 1 : place])
            yield 0, f"<pre><code>{escape(code, quote=False)}</code></pre>"
            place += 1
        elif heading := _HEADING.match(line):
            level = len(heading["marks"])
            yield level, f"<h{level}>{_inline(heading['text'].strip(), pictures)}</h{level}>"
        elif _begins_table(lines, begin):
            while place < len(lines) and "|" in lines[place]:
                place += 1
            yield 0, _table(lines[begin:place], pictures)
        elif _ITEM.match(line):
            while place < len(lines) and (_ITEM.match(lines[place]) or lines[place].startswith(" ")):
                place += 1
            yield 0, _list(lines[begin:place], pictures)
        else:
            while place < len(lines) and lines[place].strip() and not _begins_block(lines, place):
                place += 1
            yield 0, f"<p>{_inline(chr(10).join(lines[begin:place]), pictures)}</p>"


def _begins_block(lines: Sequence[str], place: int) -> bool:
    line = lines[place]
    known = line.startswith(_FENCES) or _is_comment(line) or _HEADING.match(line) or _ITEM.match(line)
    return bool(known) or _begins_table(lines, place)


def _is_comment(line: str) -> bool:
    return line.lstrip().startswith("<!--") and line.rstrip().endswith("-->")


def _begins_table(lines: Sequence[str], place: int) -> bool:
    if "|" not in lines[place] or place + 1 == len(lines):
        return False
    rule = lines[place + 1]
    return "|" in rule and "-" in rule and _RULE.fullmatch(rule) is not None


def _table(lines: Sequence[str], pictures: Pictures) -> str:
    header, rule = _cells(lines[0]), _cells(lines[1])
    sides = [' class="number"' if cell.endswith(":") and not cell.startswith(":") else "" for cell in rule]
    sides += [""] * (len(header) - len(sides))
    head = ""
    if any(header):
        cells = [f"<th{side}>{_inline(cell, pictures)}</th>" for cell, side in zip(header, sides, strict=False)]
        head = f"<thead><tr>{''.join(cells)}</tr></thead>"
    rows = []
    for line in lines[2:]:
        cells = [*_cells(line), *[""] * len(header)][: len(header)]
        row = [f"<td{side}>{_inline(cell, pictures)}</td>" for cell, side in zip(cells, sides, strict=False)]
        rows.append(f"<tr>{''.join(row)}</tr>")
    return f'<div class="wide"><table>{head}<tbody>{"".join(rows)}</tbody></table></div>'


def _cells(line: str) -> list[str]:
    line = line.strip().removeprefix("|")
    parts = _CELL_END.sub("\\1\n", line).split("\n")
    if len(parts) > 1 and not parts[-1].strip():
        parts.pop()
    return [part.replace("\\|", "|").strip() for part in parts]


def _list(lines: Sequence[str], pictures: Pictures) -> str:
    """Lays out a list; what stands further to the right than an item, and is none, belongs to it."""
    items: list[tuple[int, bool, str]] = []
    for line in lines:
        if item := _ITEM.match(line):
            items.append((len(item["indent"]), item["mark"][0].isdigit(), item["text"]))
        elif line.strip():
            indent, ordered, text = items[-1]
            items[-1] = (indent, ordered, f"{text}\n{line.strip()}")
    parts: list[str] = []
    opened: list[tuple[int, str]] = []
    for indent, ordered, text in items:
        while len(opened) > 1 and indent < opened[-1][0]:
            parts.append(f"</li></{opened.pop()[1]}>")
        if not opened or indent > opened[-1][0]:
            opened.append((indent, "ol" if ordered else "ul"))
            parts.append(f"<{opened[-1][1]}>")
        else:
            parts.append("</li>")
        parts.append(f"<li>{_inline(text, pictures)}")
    parts += [f"</li></{tag}>" for _, tag in reversed(opened)]
    return "".join(parts)


def _inline(text: str, pictures: Pictures) -> str:
    parts, end = [], 0
    for found in _INLINE.finditer(text):
        parts += [escape(text[end : found.start()], quote=False), _marked(found, pictures)]
        end = found.end()
    return "".join([*parts, escape(text[end:], quote=False)])


def _marked(found: re.Match[str], pictures: Pictures) -> str:
    if found["code"]:
        return f"<code>{escape(found['verbatim'].strip(), quote=False)}</code>"
    if found["escaped"] or found["entity"]:
        return escape(found["escaped"] or unescape(found["entity"]), quote=False)
    if found["break"]:
        return "<br>"
    if found["picture"]:
        alternative, content = _plain(found["alternative"]), pictures(found["source"])
        if content is None:
            return escape(alternative, quote=False)
        return f'<img src="{escape(content)}" alt="{escape(alternative)}">'
    if found["address_alone"]:
        return _linked(found["plain"], escape(found["plain"], quote=False))
    if found["link"]:
        return _linked(found["address"], _inline(found["named"], lambda place: None))
    tag, inner = ("strong", found["bold"]) if found["strong"] else ("em", found["slanted"])
    return f"<{tag}>{_inline(inner, pictures)}</{tag}>"


def _linked(address: str, shown: str) -> str:
    if not _WEB.fullmatch(address):
        return shown
    return f'<a href="{escape(address)}" rel="noreferrer">{shown}</a>'


def _plain(text: str) -> str:
    return unescape(re.sub(r"\\([!-/:-@\[-`{-~])", r"\1", text))
