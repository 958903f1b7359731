"""Object code on disk, so that a program is compiled once and not again in every process.

The folder is the user's own: that of ``LAMINA_CACHE_DIR``, else the one that the system has for caches. With
``LAMINA_CACHE=0`` there is none. An entry is a file whose name is a hash of all that determines the code. It is written
beside its place and moved there, so it is whole, whoever else reads or writes; still nothing of it is believed before
its checksum is right. Whatever goes wrong here, the code is made anew, and one warning says so.
"""

import hashlib
import os
import re
import stat
import struct
import tempfile
from collections.abc import Callable, Iterator
from contextlib import suppress
from pathlib import Path

from lamina.errors import warn

LIMIT = 128 << 20  # bytes of all entries; those that were used longest ago go first

_MAGIC = b"lamina 1"  # another form of an entry, or another way to make code from the same text, is another number
_HEADER = struct.Struct("<8sQ32s")  # magic, length of the code, checksum of key and code
_NAME = re.compile(r"[0-9a-f]{40}|\.[0-9a-f]{40}\.\w+")  # entries, and drafts of entries


def kept(determined_by: tuple[str, ...], make: Callable[[], bytes]) -> bytes:
    """The code that all these strings determine: from the folder, or made and put there."""
    folder = cache_folder()
    if folder is None:
        return make()
    key = hashlib.blake2b(_MAGIC, digest_size=20)
    for part in determined_by:
        key.update(b"%d:" % len(part))
        key.update(part.encode())
    name = key.hexdigest()
    code = _read(folder, name)
    if code is None:
        code = make()
        _write(folder, name, code)
    return code


def cache_folder() -> Path | None:
    """The folder of the entries, which need not be there yet; None if there is to be none."""
    if os.environ.get("LAMINA_CACHE") == "0":
        return None
    if named := os.environ.get("LAMINA_CACHE_DIR"):
        return Path(named)
    import platformdirs

    folder = platformdirs.user_cache_path("lamina", appauthor=False)
    return folder if folder.is_absolute() else None  # "~/…" of a user who has no home


def entries(folder: Path) -> Iterator[tuple[str, os.stat_result]]:
    """The paths in a folder that are entries, also unfinished ones; another process may be removing them."""
    with suppress(FileNotFoundError), os.scandir(folder) as found:
        for each in found:
            if _NAME.fullmatch(each.name):
                with suppress(FileNotFoundError):
                    yield each.path, each.stat(follow_symlinks=False)


def clear(folder: Path) -> None:
    """Remove the entries; other files stay. Raises `OSError` if they can't be removed."""
    for path, _ in entries(folder):
        with suppress(FileNotFoundError):
            os.unlink(path)


def _read(folder: Path, name: str) -> bytes | None:
    path = folder / name
    try:
        _expect_private(folder)
        with open(path, "rb") as file:
            fault = _fault(os.fstat(file.fileno()))
            content = file.read()
        code = content[_HEADER.size :]
        if not fault and content[: _HEADER.size] == _header(name, code):
            os.utime(path)  # it is the last that was used
            return code
        path.unlink()
    except FileNotFoundError:
        pass  # never there, or removed by another process
    except OSError as error:
        _warn(folder, error)
    return None


def _write(folder: Path, name: str, code: bytes) -> None:
    try:
        os.makedirs(folder, mode=0o700, exist_ok=True)
        _expect_private(folder)
        descriptor, draft = tempfile.mkstemp(prefix=f".{name}.", dir=folder)  # for the user alone
        try:
            with open(descriptor, "wb") as file:
                file.write(_header(name, code) + code)
            os.replace(draft, folder / name)
        except BaseException:
            with suppress(OSError):
                os.unlink(draft)
            raise
        if name.startswith("0"):  # one key in sixteen, for looking at all entries takes a while when they are many
            _prune(folder)
    except FileNotFoundError:
        pass  # another process cleared the folder meanwhile
    except OSError as error:
        _warn(folder, error)


def _header(name: str, code: bytes) -> bytes:
    checksum = hashlib.blake2b(name.encode() + code, digest_size=32).digest()
    return _HEADER.pack(_MAGIC, len(code), checksum)


def _prune(folder: Path) -> None:
    """Remove what was used longest ago, until the rest is within the limit."""
    size = 0
    for path, found in sorted(entries(folder), key=lambda entry: entry[1].st_mtime_ns, reverse=True):
        size += found.st_size
        if size > LIMIT:
            with suppress(FileNotFoundError):
                os.unlink(path)


def _expect_private(folder: Path) -> None:
    if fault := _fault(os.stat(folder)):
        raise PermissionError(f"{folder} {fault}")


def _fault(found: os.stat_result) -> str:
    """Why somebody else could have written what would be run; Windows keeps the folders of users apart itself."""
    if os.name != "posix":
        return ""
    if found.st_uid != os.getuid():
        return "belongs to another user"
    return "can be written by other users" if found.st_mode & (stat.S_IWGRP | stat.S_IWOTH) else ""


_WARNED: list[OSError] = []  # what this process has warned of: one thing at most


def _warn(folder: Path, error: OSError) -> None:
    if not _WARNED:
        _WARNED.append(error)
        warn(
            f"compiled code is not kept on disk: {error}. Give LAMINA_CACHE_DIR a folder that you alone can write to, "
            f"instead of {folder}, or turn this off with LAMINA_CACHE=0"
        )
