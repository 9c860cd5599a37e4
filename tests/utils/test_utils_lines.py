"""The laws of `Lines`: what Python's text files read, and every place is found again."""

import bz2
import codecs
import gzip
import io
import json
import lzma
import pickle
import re
import sys

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from fuel.exceptions import StateMismatchError, StorageError
from fuel.utils import _lines
from fuel.utils._compressed import compression, open_bytes, pack
from fuel.utils._lines import Lines

PACKERS = {"": bytes, ".gz": gzip.compress, ".bz2": bz2.compress, ".xz": lzma.compress}
ENCODINGS = ["utf-8", "latin-1", "utf-16", "utf-32-le", "utf-8-sig", "cp500", "utf-7", "gb18030"]
#: Ends of lines, what only some programs take for one, and characters of several bytes.
CHARACTERS = "ab \n\r\v\f\x1c\x85é中"


@pytest.fixture(autouse=True)
def small_blocks(monkeypatch):
    """Blocks of a few bytes, so that short texts have many."""
    monkeypatch.setattr(_lines, "_BLOCK", 5)
    monkeypatch.setattr(_lines, "_SKIPPED", 3)


def texts(encoding):
    allowed = CHARACTERS
    if encoding in ("latin-1", "cp500"):
        allowed = allowed.replace("中", "")
    return st.text(allowed, max_size=40)


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("encoding", ENCODINGS)
def test_lines_are_those_of_a_text_file_and_every_place_is_found_again(tmp_path, encoding, ending):
    paths = [tmp_path / f"{number}{ending}" for number in range(2)]

    @settings(max_examples=8, deadline=None)
    @given(st.lists(texts(encoding), min_size=2, max_size=2))
    def check(contents):
        expected = []
        for path, content in zip(paths, contents, strict=True):
            raw = content.encode(encoding)
            path.write_bytes(PACKERS[ending](raw))
            with io.TextIOWrapper(io.BytesIO(raw), encoding=encoding) as file:
                expected += list(file)
        lines, marks = Lines(paths, encoding), []
        for number in range(len(expected) + 1):
            marks.append((json.loads(json.dumps(lines.tell())), pickle.dumps(lines)))
            line = next(lines, None)
            assert line == (expected[number] if number < len(expected) else None)
        for number, (mark, pickled) in enumerate(marks):
            lines.seek(mark)
            assert list(lines) == expected[number:]
            assert list(pickle.loads(pickled)) == expected[number:]

    check()


def test_a_newline_byte_means_a_newline_wherever_lines_are_cut_in_bytes():
    """The list of such encodings is right, for every character that they have."""
    names = {"utf-8"}
    for alias in set(__import__("encodings.aliases").aliases.aliases.values()):
        try:
            names.add(codecs.lookup(alias).name)
        except LookupError:  # of another system
            continue
    direct = [name for name in sorted(names) if _lines._DIRECT.fullmatch(name)]
    assert len(direct) > 50
    assert not {"utf-7", "utf-16", "utf-32-be", "cp500", "hz", "iso2022_jp"} & set(direct)
    # Far apart in Unicode, all that have a newline in some encoding in two bytes among them.
    characters = [chr(n) for n in range(14, 0xD800)] + ["\U00020000", *map(chr, range(10))]
    for name in direct:
        raw = "".join(characters).encode(name, "ignore")
        assert raw and not re.search(b"[\n\r]", raw), name
        assert b"\r\n".decode(name) == "\r\n"


def test_a_long_line_is_read_in_growing_blocks(tmp_path, monkeypatch):
    path = tmp_path / "long.txt"
    path.write_bytes(b"x" * 100_000 + b"\ny\n")
    sizes = []
    real = Lines._read
    monkeypatch.setattr(Lines, "_read", lambda self, n: (sizes.append(n), real(self, n))[1])
    assert [len(line) for line in Lines([path], "utf-8")] == [100_001, 2]
    assert len(sizes) < 25
    assert sum(sizes) < 1_000_000


@pytest.mark.parametrize("ending", PACKERS)
@pytest.mark.parametrize("content", [b"", b"ab\nc", b"abc\nde\nf\n", b"abcd"])
def test_a_file_that_changed_is_told(tmp_path, ending, content):
    path = tmp_path / f"a.txt{ending}"
    path.write_bytes(PACKERS[ending](b"ab\ncd\nef\n"))
    lines = Lines([path], "utf-8")
    assert [next(lines), next(lines)] == ["ab\n", "cd\n"]
    mark = lines.tell()
    lines.close()
    path.write_bytes(PACKERS[ending](content))
    for _ in range(2):
        with pytest.raises(StateMismatchError, match=r"a\.txt.*after line 2: .*; restore the file"):
            next(lines)
    fresh = Lines([path], "utf-8")
    fresh.seek(mark)
    with pytest.raises(StateMismatchError, match="not the file that reading was interrupted in"):
        next(fresh)


@pytest.mark.parametrize("encoding", ["utf-16", "utf-7"])
def test_a_shorter_file_in_another_encoding_is_told(tmp_path, encoding):
    path = tmp_path / "a.txt"
    path.write_text("ab\ncd\nef\n", encoding)
    lines = Lines([path], encoding)
    next(lines)
    next(lines)
    lines.close()
    path.write_text("ab\n", encoding)
    with pytest.raises(StateMismatchError, match="after line 2: it (is shorter|has fewer lines)"):
        next(lines)


def test_a_file_may_grow_behind_the_place(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"ab\ncd\n")
    lines = Lines([path], "utf-8")
    next(lines)
    lines.close()
    path.write_bytes(b"ab\ncd\nef")
    assert list(lines) == ["cd\n", "ef"]


def test_marks_that_older_versions_wrote_are_understood(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("é\r\nb\nc\n".encode())
    for mark in ([0, 1, 4], [0, 1, None], [0, 1, 2**64 + 17]):
        lines = Lines([path], "utf-8")
        lines.seek(mark)
        assert list(lines) == ["b\n", "c\n"]
    with pytest.raises(StateMismatchError, match="file number 3, but there are only 1"):
        lines.seek([2, 0, 0])


@pytest.mark.parametrize("ending", [".gz", ".bz2", ".xz"])
def test_lines_before_the_damage_come_first(tmp_path, ending):
    many = b"".join(b"%d\n" % number for number in range(6000))
    packed = PACKERS[ending](many)
    path = tmp_path / f"a{ending}"
    path.write_bytes(packed[: len(packed) // 2])
    lines, found = Lines([path], "ascii"), []
    with pytest.raises(StorageError, match=rf"a\{ending}' cannot be read after line .*damaged"):
        for line in lines:
            found.append(line)
    assert found == [f"{number}\n" for number in range(len(found))]
    if ending != ".bz2":  # its blocks are larger than this file
        assert found
    with pytest.raises(StorageError, match=f"after line {len(found)}:"):
        next(lines)


def test_other_damage_is_told(tmp_path):
    for ending in PACKERS:
        if ending:
            path = tmp_path / f"plain{ending}"
            path.write_bytes(b"no archive\n" * 10)
            with pytest.raises(StorageError, match="cannot be read after line 0"):
                next(Lines([path], "utf-8"))
    with pytest.raises(FileNotFoundError, match="nowhere' cannot be read after line 0"):
        next(Lines([tmp_path / "nowhere"], "utf-8"))
    with pytest.raises(StorageError, match="cannot be read"):
        next(Lines([tmp_path], "utf-8"))


def test_a_wrong_byte_names_its_line_and_is_passed(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes(b"one\ntw\xff\nthree\n")
    lines = Lines([path], "utf-8")
    assert next(lines) == "one\n"
    with pytest.raises(UnicodeDecodeError, match=r"\(line 2 of '.*a\.txt'; name the file's"):
        next(lines)
    assert lines.tell() == [0, 1, 4]
    assert next(lines) == "three\n"
    lines.accept()
    assert lines.tell() == [0, 3, 14]


def test_a_wrong_byte_in_a_text_file_of_python_is_never_passed(tmp_path):
    path = tmp_path / "a.txt"
    path.write_bytes("one\ntwo\n".encode("utf-16") + b"\x00")
    lines = Lines([path], "utf-16")
    with pytest.raises(UnicodeDecodeError, match="after line"):
        list(lines)
    with pytest.raises(UnicodeDecodeError, match="after line"):
        next(lines)


def test_zstandard_needs_a_new_python(tmp_path):
    path = tmp_path / "a.zst"
    path.write_bytes(b"")
    if sys.version_info < (3, 14):
        with pytest.raises(StorageError, match=r"a\.zst.*use Python 3\.14 or newer"):
            next(Lines([path], "utf-8"))
    else:
        path.write_bytes(pack(str(path), b"ab\n"))
        assert list(Lines([path], "utf-8")) == ["ab\n"]


@pytest.mark.parametrize("ending", ["", ".gz", ".bz2", ".xz", ".lzma", ".GZ"])
def test_what_is_packed_is_read_and_is_the_same_each_time(tmp_path, ending):
    path = str(tmp_path / f"a{ending}")
    assert compression(path) == (ending.lower() or None)
    content = pack(path, b"ab\ncd" * 100)
    assert content == pack(path, b"ab\ncd" * 100)
    (tmp_path / f"a{ending}").write_bytes(content)
    file = open_bytes(path)
    assert file.read() == b"ab\ncd" * 100
    file.close()


def test_the_platforms_encoding_is_kept_in_a_pickle(tmp_path, monkeypatch):
    (tmp_path / "a.txt").write_bytes(b"\xe9\n\xe9\n")
    monkeypatch.setattr("locale.getpreferredencoding", lambda _=True: "latin-1")
    pickled = pickle.dumps(Lines([tmp_path / "a.txt"], None))
    monkeypatch.setattr("locale.getpreferredencoding", lambda _=True: "ascii")
    assert list(pickle.loads(pickled)) == ["é\n", "é\n"]
