#!/usr/bin/env python3
"""What a machine sent becomes a recording; what a person wrote at its head stays."""
import base64
import io
import os
import tarfile
import tempfile

from tap import main, raises, same

from harness import record


def sent(files):
    data = io.BytesIO()
    with tarfile.open(fileobj=data, mode="w") as archive:
        for name, text in files.items():
            member = tarfile.TarInfo(name)
            member.size = len(text)
            archive.addfile(member, io.BytesIO(text))
    return base64.encodebytes(data.getvalue()).decode()


def read(path):
    with open(path, encoding="utf-8") as f:
        return f.read()


def test_a_recording_and_a_newer_one():
    with tempfile.TemporaryDirectory() as top:
        tree = os.path.join(top, "vm-x")
        record.write(sent({"./kernel.calls": b"ids = 0 0\n", "./proc/old": b"1\n"}), tree, "A machine.")
        same(read(f"{tree}/kernel.calls"), "# A machine.\n\nids = 0 0\n")
        with open(f"{tree}/kernel.calls", "w", encoding="utf-8") as f:
            f.write("# What it shows,\n# at length.\n\nids = 0 0\n")
        record.write(sent({"./kernel.calls": b"ids = 1 1\n", "./proc/new": b"2\n"}), tree, "A machine.")
        same(read(f"{tree}/kernel.calls"), "# What it shows,\n# at length.\n\nids = 1 1\n")
        same(os.listdir(f"{tree}/proc"), ["new"])


def test_what_is_no_recording():
    with tempfile.TemporaryDirectory() as top:
        tree = os.path.join(top, "vm-x")
        raises(record.RecordError, "no archive", record.write, "", tree, "x")
        raises(record.RecordError, "no archive", record.write, base64.encodebytes(b"x" * 2000).decode(), tree, "x")
        raises(record.RecordError, "outside", record.write, sent({"./../y": b"z"}), tree, "x")
        same(os.path.exists(os.path.join(top, "y")), False)


main(globals())
