"""The lines of text files, one after the other: where a line begins is known in bytes.

Files are read in blocks of bytes, cut at the ends of lines, and decoded line by line: so a place
in a plain file is reached at once, and memory holds one block, or one line where that is longer.
Encodings in which the byte of a newline may mean something else (UTF-16, ISO-2022, EBCDIC ...) are
read by Python's own text files instead. What the lines mean is in `fuel.datasets.text`.
"""

from __future__ import annotations

import codecs
import contextlib
import io
import locale
import os
import re
from collections.abc import Iterable
from typing import Any

from fuel.exceptions import StateMismatchError
from fuel.typing import JSON
from fuel.utils._compressed import BytesFile, compression, errors, open_bytes, unreadable

__all__ = ["Lines", "text_encoding"]

#: Bytes read at a time: larger blocks were no faster.
_BLOCK = 1 << 16
#: Bytes thrown away at a time on the way to a place in a compressed file.
_SKIPPED = 1 << 17
#: Places in Python's text files from here on are no plain offsets: they hold a decoder's state.
_COOKIE = 1 << 63

#: Encodings in which the bytes 10 and 13 are newlines wherever they stand, and nothing else is.
_DIRECT = re.compile(
    r"utf-8|ascii|iso8859-\d+|koi8-[rtu]|mac-[a-z0-9]+|cp125\d|cp(437|720|737|775|8[56]\d|874|1125)"
    r"|kz1048|ptcp154|hp-roman8|tis-620|euc_(jp|jis_2004|jisx0213|kr)|gb2312|gbk|gb18030|big5"
    r"|big5hkscs|johab|cp(932|949|950)|shift_jis(_2004|x0213)?"
)
#: Encodings in which Python's text files know a place for certain.
_SEEKABLE = re.compile(r"utf-(16|32)(-[lb]e)?")


def text_encoding(encoding: Any) -> codecs.CodecInfo:
    """Return how text of an encoding is decoded.

    Parameters
    ----------
    encoding : str
        Its name.

    Returns
    -------
    codecs.CodecInfo
        What Python knows of it.

    Raises
    ------
    LookupError
        If there is no such encoding, or it is none of text.
    TypeError
        If it is no name.

    """
    hint = "use a name such as 'utf-8' or 'latin-1', or leave it out"
    if not isinstance(encoding, str):
        raise TypeError(f"`encoding` must be the name of one, got {encoding!r:.80}; {hint}")
    try:
        found = codecs.lookup(encoding)
        if getattr(found, "_is_text_encoding", True):
            return found
    except (LookupError, ValueError):
        pass
    raise LookupError(
        f"`encoding` must be one that Python knows, got {encoding!r:.80} (or it is none of text); "
        f"{hint}"
    )


class Lines:
    """An iterator over the lines of several files that remembers where it is.

    Parameters
    ----------
    files : iterable of path
        The files, compressed or not; see `fuel.utils._compressed.open_bytes`.
    encoding : str, optional
        Of all of them; that of the platform by default, as for `open`.

    Notes
    -----
    Lines end in ``"\\n"``, ``"\\r\\n"`` or ``"\\r"``, which become ``"\\n"``, as in Python's text
    files. A byte order mark at the beginning of a file is left out. One file is open at a time,
    and none before the first line is asked for. Picklable; a copy, and a forked child, goes on
    with the same next line. Not to be shared between threads.

    """

    def __init__(self, files: Iterable[str | os.PathLike[str]], encoding: str | None) -> None:
        self.files = [os.fspath(path) for path in files]
        # Resolved now, so that a pickle means the same on another machine.
        self.encoding = encoding or locale.getpreferredencoding(False)
        name = text_encoding(self.encoding).name
        name = "utf-8" if name == "utf-8-sig" else name  # the mark is left out anyway
        self._direct = _DIRECT.fullmatch(name) is not None
        self._seekable = _SEEKABLE.fullmatch(name) is not None
        self._codec = name if self._direct else self.encoding
        self._file_index = 0
        self._line = 0
        # Where the next line begins: a byte, or what `tell` of a text file says; None: count lines.
        self._offset: int | None = 0
        # The place of the first line that was handed out since, but was of no use.
        self._rejected: list[int | None] | None = None
        self._size = 0
        # Where the line begins that was asked for last; another object for each line.
        self.before: tuple[int, int, int | None] = (0, 0, 0)
        self._file: Any = None
        self._pid = 0
        self._forget()

    def _forget(self) -> None:
        """Have nothing read ahead."""
        self._waiting: list[Any] = []  # lines of the present block, the last one first
        self._tail = b""
        self._ended = False
        self._failure: Exception | None = None
        self._other_ends = False

    def __iter__(self) -> Lines:
        return self

    def __next__(self) -> str:
        self.before = (self._file_index, self._line, self._offset)
        try:
            if not self._waiting:
                self._fill()
            raw = self._waiting.pop()
            self._line += 1
            line: str
            if self._direct:
                self._size = size = len(raw)
                self._offset += size  # type: ignore[operator]
                line = raw.decode(self._codec)
                if self._other_ends:
                    if line.endswith("\r\n"):
                        line = line[:-2] + "\n"
                    elif line.endswith("\r"):
                        line = line[:-1] + "\n"
            else:
                line = raw
        except UnicodeDecodeError as error:
            if self._direct:
                self.reject()
                error.reason += f" ({self.place}; name the file's `encoding`)"
            raise
        except Exception:
            raise
        except BaseException:
            self.take_back()
            raise
        if self._line == 1:
            # The mark that some programs put before a text is no part of its first word.
            line = line.removeprefix("\ufeff")
            if not line:  # and no line, where it is all there is
                return next(self)
        return line

    @property
    def place(self) -> str:
        """Which line was handed out last, in words."""
        return f"line {self._line} of {self.files[self._file_index]!r}"

    # -- reading ----------------------------------------------------------------------------------

    def _fill(self) -> None:
        """Have at least one line waiting.

        Raises
        ------
        StopIteration
            After the last line of the last file.
        StorageError
            If the present file cannot be read.

        """
        while self._file_index < len(self.files):
            if self._file is None or self._pid != os.getpid():
                self._open()
            if self._cut_block() if self._direct else self._read_line():
                return
            self._release()
            self._file_index, self._line, self._offset = self._file_index + 1, 0, 0
        raise StopIteration

    def _cut_block(self) -> bool:
        """Read the next block and cut it into lines; False at the end of the file."""
        lines: list[bytes] = []
        data = self._tail
        while not lines and not self._ended:
            # As much again as there is, so that a long line is not copied once a block.
            block = self._read(max(_BLOCK, len(data)))
            data += block
            self._other_ends = b"\r" in data
            lines = data.splitlines(keepends=True)
            if not block:
                self._ended = True
                data = b""
            elif lines[-1].endswith(b"\n"):
                data = b""
            else:
                # Not the whole line; and what follows a "\r" may be its "\n".
                data = lines.pop()
        self._tail = data
        lines.reverse()
        self._waiting = lines
        return bool(lines)

    def _read(self, size: int) -> bytes:
        """Return so many bytes, fewer at the end and before damage."""
        if self._failure is not None:
            failure, self._failure = self._failure, None
            self._release()
            raise self._unreadable(failure) from failure
        parts: list[bytes] = []
        while size > 0:
            try:
                part = self._file.read1(size)
            except errors() as error:
                if not parts:
                    self._release()
                    raise self._unreadable(error) from error
                # First the lines before the damage.
                self._failure = error
                break
            if not part:
                break
            parts.append(part)
            size -= len(part)
        return b"".join(parts)

    def _read_line(self) -> bool:
        """Read a line through a text file; False at the end."""
        try:
            line = self._file.readline()
        except UnicodeError as error:
            # It has thrown away what it could not decode; the same line is read again.
            self._release()
            self._offset = None
            path = self.files[self._file_index]
            hint = f"(after line {self._line} of {path!r}; name the file's `encoding`)"
            if not isinstance(error, UnicodeDecodeError):  # a byte order mark may be missing
                raise UnicodeError(f"{error} {hint}") from error
            error.reason += f" {hint}"
            raise
        except errors() as error:
            self._release()
            self._offset = None
            raise self._unreadable(error) from error
        self._waiting = [line] if line else []
        return bool(line)

    def _unreadable(self, error: Exception) -> Exception:
        return unreadable(self.files[self._file_index], f" after line {self._line}", error)

    def _open(self) -> None:
        """Open the present file and go to the next line."""
        if self._file is not None:
            # We are a forked child: the file's place is shared with the parent, who moves it while
            # we read.
            if not self._direct:
                self._offset = None
            self._release()
        path = self.files[self._file_index]
        try:
            self._file, self._pid = open_bytes(path), os.getpid()
            if not self._direct:
                self._file = io.TextIOWrapper(self._file, encoding=self._codec)
            if self._line:
                self._go(path)
        except errors() as error:
            self._release()
            raise self._unreadable(error) from error
        except BaseException:
            self._release()
            raise

    # -- going to a place -------------------------------------------------------------------------

    def _go(self, path: str) -> None:
        """Go to the next line in the file that was just opened."""
        plain = compression(path) is None
        if not self._direct:
            if self._offset is None or not plain or not self._seekable:
                self._count_lines()
                return
            if self._offset & (1 << 64) - 1 > os.fstat(self._file.fileno()).st_size:
                raise self._changed("it is shorter now")
            self._file.seek(self._offset)
        elif self._offset is None or self._offset >= _COOKIE:
            self._count_lines()
        elif plain:
            if self._offset > os.fstat(self._file.fileno()).st_size:
                raise self._changed("it is shorter now")
            self._file.seek(max(0, self._offset - 1))
            self._check_end(self._file.read(min(1, self._offset)))
        else:
            self._check_end(self._skip(self._file, self._offset))

    def _skip(self, file: BytesFile, count: int) -> bytes:
        """Decompress so many bytes without looking at them; return the last one."""
        last = b""
        while count:
            part = file.read1(min(count, _SKIPPED))
            if not part:
                raise self._changed("it is shorter now")
            count -= len(part)
            last = part[-1:]
        return last

    def _check_end(self, last: bytes) -> None:
        """Make sure that a line ends where the next one is to begin."""
        if last in (b"\n", b"\r"):
            return
        self._tail = self._file.read1(1)
        if self._tail:
            raise self._changed("no line begins there now")

    def _count_lines(self) -> None:
        """Read up to the place, from the beginning of the file."""
        line, offset = self._line, 0
        read = self._cut_block if self._direct else self._read_line
        for _ in range(line):
            if not self._waiting and not read():
                raise self._changed("it has fewer lines now")
            offset += len(self._waiting.pop())
        if self._direct:
            self._offset = offset

    def _changed(self, how: str) -> StateMismatchError:
        return StateMismatchError(
            f"{self.files[self._file_index]!r} is not the file that reading was interrupted in, "
            f"after line {self._line}: {how}; restore the file, or begin without the state"
        )

    def _locate(self) -> int | None:
        """Return where the next line begins, None where only counting lines leads there."""
        if self._direct or self._file is None:
            return self._offset
        if self._pid != os.getpid() or not self._seekable:
            return None
        if compression(self.files[self._file_index]) is None:
            with contextlib.suppress(OSError):
                return int(self._file.tell())
        return None

    def tell(self) -> JSON:
        """Return a mark of the place behind the last line that was of use.

        Returns
        -------
        list of (int or None)
            The number of the file, that of its lines before the place, and the byte of the
            (decompressed) file; for encodings that are not read in bytes, what `tell` of Python's
            text files says, or None. Plain JSON.

        """
        if self._rejected is not None:
            return list(self._rejected)
        return [self._file_index, self._line, self._locate()]

    def seek(self, mark: JSON) -> None:
        """Go to a place.

        Parameters
        ----------
        mark : list
            What `tell` returned, perhaps in another process.

        Raises
        ------
        StateMismatchError
            If there are not so many files. A file that changed is noticed when it is read.

        """
        number, line, offset = mark
        if number + bool(line) > len(self.files):
            raise StateMismatchError(
                f"the state lies in file number {number + 1}, but there are only "
                f"{len(self.files)}; use the list of files that it was saved with"
            )
        self._release()
        self._rejected = None
        self._file_index, self._line, self._offset = number, line, offset

    def reject(self) -> None:
        """Keep the place of the line that was handed out last: it was of no use.

        Reading goes on behind it, but a saved place is before it until a later line is of use; see
        `accept`.
        """
        if self._rejected is None:
            before = (
                self._offset - self._size if self._direct and self._offset is not None else None
            )
            self._rejected = [self._file_index, self._line - 1, before]

    def take_back(self) -> None:
        """Go back to where the line begins that was asked for last: somebody interrupted."""
        index, line, offset = self.before
        self._release()
        # A text file does not tell cheaply where it was; its lines are counted.
        self._file_index, self._line = index, line
        self._offset = offset if self._direct else None

    @property
    def rejected(self) -> bool:
        """Whether a line was rejected since the last one that was of use."""
        return self._rejected is not None

    def accept(self) -> None:
        """Take the line that was handed out last as delivered."""
        self._rejected = None

    # -- leaving ----------------------------------------------------------------------------------

    def _release(self) -> None:
        """Close the file and forget what was read ahead; the place stays."""
        file, self._file = self._file, None
        if file is not None:
            with contextlib.suppress(*errors()):
                file.close()
        self._forget()

    def close(self) -> None:
        """Close the file; reading goes on at the same line if it is asked to."""
        self._offset = self._locate()
        self._release()

    def __del__(self) -> None:
        with contextlib.suppress(Exception):
            self._release()

    def __getstate__(self) -> dict[str, Any]:
        state = {**self.__dict__, "_offset": self._locate()}
        state.update(_file=None, _pid=0, _waiting=[], _tail=b"", _ended=False, _failure=None)
        return state
