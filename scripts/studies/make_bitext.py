"""Make bitext of words and help texts with English, and lists of frequent words, for a model to publish.

    python scripts/studies/make_bitext.py --packages DIR --output OUT

DIR contains these Debian packages, fetched by `apt-get download` and unpacked by `dpkg-deb -x FILE DIR`:
unicode-cldr-core, gnome-user-docs, dict-freedict-*, libreoffice-help-{en-us,ja,ko,tr,zh-cn}. The script writes a file
for each language to OUT, such as `fr.tsv`, with the text of the language before the English text:

* names of countries, languages, currencies, cities, months and days, and keywords of emoji (CLDR, Unicode licence);
* paragraphs of the help of GNOME (CC BY-SA 3.0), and for ja, ko, tr and zh also of LibreOffice (MPL 2.0);
* words from the dictionaries that WikDict made from Wiktionary (CC BY-SA 3.0); others of FreeDict are skipped. They
  explain each sense of a word in its own language. If dictionaries from Polish or Finnish translate one sense, that is
  one word with one explanation, into two languages, the words of these two languages are translations.

`frequent_fr.txt` and the like contain each frequent word as often as it occurs in a million words of the language, as
counted by the package wordfreq (`pip install wordfreq`; lists under CC BY-SA 4.0). Word pieces are chosen by them.
"""

from __future__ import annotations

import argparse
import gzip
import html
import re
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from xml.etree import ElementTree

from wordfreq import available_languages, get_frequency_dict

LANGUAGES = {"cs": "ces", "da": "dan", "de": "deu", "es": "spa", "fi": "fin", "fr": "fra"}
LANGUAGES |= {"it": "ita", "nl": "nld", "pl": "pol", "pt": "por", "ru": "rus", "sv": "swe"}
LANGUAGES |= {"ar": "ara", "ja": "jpn", "ko": "kor", "th": "tha", "tr": "tur", "zh": "zho"}
REGIONS = {"zh": "zh_CN"}
OFFICE_HELP = {"ja": "ja", "ko": "ko", "tr": "tr", "zh": "zh-CN"}
PIVOTS = ("pol", "fin")
MOST_TRANSLATIONS = 4
PER_LANGUAGE, MOST_IN_A_LINE = 1_000_000, 100
_DIGITS = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/"
_NAMES = re.compile(
    r"/(languages/language|territories/territory|currencies/currency.*/displayName|exemplarCity"
    r"|months/.*\[wide.*/month|days/.*\[wide.*/day|annotations/annotation)\b"
)
_PARAGRAPHS = {"p", "title", "desc", "cite"}
_OFFICE_PARAGRAPH = re.compile(r'<(?:p|h\d) id="(par_[^"]+)"[^>]*>(.*?)</(?:p|h\d)>', re.DOTALL)

Pairs = Iterator[tuple[str, str]]


def position(digits: str) -> int:
    """Read a number in the digits of dictd's index files."""
    return sum(_DIGITS.index(digit) << 6 * place for place, digit in enumerate(reversed(digits)))


@cache
def senses(packages: Path, source: str, target: str) -> dict[tuple[str, str], str]:
    """Read the translations of each word and explanation of a dictionary of WikDict; nothing if there is none."""
    found: dict[tuple[str, str], str] = {}
    for index in packages.rglob(f"freedict-{source}-{target}.index"):
        text = gzip.decompress(index.with_suffix(".dict.dz").read_bytes())
        if b"Attribution-ShareAlike" not in text[:5000]:
            continue
        for line in index.read_text(encoding="utf-8").splitlines():
            word, start, length = line.split("\t")
            begin = position(start)
            entry = text[begin : begin + position(length)].decode().splitlines()
            translations = ""
            # The lines are the word, translations, explanations of them, perhaps translations of other senses ...
            for row, item in enumerate([] if word.startswith("00") else entry[1:]):
                if row == 0 or re.match(r"\d+\. ", item):
                    translations = ", ".join(re.sub(r"^\d+\. | \d+\.$", "", item).split(", ")[:MOST_TRANSLATIONS])
                elif not re.fullmatch(r" ?\d+\.", item):
                    found.setdefault((word, item.strip()), translations.strip())
    return found


def dictionary(packages: Path, language: str) -> Pairs:
    """Stream words of a language and of English."""
    other = LANGUAGES[language]
    for (word, _), english in senses(packages, other, "eng").items():
        yield word, english
    for (english, _), words in senses(packages, "eng", other).items():
        yield words, english
    for pivot in PIVOTS:
        english_of = senses(packages, pivot, "eng")
        for sense, words in senses(packages, pivot, other).items():
            if sense in english_of:
                yield words, english_of[sense]


def names(path: Path) -> dict[str, str]:
    """Read the names in a file of the CLDR, by their paths."""
    found: dict[str, str] = {}

    def read(element: ElementTree.Element, place: str) -> None:
        marks = [element.get(mark) for mark in ("type", "cp", "alt", "count") if element.get(mark)]
        place = f"{place}/{element.tag}" + (f"[{','.join(map(str, marks))}]" if marks else "")
        if element.text and element.text.strip() and _NAMES.search(place):
            found[place] = element.text.strip()
        for child in element:
            read(child, place)

    read(ElementTree.parse(path).getroot(), "")  # noqa: S314, a package of the system
    return found


def cldr(packages: Path, language: str) -> Pairs:
    """Stream names, and keywords of emoji, of a language and of English."""
    for english_file in [file for kind in ("annotations", "main") for file in packages.rglob(f"common/{kind}/en.xml")]:
        file = english_file.with_name(f"{language}.xml")
        english = names(english_file) if file.exists() else {}
        for place, name in names(file).items() if english else ():
            if place in english and "↑" not in name:  # arrows refer to the parent language
                yield name.replace(" | ", ", "), english[place].replace(" | ", ", ")


def help_pages(packages: Path, language: str) -> Pairs:
    """Stream the paragraphs of those pages of GNOME's help that have as many in both languages."""
    for english_page in sorted(packages.rglob("help/C/*/*.page")):
        folder = english_page.parents[2] / REGIONS.get(language, language)
        page = folder / english_page.relative_to(english_page.parents[1])
        sides = [paragraphs(path) for path in (page, english_page) if page.exists()]
        if sides and len(sides[0]) == len(sides[1]):
            yield from zip(*sides, strict=True)


def paragraphs(path: Path) -> list[str]:
    """List the texts of a page."""
    found = ElementTree.parse(path).getroot().iter()  # noqa: S314, a package of the system
    found = (item for item in found if isinstance(item.tag, str) and item.tag.rpartition("}")[2] in _PARAGRAPHS)
    return [" ".join("".join(item.itertext()).split()) for item in found]


def office_help(packages: Path, language: str) -> Pairs:
    """Stream the paragraphs of LibreOffice's help that have one id in both languages and are translated."""
    for english_page in (
        sorted(packages.rglob("libreoffice/help/en-US/text/**/*.html")) if language in OFFICE_HELP else ()
    ):
        folder, page = str(english_page).split("/en-US/")
        sides = [office_paragraphs(Path(folder) / place / page) for place in (OFFICE_HELP[language], "en-US")]
        for name in sides[0].keys() & sides[1].keys():
            if sides[0][name] and sides[1][name] and sides[0][name] != sides[1][name]:
                yield sides[0][name], sides[1][name]


def office_paragraphs(path: Path) -> dict[str, str]:
    """Read the texts of a page of LibreOffice's help by the ids of its paragraphs."""
    content = path.read_text(encoding="utf-8") if path.exists() else ""
    found = {name: html.unescape(re.sub(r"<[^>]*>", "", text)) for name, text in _OFFICE_PARAGRAPH.findall(content)}
    return {name: " ".join(text.split()) for name, text in found.items()}


def frequent(language: str) -> Iterator[str]:
    """Stream lines of one word each, repeated by frequency; none for a language that wordfreq lacks."""
    if language not in available_languages("small"):
        return
    for word, share in get_frequency_dict(language, wordlist="small").items():
        count = max(1, round(share * PER_LANGUAGE))
        yield from (" ".join([word] * min(MOST_IN_A_LINE, count - begin)) for begin in range(0, count, MOST_IN_A_LINE))


SOURCES = (dictionary, cldr, help_pages, office_help)


def main() -> None:
    """Write the files."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--packages", type=Path, required=True)
    parser.add_argument("--output", type=Path, required=True)
    options = parser.parse_args()
    options.output.mkdir()
    for language in LANGUAGES:
        pairs = {source: list(source(options.packages, language)) for source in SOURCES}
        unique = dict.fromkeys(f"{own}\t{english}\n" for found in pairs.values() for own, english in found)
        (options.output / f"{language}.tsv").write_text("".join(unique), encoding="utf-8")
        print(language, *(f"{source.__name__} {len(found):,}" for source, found in pairs.items()))
    for language in ("en", *LANGUAGES):
        if lines := "".join(f"{line}\n" for line in frequent(language)):
            (options.output / f"frequent_{language}.txt").write_text(lines, encoding="utf-8")


if __name__ == "__main__":
    main()
