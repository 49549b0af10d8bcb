#!/usr/bin/env python3
"""The cache: a run that is killed while it fills it, two that fill it at once. The mirror is a directory."""
import dataclasses
import hashlib
import os
import signal
import subprocess
import tempfile
import time

from tap import main, same

from harness import debian, fetch, matrix, qemu, rows
from harness.mortal import mortal


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def read(path):
    with open(path, "rb") as f:
        return f.read()


def package(top, name, depends):
    """A .deb with one file of its own name; returns its lines for the index."""
    control = f"Package: {name}\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@x.invalid>\nDescription: x\n"
    control += f"Depends: {depends}\n" if depends else ""
    write(f"{top}/tree/{name}/DEBIAN/control", control.encode())
    write(f"{top}/tree/{name}/usr/{name}", name.encode())
    deb = f"{name}_1_amd64.deb"
    subprocess.run(["dpkg-deb", "-b", f"{top}/tree/{name}", f"{top}/{deb}"], check=True, stdout=subprocess.DEVNULL)
    data = read(f"{top}/{deb}")
    return control + f"Filename: {deb}\nSize: {len(data)}\nSHA256: {hashlib.sha256(data).hexdigest()}\n\n"


def mirror(top):
    """A mirror with the package `whole`, which needs `part`, in the suite bookworm."""
    index = (package(top, "whole", "part") + package(top, "part", "")).encode()
    write(f"{top}/dists/bookworm/main/binary-amd64/Packages", index)
    release = "Suite: bookworm\nCodename: bookworm\nComponents: main\nArchitectures: amd64\nSHA256:\n"
    release += f" {hashlib.sha256(index).hexdigest()} {len(index)} main/binary-amd64/Packages\n"
    write(f"{top}/dists/bookworm/Release", release.encode())
    return {"uris": f"copy:{top}", "trusted": "yes"}


def store(directory):
    it = fetch.Store(os.path.join(directory, "build"), os.path.join(directory, "cache"))
    it._apt._mirror = mirror(os.path.join(directory, "mirror"))
    return it


def closure(it):
    with it.locked():
        return it.closure("it", ["whole"], ["bookworm"])


def until(condition):
    end = time.monotonic() + 60
    while not condition():
        assert time.monotonic() < end, "nothing has happened"
        time.sleep(0.005)


def child(function):
    """A process that runs `function` and is never done on its own."""
    pid = os.fork()
    if pid == 0:
        try:
            function()
            signal.pause()
        finally:
            os._exit(1)
    return pid


def kill(pid):
    os.kill(pid, signal.SIGKILL)
    os.waitpid(pid, 0)


def unfinished(directory):
    return [name for _, folders, files in os.walk(f"{directory}/cache") for name in folders + files if fetch.PART in name]


def test_a_run_that_is_killed_when_all_is_fetched_and_nothing_unpacked():
    with tempfile.TemporaryDirectory() as directory:
        def fill():
            debian.unpack = lambda *_: (write(f"{directory}/reached", b""), signal.pause())
            closure(store(directory))

        pid = child(fill)
        until(lambda: os.path.exists(f"{directory}/reached"))
        kill(pid)
        assert unfinished(directory)
        tree = closure(store(directory))
        same((read(f"{tree}/usr/whole"), read(f"{tree}/usr/part")), (b"whole", b"part"))
        same((unfinished(directory), sorted(os.listdir(tree))), ([], ["usr"]))


def test_a_download_that_is_killed():
    with tempfile.TemporaryDirectory() as directory:
        it = store(directory)
        write(f"{it.debs}/get.part/whole_1_amd64.deb", b"half")
        write(f"{it.debs}/get.part/other.deb", b"")
        with it.locked():
            found = it.resolve([("bookworm", "whol*", "amd64")])
        ((found, path),) = found.values()
        same((found.name, debian.sha256_file(path), unfinished(directory)), ("whole", found.sha256, []))


def test_one_at_a_time():
    package = debian.Package("p", "1", "amd64", "0" * 64, 1, "p_1_amd64.deb")
    entry = {"package": dataclasses.asdict(package), "time": 1.0}
    with tempfile.TemporaryDirectory() as directory:
        def hold():
            it = store(directory)
            with it.locked():
                it.tree("t", lambda path: write(f"{path}/a", b"1"))
                it._index["k"] = entry
                it._save()
                write(f"{directory}/held", b"")
                until(lambda: os.path.exists(f"{directory}/waits"))

        pid = child(hold)
        until(lambda: os.path.exists(f"{directory}/held"))
        it = store(directory)
        it._index = {}
        it.say = lambda text: write(f"{directory}/waits", text.encode())
        with it.locked():
            same(read(it.tree("t", lambda path: write(f"{path}/a", b"2")) + "/a"), b"1")
            same(it._index, {"k": entry})
        kill(pid)
        assert b"waiting for another run" in read(f"{directory}/waits")


def test_nothing_outlives_a_run():
    if mortal(["x"]) == ["x"]:
        print("# no setpriv here")
        return
    with tempfile.TemporaryDirectory() as directory:
        def start():
            subprocess.Popen(mortal(["sh", "-c", f"echo $$ >{directory}/new; mv {directory}/new {directory}/pid; exec sleep 1000"]))

        parent = child(start)
        until(lambda: os.path.exists(f"{directory}/pid"))
        pid = read(f"{directory}/pid").strip().decode()
        kill(parent)
        until(lambda: not os.path.exists(f"/proc/{pid}") or ") Z " in read(f"/proc/{pid}/stat").decode())


def interrupted(directory):
    """A run of four rows, two at a time, each of which boots for ever; its exit code is that of the process."""
    def check(row):
        files = [f"{directory}/{row.name}.console", f"{directory}/{row.name}.channel"]
        for _ in range(2):  # as one that crashed
            outcome = qemu.boot(["sh", "-c", f"echo >{directory}/{row.name}.up; exec sleep 1000"], files, 900)
        return outcome

    def run(arguments, here):
        it = matrix.Matrix.__new__(matrix.Matrix)
        it.jobs, it.rows, it.check = 2, [rows.Row(n, "amd64", "", "", {}, None, 6, {}, {}) for n in "abcd"], check
        it.check_all()

    signal.signal(signal.SIGINT, signal.default_int_handler)
    matrix._run = run
    os._exit(matrix.run(None, None))


def test_a_run_that_is_interrupted_leaves_no_machine_and_starts_no_other():
    with tempfile.TemporaryDirectory() as directory:
        pid = child(lambda: interrupted(directory))
        until(lambda: all(os.path.exists(f"{directory}/{name}.up") for name in "ab"))
        machines = subprocess.run(["pgrep", "-P", str(pid)], stdout=subprocess.PIPE, text=True).stdout.split()
        same(len(machines), 2)
        os.kill(pid, signal.SIGINT)
        ended = []

        def has_ended():
            gone, status = os.waitpid(pid, os.WNOHANG)
            ended.extend([os.waitstatus_to_exitcode(status)] if gone else [])
            return ended

        until(has_ended)
        same(ended, [130])
        for machine in machines:
            until(lambda: not os.path.exists(f"/proc/{machine}"))
        same([name for name in "cd" if os.path.exists(f"{directory}/{name}.up")], [])


main(globals())
