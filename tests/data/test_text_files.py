from __future__ import annotations

import bz2
import gzip
import lzma
from functools import partial
from pathlib import Path

import pyarrow as pa
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hf_paraphrase.data.text_blocks as text_blocks
from hf_paraphrase.data.text_blocks import check_readable, lines_of_blocks, read_blocks
from hf_paraphrase.data.text_files import LineErrors, header_of, read_aligned, read_fields, read_lines, read_tsv
from hf_paraphrase.errors import InputError

FUZZ = settings(max_examples=60, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Line ends of other conventions, quotes, and words that CSV readers turn into missing values.
HARD_LINE = st.one_of(
    st.sampled_from(["NA", "null", "nan", '"', '"a', "\r", "a\rb", "a\x0cb", "\x0b", "a\u2028b", "\x85", "\ufeff"]),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20),
)


PACKERS = [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress)]
PACKERS += [(".zst", partial(pa.compress, codec="zstd", asbytes=True))]


def lines_of(path: Path, policy: str = "raise") -> list[str | None]:
    return [line for block in read_lines(path, LineErrors(policy)) for line in block.to_pylist()]


def strings_of(path: Path) -> list[str]:
    return [line for lines in lines_of_blocks(read_blocks(path), path) for line in lines]


def as_one_text(read, path: Path) -> str:
    """What a reader gives, or how it refuses."""
    try:
        return repr(read(path))
    except InputError as error:
        return str(error).replace(", or skip such lines with --on-error skip", "")


def fields_of(path: Path, columns: list[str], errors: LineErrors | None = None, **options) -> list[tuple]:
    rows = []
    for numbers, block in read_fields(path, columns, errors or LineErrors(), **options):
        assert all(len(column) == len(numbers) for column in block.values())
        rows += zip(numbers.tolist(), *(column.to_pylist() for column in block.values()), strict=True)
    return rows


def expected_lines(text: str) -> list[str]:
    """The rules in plain Python: split at line feeds only, carriage returns before them belong to the line end."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.rstrip("\r").replace("\r", " ") for line in lines]


@FUZZ
@given(lines=st.lists(HARD_LINE, min_size=1, max_size=30), end=st.booleans(), block=st.integers(1, 40))
def test_any_text_comes_back_line_by_line_whatever_the_block_size(tmp_path, lines, end, block):
    text = "\n".join(lines) + ("\n" if end else "")
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    expected = expected_lines(text)
    refusal = "empty" if not expected else "no line feed" if "\n" not in text and "\r" in text[:-1] else None
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        for reader in (lines_of, strings_of):
            if refusal is None:
                assert reader(path) == expected
            else:
                with pytest.raises(InputError, match=refusal):
                    reader(path)


@FUZZ
@given(
    data=st.binary(max_size=200), suffix=st.sampled_from([".txt", *(name for name, _ in PACKERS)]), skip=st.booleans()
)
def test_any_bytes_give_rows_or_an_input_error(tmp_path, data, suffix, skip):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)
    assert as_one_text(lines_of, path) == as_one_text(strings_of, path)
    try:
        rows = fields_of(path, ["source", "target"], LineErrors("skip" if skip else "raise"))
    except InputError as error:
        assert str(path) in str(error)
        return
    for number, source, target in rows:
        line = data.split(b"\n")[number - 1].rstrip(b"\r").replace(b"\r", b" ")
        assert line.removeprefix(b"\xef\xbb\xbf" if number == 1 else b"") == f"{source}\t{target}".encode()


@FUZZ
@given(
    rows=st.lists(st.lists(HARD_LINE.filter(lambda t: "\t" not in t), min_size=3, max_size=3), min_size=1, max_size=9)
)
def test_fields_come_back_exactly_and_never_shift(tmp_path, rows):
    path = tmp_path / "a.tsv"
    text = "".join("\t".join(row) + "\n" for row in rows)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    lines = [line.split("\t") for line in expected_lines("\ufeff" + text)]
    assert fields_of(path, ["a", "_", "c"]) == [(i, line[0], line[2]) for i, line in enumerate(lines, start=1)]


@pytest.mark.parametrize("reader", [check_readable, lines_of])
def test_an_empty_or_missing_file_and_a_folder_are_errors_at_once_and_when_read(tmp_path, reader):
    for name, content in (("a.txt", b""), ("b.txt", b"\xef\xbb\xbf")):
        (tmp_path / name).write_bytes(content)
        with pytest.raises(InputError, match="empty"):
            reader(tmp_path / name)
    with pytest.raises(InputError, match="no such file"):
        reader(tmp_path / "absent.txt")
    with pytest.raises(InputError, match="folder, not a file"):
        reader(tmp_path)


def test_bytes_that_are_not_utf8_are_named_by_line_and_keep_the_numbering_when_skipped(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntwo\nth\xe9\xe8e\nfour\n")
    with pytest.raises(InputError, match="0xe9 at byte 3") as caught:
        lines_of(path)
    assert caught.value.line == 3
    assert lines_of(path, "skip") == ["one", "two", None, "four"]


@FUZZ
@given(rows=st.lists(st.tuples(HARD_LINE, HARD_LINE), min_size=1, max_size=40), first_block=st.integers(1, 30))
def test_aligned_files_stay_aligned_whatever_the_lengths_of_their_lines(tmp_path, rows, first_block):
    paths = [tmp_path / "a", tmp_path / "b"]
    texts = ["".join(line + "\n" for line in side) for side in zip(*rows, strict=True)]
    for path, text in zip(paths, texts, strict=True):
        path.write_bytes(text.encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", first_block)
        seen: list[tuple[str, str]] = []
        for lines, block in read_aligned(paths, ("a", "b"), LineErrors()):
            assert lines.tolist() == list(range(len(seen) + 1, len(seen) + 1 + len(lines)))
            seen += zip(block["a"].to_pylist(), block["b"].to_pylist(), strict=True)
    assert seen == list(zip(*map(expected_lines, texts), strict=True))


@pytest.mark.parametrize("lengths", [(3, 5), (2000, 1)])
def test_unequal_line_counts_name_both_numbers(tmp_path, lengths, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 64)
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, length in zip(paths, lengths, strict=True):
        path.write_text("word\n" * length)
    with pytest.raises(InputError, match=f"{min(lengths)} lines, but .* has {max(lengths)}"):
        list(read_aligned(paths, ("a", "b"), LineErrors("skip")))


@pytest.mark.parametrize(("line", "wording"), [("", "no tab"), ("a\tb\t", "3 fields")])
def test_a_line_with_the_wrong_number_of_fields_is_named_or_skipped_alone(tmp_path, line, wording):
    path = tmp_path / "a.tsv"
    path.write_text(f"a\tb\n{line}\nc\td\n")
    with pytest.raises(InputError, match=wording) as caught:
        fields_of(path, ["source", "target"])
    assert caught.value.line == 2
    errors = LineErrors("skip")
    assert fields_of(path, ["source", "target"], errors) == [(1, "a", "b"), (3, "c", "d")]
    assert errors.count == 1
    path.write_text(f"source\ttarget\na\tb\n{line}\n")
    errors = LineErrors()
    with pytest.raises(InputError) as caught:
        list(read_tsv(path, ["source", "target"], errors, header="auto"))
    assert caught.value.line == 3 and errors.left_out["header"] == 1
    path.write_text("a\tb\tcredit\nc\td\n")
    assert fields_of(path, ["target", "source", "_"]) == [(1, "a", "b"), (2, "c", "d")]


@pytest.mark.parametrize(("suffix", "pack"), PACKERS)
def test_compressed_files_read_as_plain_ones_and_damaged_or_misnamed_ones_are_reported(tmp_path, suffix, pack):
    path, plain = tmp_path / f"a{suffix}", tmp_path / "a.txt"
    # Parallel compressors write several frames.
    for each in (path.with_suffix(suffix.upper()), path):
        each.write_bytes(pack("é\r\nb".encode()) + pack(b"c\n"))
        assert lines_of(each) == ["é", "bc"]
    path.write_bytes(pack(b"".join(b"%d\n" % (i * 7919) for i in range(5000)))[:-20])
    with pytest.raises(InputError, match="damaged or truncated"):
        lines_of(path, "skip")
    plain.write_bytes(pack(b"text\n"))
    with pytest.raises(InputError, match=rf"compressed \(\{suffix}\), not text"):
        lines_of(plain, "skip")


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("a cat\tthe cat\n".encode("utf-16-le"), "UTF-16, not UTF-8"),
        (b"PK\x03\x04...", "a zip archive, not text"),
        (b"\xef\xbb\xbfa\tb\rc\td\r", "carriage returns but no line feeds"),
    ],
)
def test_what_would_be_read_as_other_text_is_refused(tmp_path, content, message):
    (tmp_path / "a.tsv").write_bytes(content)
    with pytest.raises(InputError, match=message):
        lines_of(tmp_path / "a.tsv", "skip")


@pytest.mark.parametrize("block", [5, 1000])
@pytest.mark.parametrize(
    ("content", "kept"),
    [
        ('a\tb\n"one\ntwo"\tc\nd\te\n', [1, 4]),
        ('a\tb\nx\t"one\ntwo"\nd\te\n', [1, 4]),
        ('a\tb\n"He said ""no"""\tc\nd\te\n', [1, 3]),
        ('a\tb\n"a"\t"""No"" and ""yes"""\nd\te\n', [1, 3]),
        ('"Why?" "So."\t"Pourquoi ?""Parce que."\n"a"\t"b""c"\n', [1, 2]),
        ('"A." "B."\t"A.""B.""C."\n', [1]),
        ('a\t"open\nshut"\tb\n"x"\t"\n', [1, 2, 3]),
        ('"a\tb\nc\td\n', [1, 2]),
    ],
)
def test_lines_that_can_only_be_quoted_csv_are_left_out_whole_and_other_quotes_are_text(
    tmp_path, monkeypatch, content, kept, block
):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", block)
    path = tmp_path / "a.tsv"
    path.write_text(content)
    errors = LineErrors("skip")
    found = [line for lines, _ in read_tsv(path, ["x", "y"], errors, header="no") for line in lines.tolist()]
    assert found == kept
    assert errors.count == content.count("\n") - len(kept)
    if errors.count:
        with pytest.raises(InputError, match=r"quoted fields.*--csv|no tab"):
            list(read_tsv(path, ["x", "y"], LineErrors(), header="no"))


@pytest.mark.parametrize(
    ("line", "is_header"),
    [
        ("\ufeffid\tsource\ttarget\r", True),
        ('"text1"\t"text2"\t"label"', True),
        ("fr\ten", True),
        ("source\tThe target.", False),
        ("source\tsource", False),
        ("\t", False),
    ],
)
def test_a_line_of_names_of_columns_only_is_a_header(tmp_path, line, is_header):
    (tmp_path / "a.tsv.gz").write_bytes(gzip.compress(f"{line}\na\tb\n".encode()))
    assert (header_of(tmp_path / "a.tsv.gz", ["fr", "en"]) is not None) is is_header
