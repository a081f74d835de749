from __future__ import annotations

import bz2
import gzip
import lzma
from pathlib import Path

import pyarrow as pa
import pyarrow.parquet as pq
import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import hf_paraphrase.data.text_blocks as text_blocks
from hf_paraphrase.data.text_blocks import lines_of_text
from hf_paraphrase.data.text_files import LineErrors, check_readable, read_aligned, read_fields, read_lines
from hf_paraphrase.errors import InputError, UsageError

FUZZ = settings(max_examples=150, deadline=None, suppress_health_check=[HealthCheck.function_scoped_fixture])
# Line ends of other conventions, quotes, and words that CSV readers turn into missing values.
HARD_LINE = st.one_of(
    st.sampled_from(
        ["NA", "null", "nan", '"', '"a', "'", "\r", "a\rb", "a\x0cb", "\x0b", "a\u2028b", "\x85", "\ufeff"]
    ),
    st.text(st.characters(exclude_categories=["Cs"], exclude_characters="\n"), max_size=20),
)


def zstd(data: bytes) -> bytes:
    return pa.compress(data, codec="zstd", asbytes=True)


PACKERS = [(".gz", gzip.compress), (".bz2", bz2.compress), (".xz", lzma.compress), (".zst", zstd)]


def lines_of(path: Path, policy: str = "raise") -> list[str | None]:
    return [line for block in read_lines(path, LineErrors(policy)) for line in block.to_pylist()]


def strings_of(path: Path) -> list[str]:
    return [line for lines in lines_of_text(path) for line in lines]


def as_one_text(read, path: Path) -> str:
    """What a reader gives, or how it refuses."""
    try:
        return repr(read(path))
    except InputError as error:
        return str(error).replace(", or leave such lines out: --on-error skip", "")


def fields_of(path: Path, columns: list[str], errors: LineErrors | None = None, **options) -> list[tuple]:
    rows = []
    for numbers, block in read_fields(path, columns, errors or LineErrors(), **options):
        assert all(len(column) == len(numbers) for column in block.values())
        rows += zip(numbers.tolist(), *(column.to_pylist() for column in block.values()), strict=True)
    return rows


def expected_lines(text: str) -> list[str]:
    """The rules in plain Python: split at line feeds only, one carriage return before them belongs to the line end."""
    lines = text.removeprefix("\ufeff").split("\n")
    if lines[-1] == "":
        lines.pop()
    return [line.removesuffix("\r") for line in lines]


@FUZZ
@given(lines=st.lists(HARD_LINE, min_size=1, max_size=30), end=st.booleans(), block=st.integers(1, 40))
def test_any_text_comes_back_line_by_line_whatever_the_block_size(tmp_path, lines, end, block):
    text = "\n".join(lines) + ("\n" if end else "")
    path = tmp_path / "a.txt"
    path.write_bytes(text.encode())
    expected = expected_lines(text)
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", block)
        if not expected:
            with pytest.raises(InputError, match="empty"):
                lines_of(path)
        elif "\n" not in text and "\r" in text[:-1]:
            for reader in (lines_of, strings_of):
                with pytest.raises(InputError, match="no line feed"):
                    reader(path)
        else:
            assert lines_of(path) == expected
            assert strings_of(path) == expected


@FUZZ
@given(
    data=st.binary(max_size=200), suffix=st.sampled_from([".txt", *(name for name, _ in PACKERS)]), skip=st.booleans()
)
def test_any_bytes_give_rows_or_an_input_error(tmp_path, data, suffix, skip):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(data)
    assert as_one_text(lines_of, path) == as_one_text(strings_of, path)
    errors = LineErrors("skip" if skip else "raise")
    try:
        rows = fields_of(path, ["source", "target"], errors)
    except InputError as error:
        assert str(path) in str(error)
        return
    assert suffix == ".txt" or data
    for number, source, target in rows:
        assert data.split(b"\n")[number - 1].removesuffix(b"\r").removeprefix(
            b"\xef\xbb\xbf" if number == 1 else b""
        ) == (f"{source}\t{target}".encode())


@FUZZ
@given(
    rows=st.lists(st.lists(HARD_LINE.filter(lambda t: "\t" not in t), min_size=3, max_size=3), min_size=1, max_size=9)
)
def test_fields_come_back_exactly_and_never_shift(tmp_path, rows):
    path = tmp_path / "a.tsv"
    text = "".join("\t".join(row) + "\n" for row in rows)
    path.write_bytes(b"\xef\xbb\xbf" + text.encode())
    rows[-1][-1:] = [rows[-1][-1]]
    expected = [(i + 1, row[0], row[2].removesuffix("\r")) for i, row in enumerate(rows)]
    assert fields_of(path, ["a", "_", "c"]) == expected


@pytest.mark.parametrize(("suffix", "pack"), PACKERS)
def test_compressed_files_read_as_plain_ones(tmp_path, suffix, pack):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack("é\r\nb\n".encode()))
    assert lines_of(path) == ["é", "b"]


@pytest.mark.parametrize(("suffix", "pack"), PACKERS)
def test_a_truncated_compressed_file_is_an_error_even_when_lines_may_be_skipped(tmp_path, suffix, pack):
    path = tmp_path / f"a{suffix}"
    path.write_bytes(pack(b"".join(b"%d\n" % (i * 7919) for i in range(5000)))[:-20])
    with pytest.raises(InputError, match="damaged or truncated"):
        lines_of(path, "skip")


def test_plain_text_under_a_compressed_name_is_named_as_such(tmp_path):
    path = tmp_path / "a.gz"
    path.write_text("not compressed\n")
    with pytest.raises(InputError, match="damaged or truncated gzip"):
        lines_of(path)


@pytest.mark.parametrize(("suffix", "pack"), PACKERS)
def test_a_compressed_file_under_a_plain_name_is_reported_with_a_name_to_use(tmp_path, suffix, pack):
    path = tmp_path / "a.txt"
    path.write_bytes(pack(b"text\n"))
    with pytest.raises(InputError, match=rf"compressed, .*add \{suffix} to its name"):
        lines_of(path, "skip")


@pytest.mark.parametrize("encoding", ["utf-16", "utf-16-le", "utf-16-be"])
def test_text_in_utf_16_is_refused_instead_of_being_read_with_nuls_between_its_letters(tmp_path, encoding):
    path = tmp_path / "a.tsv"
    path.write_bytes("a cat\tthe cat\nb\tc\n".encode(encoding))
    with pytest.raises(InputError, match=r"a\.tsv: UTF-16, not UTF-8 \(convert it"):
        lines_of(path, "skip")


def test_a_parquet_file_is_not_called_text_in_another_encoding(tmp_path):
    pq.write_table(pa.table({"a": ["b"]}), tmp_path / "a.parquet")
    with pytest.raises(InputError, match=r"a\.parquet: a Parquet file, not text"):
        lines_of(tmp_path / "a.parquet", "skip")


@pytest.mark.parametrize("longest", [1 << 20, 4])
def test_line_ends_of_the_classic_mac_are_refused_instead_of_making_one_line_of_a_file(tmp_path, longest, monkeypatch):
    monkeypatch.setattr(text_blocks, "LONGEST_LINE_BYTES", longest)
    path = tmp_path / "a.tsv"
    path.write_bytes(b"\xef\xbb\xbfa\tb\rc\td\r")
    with pytest.raises(InputError, match=r"a\.tsv: 2 carriage returns and no line feed.*tr '\\r' '\\n'"):
        lines_of(path, "skip")


def test_a_lone_carriage_return_beside_a_line_feed_and_one_at_the_end_of_the_only_line_stay_as_they_were(tmp_path):
    path = tmp_path / "a.txt"
    for content, lines in ((b"a\rb\nc\rd", ["a\rb", "c\rd"]), (b"a\rb\n", ["a\rb"]), (b"a\r", ["a"])):
        path.write_bytes(content)
        assert lines_of(path) == strings_of(path) == lines


@pytest.mark.parametrize("content", [b"", b"\xef\xbb\xbf"])
def test_an_empty_file_is_an_error_at_once_and_when_read(tmp_path, content):
    path = tmp_path / "a.txt"
    path.write_bytes(content)
    for reader in (check_readable, lines_of):
        with pytest.raises(InputError, match="empty"):
            reader(path)


@pytest.mark.parametrize("reader", [check_readable, lines_of])
def test_a_missing_file_and_a_folder_are_input_errors(tmp_path, reader):
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
    errors = LineErrors("skip")
    assert [line for block in read_lines(path, errors) for line in block.to_pylist()] == ["one", "two", None, "four"]
    assert errors.count == 1
    assert ":3: " in errors.first[0]


def test_a_line_of_many_megabytes_is_an_error_not_a_memory_fault(tmp_path, monkeypatch):
    monkeypatch.setattr(text_blocks, "LONGEST_LINE_BYTES", 1000)
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 100)
    path = tmp_path / "a.txt"
    path.write_bytes(b"a\nb\n" + b"x" * 5000 + b"\nc\n")
    with pytest.raises(InputError, match="a line of more than") as caught:
        lines_of(path)
    assert caught.value.line == 3


@FUZZ
@given(
    rows=st.lists(st.tuples(HARD_LINE, HARD_LINE), min_size=1, max_size=40),
    first_block=st.integers(1, 30),
)
def test_aligned_files_stay_aligned_whatever_the_lengths_of_their_lines(tmp_path, rows, first_block):
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, side in zip(paths, zip(*rows, strict=True), strict=True):
        path.write_bytes("".join(line + "\n" for line in side).encode())
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(text_blocks, "BLOCK_BYTES", first_block)
        seen: list[tuple[str, str]] = []
        for line, (left, right) in read_aligned(paths, LineErrors()):
            assert line == len(seen) + 1
            seen += zip(left.to_pylist(), right.to_pylist(), strict=True)
    sides = [expected_lines("".join(line + "\n" for line in side)) for side in zip(*rows, strict=True)]
    assert seen == list(zip(*sides, strict=True))


@pytest.mark.parametrize("lengths", [(3, 5), (5, 3), (2000, 1), (1, 2000)])
def test_unequal_line_counts_name_both_numbers(tmp_path, lengths, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", 64)
    paths = [tmp_path / "a", tmp_path / "b"]
    for path, length in zip(paths, lengths, strict=True):
        path.write_text("word\n" * length)
    with pytest.raises(InputError, match=f"{min(lengths)} lines, but .* has {max(lengths)}"):
        list(read_aligned(paths, LineErrors("skip")))


@pytest.mark.parametrize(
    ("line", "wording"), [("no tab here", "no tab"), ("", "no tab"), ("a\tb\tc", "3 fields"), ("a\tb\t", "3 fields")]
)
def test_a_line_with_the_wrong_number_of_fields_is_named_or_skipped_alone(tmp_path, line, wording):
    path = tmp_path / "a.tsv"
    path.write_text(f"a\tb\n{line}\nc\td\n")
    with pytest.raises(InputError, match=wording) as caught:
        fields_of(path, ["source", "target"])
    assert caught.value.line == 2
    errors = LineErrors("skip")
    assert fields_of(path, ["source", "target"], errors) == [(1, "a", "b"), (3, "c", "d")]
    assert errors.count == 1


def test_fields_left_out_at_the_end_may_be_absent_but_others_may_not(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("a\tb\tcredit\nc\td\n")
    assert fields_of(path, ["target", "source", "_"]) == [(1, "a", "b"), (2, "c", "d")]
    with pytest.raises(InputError, match="2 fields where 3"):
        fields_of(path, ["target", "_", "source"])


@pytest.mark.parametrize("block", [1, 4, 1000])
def test_a_header_is_left_out_and_counted_in_line_numbers(tmp_path, block, monkeypatch):
    monkeypatch.setattr(text_blocks, "BLOCK_BYTES", block)
    path = tmp_path / "a.tsv"
    path.write_text("a header without tab\nc\td\ne\tf\n")
    assert fields_of(path, ["x", "y"], header_lines=1) == [(2, "c", "d"), (3, "e", "f")]


def test_a_line_bad_in_both_aligned_files_counts_once(tmp_path):
    for name in "ab":
        (tmp_path / name).write_bytes(b"x\n\xff\ny\n")
    errors = LineErrors("skip")
    list(read_aligned([tmp_path / "a", tmp_path / "b"], errors))
    assert errors.count == 1
    assert len(errors.first) == 2


def test_only_the_first_ten_skipped_lines_are_listed(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("bad\n" * 50 + "a\tb\n")
    errors = LineErrors("skip")
    fields_of(path, ["a", "b"], errors)
    assert (errors.count, len(errors.first)) == (50, 10)


def test_every_skipped_line_is_recorded_and_the_count_of_a_far_line_costs_one_bit_a_line(tmp_path):
    path = tmp_path / "a.tsv"
    path.write_text("bad\n" * 500 + "a\tb\n")
    listed = []
    errors = LineErrors("skip", record=lambda *record: listed.append(record))
    fields_of(path, ["a", "b"], errors)
    assert [(place, line) for place, line, _ in listed] == [(path, i) for i in range(1, 501)]
    errors.handle("again", path, 500, "fix it")
    errors.handle("far", path, 10_000_000, "fix it")
    assert errors.count == 501
    assert len(errors._seen) < 1_300_000


def test_a_unit_number_counts_once_where_lines_do_not_distinguish_records(tmp_path):
    errors = LineErrors("skip")
    for number in (1, 2, 2):
        errors.handle_record("bad", tmp_path, 1, "fix it", number)
    assert errors.count == 2


def test_several_frames_of_zstandard_are_one_file_as_parallel_compressors_write_it(tmp_path):
    path = tmp_path / "a.zst"
    path.write_bytes(zstd(b"one\ntw") + zstd(b"o\nthree\n"))
    assert lines_of(path) == ["one", "two", "three"]


def test_an_unknown_error_policy_is_refused():
    with pytest.raises(UsageError, match="ignore"):
        LineErrors("ignore")
