"""A row's machine as a recorded one: a directory such as tests/fake/trees has, for oarbank-probe --root."""
import base64
import binascii
import io
import itertools
import os
import shutil
import tarfile

from .rows import Run

# What the machine runs instead of the row's runs; its output is an archive in letters.
RUN = Run(
    name="record",
    who="row",
    kind="exit0",
    seconds=60,
    when="",
    files=["/build/record"],
    command=["/bin/sh", "-c", "/build/record /tmp/recorded && tar -c -C /tmp/recorded . | base64"],
)


class RecordError(Exception):
    pass


def head(directory):
    """The comment at the head of a recording that is there, which a person has written; or None."""
    try:
        with open(os.path.join(directory, "kernel.calls"), encoding="utf-8") as f:
            return "".join(itertools.takewhile(lambda line: line.startswith("#"), f)) or None
    except FileNotFoundError:
        return None


def write(output, directory, comment):
    """Make `directory` of what the machine sent. What was there goes, but the comment at its head."""
    try:
        archive = tarfile.open(fileobj=io.BytesIO(base64.b64decode(output)))
        members = {m.name: archive.extractfile(m).read() for m in archive.getmembers() if m.isfile()}
    except (binascii.Error, tarfile.TarError) as problem:
        raise RecordError(f"what the machine sent is no archive: {problem}")
    comment = head(directory) or f"# {comment}\n"
    shutil.rmtree(directory, ignore_errors=True)
    for name, data in members.items():
        path = os.path.normpath(os.path.join(directory, name))
        if not path.startswith(os.path.join(directory, "")):
            raise RecordError(f"'{name}' is outside")
        if name == "./kernel.calls":
            data = comment.encode() + b"\n" + data
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(data)
