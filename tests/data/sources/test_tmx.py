from __future__ import annotations

from xml.sax.saxutils import escape

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hf_paraphrase.data.text_blocks as text_blocks
import hf_paraphrase.data.text_files as text_files
from hf_paraphrase.data.sources.translation_files import read_tmx, single_line, tmx_texts
from hf_paraphrase.data.text_files import LineErrors
from hf_paraphrase.errors import InputError

HEAD = (
    '<?xml version="1.0" encoding="UTF-8"?>\n<!DOCTYPE tmx SYSTEM "tmx14.dtd">\n<tmx version="1.4"><header/><body>\n'
)
TAIL = "</body></tmx>\n"
# What XML can carry: no surrogates, no control characters but tab and line ends, and no non-characters.
XML_TEXT = st.text(
    st.characters(exclude_categories=["Cs", "Cc"], exclude_characters="\ufffe\uffff")
    | st.sampled_from('\x85\u2028<>&"'),
    max_size=20,
)


def unit(*variants: tuple[str, str], attribute: str = "xml:lang") -> str:
    tuvs = "".join(f'<tuv {attribute}="{tag}"><seg>{text}</seg></tuv>' for tag, text in variants)
    return f"<tu>{tuvs}</tu>\n"


def pairs_of(path, source="fr", target="en", errors=None) -> list[tuple[int, str, str]]:
    rows = []
    for numbers, block in read_tmx(path, source, target, errors or LineErrors()):
        assert len(numbers) == len(block["source"]) == len(block["target"])
        rows += zip(numbers.tolist(), block["source"].to_pylist(), block["target"].to_pylist(), strict=True)
    return rows


def written(tmp_path, *units: str, name: str = "a.tmx"):
    path = tmp_path / name
    path.write_text(HEAD + "".join(units) + TAIL, encoding="utf-8")
    return path


def test_languages_match_whatever_their_region_case_and_attribute_and_others_are_counted(tmp_path):
    path = written(
        tmp_path,
        unit(("EN-us", "yes"), ("FR-fr", "oui")),
        unit(("fr", "non"), ("de", "nein"), ("en", "no"), attribute="lang"),
        unit(("de", "nein"), ("en", "no")),
        unit(("fra", "un"), ("eng", "one")),
    )
    errors = LineErrors()
    assert pairs_of(path, errors=errors) == [(1, "oui", "yes"), (2, "non", "no"), (3, "un", "one")]
    assert errors.left_out == {"other_languages": 1}
    assert pairs_of(path, "de", "en") == [(1, "nein", "no"), (2, "nein", "no")]
    assert pairs_of(path, "fr-FR", "en") == [(1, "oui", "yes")]


@settings(max_examples=40, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    rows=st.lists(st.tuples(XML_TEXT, XML_TEXT), min_size=1, max_size=12),
    block=st.integers(150, 300),
    encoding=st.sampled_from(["utf-8", "utf-16"]),
)
def test_any_text_comes_back_as_it_is_whatever_the_block_size(tmp_path, rows, block, encoding):
    head = HEAD.replace("UTF-8", encoding)
    text = head + "".join(unit(("fr", escape(a)), ("en", escape(b))) for a, b in rows) + TAIL
    path = tmp_path / "a.tmx"
    path.write_bytes(text.encode(encoding))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        found = pairs_of(path)
    assert found == [(i, single_line(a), single_line(b)) for i, (a, b) in enumerate(rows, start=1)]


@pytest.mark.parametrize(
    "declaration",
    [
        '<!DOCTYPE tmx [<!ENTITY a "aaaaaaaaaa"><!ENTITY b "&a;&a;&a;">]>',
        '<!DOCTYPE tmx [<!ENTITY % a SYSTEM "http://127.0.0.1/x.dtd"> %a;]>',
    ],
)
def test_entities_of_the_file_are_text_and_read_nothing(tmp_path, declaration):
    path = tmp_path / "a.tmx"
    path.write_text(f"{declaration}<tmx><body>{unit(('fr', 'un &b;'), ('en', 'one'))}{TAIL}")
    assert pairs_of(path) == [(1, "un &b;", "one")]


def test_a_faulty_unit_is_named_by_its_number_and_skipped_alone(tmp_path):
    good = unit(("fr", "oui"), ("en", "yes"))
    bad = "<tu><tuv><seg>x</seg></tuv></tu><tu><tuv><seg>y</seg></tuv></tu>\n"
    path = written(tmp_path, good, bad, good)
    with pytest.raises(InputError, match=r"unit 2: a variant .* without a language"):
        pairs_of(path)
    errors = LineErrors("skip")
    assert pairs_of(path, errors=errors) == [(1, "oui", "yes"), (2, "oui", "yes")]
    assert errors.count == 2


@pytest.mark.parametrize("block", [163, 10_000])
@pytest.mark.parametrize("encoding", ["utf-8", "utf-8-sig", "utf-16"])
def test_what_translation_tools_write_is_read(tmp_path, monkeypatch, block, encoding):
    """Odd characters, codes in the text, which are left out, and highlighted text, which stays; a namespace."""
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", block)
    codes = (
        'A <bpt i="1">&lt;b&gt;</bpt><hi>big <mrk>red</mrk></hi><ept i="1">&lt;/b&gt;</ept> dog<ph><sub>x</sub></ph>.'
    )
    odd = unit(("fr-FR", "a&#x0B;b\n  c\x0cd&nbsp;e&eacute; &nothing; &amp;lt;"), ("en-US", codes))
    text = HEAD + odd + unit(("fr", "Un\n   gros\tchien &amp; <it>code</it>chat. "), ("en", "yes")) + TAIL
    text = text.replace("<tmx ", '<tmx xmlns="http://www.lisa.org/tmx14" ')
    (tmp_path / "a.tmx").write_bytes(text.encode(encoding))
    rows = [(1, "a b c d\xa0eé &nothing; &lt;", "A big red dog."), (2, "Un gros chien & chat.", "yes")]
    assert pairs_of(tmp_path / "a.tmx") == rows


@pytest.mark.parametrize(
    ("content", "wording"),
    [
        ("", "the file is empty"),
        ("<html><body/></html>", "not TMX: the root is <html>"),
        (HEAD + unit(("fr", "a"), ("en", "b")), "not well-formed XML.*no element found"),
        (HEAD + unit(("de", "a"), ("en", "b")) + TAIL, "no unit has both fr and en.*its languages are de"),
        (HEAD + TAIL, "its languages are not stated"),
        ('<?xml version="1.0" encoding="no-such"?><tmx/>', "encoding"),
    ],
)
def test_an_unusable_translation_memory_is_reported(tmp_path, content, wording):
    path = tmp_path / "a.tmx"
    path.write_text(content)
    for policy in ("raise", "skip"):
        with pytest.raises(InputError, match=wording):
            pairs_of(path, errors=LineErrors(policy))


def test_units_are_given_on_before_the_file_is_read_to_its_end(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 1000)
    monkeypatch.setattr(text_files, "_BLOCK_ROWS", 20)
    path = written(tmp_path, *(unit(("fr", f"a{i}"), ("en", f"b{i}")) for i in range(5000)))
    with path.open("a") as file:
        file.write("<")
    numbers, _ = next(read_tmx(path, "fr", "en", LineErrors()))
    assert numbers.tolist() == list(range(1, 21))


def test_all_languages_of_a_memory_are_given_where_it_is_an_evaluation_set(tmp_path):
    path = written(tmp_path, unit(("fr", "un"), ("en", "one"), ("de", "eins")))
    assert tmx_texts(path) == ["un", "one", "eins"]
