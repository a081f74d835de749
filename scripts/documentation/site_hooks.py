"""Hooks of mkdocs, named in `mkdocs.yml`, that add pages which are no files of `docs/`.

README.md becomes the home page, CONTRIBUTING.md and CHANGELOG.md become pages, the reference is generated from the
package, and notebooks become pages. Files of the repository that a page links to are copied. Equations become MathML.
"""

from __future__ import annotations

import html
import posixpath
import re
from pathlib import Path
from typing import Any

from latex2mathml.converter import convert
from mkdocs.config.defaults import MkDocsConfig
from mkdocs.exceptions import PluginError
from mkdocs.structure.files import File, Files
from mkdocs.structure.pages import Page

from hf_paraphrase.commands.verbs import JOURNEYS, VERBS
from pages import PACKAGES, notebook_page, overview, python_pages, title_of, verb_page

ROOT = Path(__file__).resolve().parents[2]
PAGES_OF_THE_ROOT = {"README.md": "index.md", "CONTRIBUTING.md": "contributing.md", "CHANGELOG.md": "changelog.md"}
"""Pages in the root of the repository, and their names on the site."""
_LINK = re.compile(r"(\]\()([^)\s#]+)(#[^)\s]*)?(\))")
_EQUATION = re.compile(r'<(span|div) class="arithmatex">\\[(\[](.*?)\\[)\]]</\1>', re.DOTALL)
_ROLE = re.compile(r":(?:class|func|meth|mod|attr|data|exc):<code>(?:~[\w.]*\.)?")


def on_config(config: MkDocsConfig) -> MkDocsConfig:
    """Add the generated pages of the reference to the navigation."""
    verbs: list[Any] = [{"All commands": "reference/command_line/index.md"}]
    for journey, names in JOURNEYS.items():
        verbs.append({title_of(journey): [f"reference/command_line/{verb}.md" for verb in names]})
    packages: list[Any] = [{"Every command is a function": "reference/functions.md"}]
    packages += [{title: f"reference/python/{package}.md"} for package, title in PACKAGES.items()]
    sources = {"Data sources": "reference/data_sources.md"}
    for section in config.nav or []:
        if isinstance(section, dict) and "Reference" in section:
            section["Reference"] = [{"Command line": verbs}, {"Python": packages}, sources]
    return config


def on_files(files: Files, config: MkDocsConfig) -> Files:
    """Add the generated pages, and the files of the repository that pages link to."""
    made = {"reference/command_line/index.md": overview()}
    made |= {f"reference/command_line/{verb}.md": verb_page(verb, row) for verb, row in VERBS.items()}
    made |= {f"reference/python/{package}.md": text for package, text in python_pages().items()}
    for name, place in PAGES_OF_THE_ROOT.items():
        made[place] = (ROOT / name).read_text(encoding="utf-8")
    for notebook in [file for file in files if file.src_uri.endswith(".ipynb")]:
        made[f"{notebook.src_uri.removesuffix('.ipynb')}.md"] = notebook_page(ROOT / "docs" / notebook.src_uri)
    for place, text in made.items():
        files.append(File.generated(config, place, content=text))
    linked = {
        target
        for file in files.documentation_pages()
        for _, name, _, _ in _LINK.findall(file.content_string)
        if (target := _in_the_repository(file.src_uri, name)) and not _page_of(target)
    }
    for name in sorted(linked):
        files.append(File.generated(config, _place_of_file(name), content=(ROOT / name).read_bytes()))
    return files


def on_page_markdown(markdown: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Redirect links to files of the repository to their copies on the site."""

    def led(link: re.Match[str]) -> str:
        opened, name, anchor, closed = link.groups()
        target = _in_the_repository(page.file.src_uri, name)
        if target is None:
            return link[0]
        place = _page_of(target) or _place_of_file(target)
        return opened + posixpath.relpath(place, posixpath.dirname(page.file.src_uri)) + (anchor or "") + closed

    return _LINK.sub(led, markdown)


def on_page_content(content: str, page: Page, config: MkDocsConfig, files: Files) -> str:
    """Convert equations to MathML, and remove the Sphinx roles of docstrings."""

    def drawn(equation: re.Match[str]) -> str:
        display = "block" if equation[1] == "div" else "inline"
        drawing = convert(html.unescape(equation[2]).strip(), display=display)
        if "\\" in drawing:
            raise PluginError(f"{page.file.src_uri}: nothing draws all of the equation {equation[2]}")
        return f"<{equation[1]}>{drawing}</{equation[1]}>"

    return _ROLE.sub("<code>", _EQUATION.sub(drawn, content))


def _in_the_repository(page: str, name: str) -> str | None:
    """Return the path in the repository to which a link leads; None if no such file exists."""
    if "://" in name or name.startswith("mailto:"):
        return None
    homes = {place: original for original, place in PAGES_OF_THE_ROOT.items()}
    home = homes.get(page, f"docs/{page}")
    target = posixpath.normpath(posixpath.join(posixpath.dirname(home), name))
    return target if (ROOT / target).is_file() else None


def _page_of(target: str) -> str | None:
    """Return the name of a page on the site; None for a file that is not a page."""
    if target in PAGES_OF_THE_ROOT:
        return PAGES_OF_THE_ROOT[target]
    if not target.startswith("docs/"):
        return None
    name = target.removeprefix("docs/")
    return f"{name.removesuffix('.ipynb')}.md" if name.endswith(".ipynb") else name


def _place_of_file(target: str) -> str:
    """Return the path of a file on the site; text files end in .txt, so that browsers display them."""
    return f"files/{target}" if target.endswith((".png", ".svg")) else f"files/{target}.txt"
