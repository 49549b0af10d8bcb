#!/usr/bin/env python3
"""The initramfs: the cpio form byte by byte, libraries, applets, modules and their order."""
import lzma
import os
import shutil
import tempfile

from tap import TOP, main, raises, same

from harness import arch, cpio, cross, fetch, image, limit


def entries(data):
    """[(name, mode, uid, device, content)] of a newc archive, read by the book."""
    found, at = [], 0
    while at < len(data):
        if data[at] == 0:
            at += 1
            continue
        assert data[at : at + 6] == b"070701", f"no entry at {at}"
        number = [int(data[at + 6 + 8 * i : at + 14 + 8 * i], 16) for i in range(13)]
        name = data[at + 110 : at + 110 + number[11] - 1].decode()
        at = at + 110 + number[11] + 3 & ~3
        content = data[at : at + number[6]]
        at = at + number[6] + 3 & ~3
        if name != "TRAILER!!!":
            found.append((name, number[1], number[2], (number[9], number[10]), content))
    return found


def test_entries_of_every_kind():
    archive = cpio.Archive()
    archive.file("/a/b/c", b"12345", 0o755, 7, 7)
    archive.link("a/l", "b/c")
    archive.device("dev/console", 5, 1)
    same(entries(archive.bytes()), [
        ("a", 0o40755, 0, (0, 0), b""), ("a/b", 0o40755, 0, (0, 0), b""), ("a/b/c", 0o100755, 7, (0, 0), b"12345"),
        ("a/l", 0o120777, 0, (0, 0), b"b/c"), ("dev", 0o40755, 0, (0, 0), b""), ("dev/console", 0o20600, 0, (5, 1), b""),
    ])


def test_archives_follow_each_other():
    first, second = cpio.Archive(), cpio.Archive()
    first.file("one", b"1")
    second.file("two", b"22")
    both = first.bytes() + second.bytes()
    same(len(first.bytes()) % 512, 0)
    same([e[0] for e in entries(both)], ["one", "two"])


def test_a_tree_keeps_its_links():
    with tempfile.TemporaryDirectory() as top:
        os.makedirs(f"{top}/d")
        with open(f"{top}/d/f", "wb") as f:
            f.write(b"x")
        os.chmod(f"{top}/d/f", 0o750)
        os.symlink("d", f"{top}/link")
        archive = cpio.Archive()
        archive.tree(top, "in")
        same({e[0]: (e[1], e[4]) for e in entries(archive.bytes()) if e[0] not in ("in", "in/d")},
             {"in/d/f": (0o100750, b"x"), "in/link": (0o120777, b"d")})


def test_the_kernel_unpacks_what_cpio_reads():
    if not shutil.which("cpio"):
        return
    import subprocess

    archive = cpio.Archive()
    archive.file("a/b", b"hello")
    done = subprocess.run(["cpio", "-t"], input=archive.bytes(), capture_output=True, text=False)
    same(done.stdout.split(), [b"a", b"a/b"])


def test_libraries_come_with_a_program():
    program = os.path.realpath(shutil.which("cp"))
    found = image.libraries_of([program], arch.host())
    assert any(os.path.basename(name).startswith("libc.so") for name in found), found
    assert any("ld-linux" in name for name in found), found


def test_a_library_that_is_not_here():
    with tempfile.TemporaryDirectory() as root:
        raises(image.ImageError, "is not here", image.libraries_of, [os.path.realpath(shutil.which("cp"))], "amd64", root)


def test_applets_are_read_out_of_busybox():
    with tempfile.NamedTemporaryFile() as f:
        f.write(b"code\0[\0[[\0ash\0busybox\0cat\0zcip\0Usage")
        f.flush()
        same(image.applets(f.name), ["[", "[[", "ash", "cat", "zcip"])


def modules(top, contents):
    for name, depends in contents.items():
        data = b"\x7fELF..\0license=GPL\0depends=" + depends + b"\0name=x\0"
        path = f"{top}/kernel/{name}"
        os.makedirs(os.path.dirname(path), exist_ok=True)
        with open(path, "wb") as f:
            f.write(lzma.compress(data) if name.endswith(".xz") else data)


def test_modules_in_the_order_of_their_needs():
    with tempfile.TemporaryDirectory() as top:
        modules(top, {"a/top-one.ko.xz": b"mid,base", "b/mid.ko": b"base", "base.ko.xz": b""})
        files = image.module_files(top)
        order = image.module_order(["top-one"], files)
        same([name for name, _ in order], ["base", "mid", "top_one"])
        assert all(data.startswith(b"\x7fELF") for _, data in order)
        raises(image.ImageError, "no module other", image.module_order, ["other"], files)


def test_modules_the_way_out_needs():
    with tempfile.NamedTemporaryFile("w") as f:
        f.write("CONFIG_VIRTIO_PCI=m\nCONFIG_VIRTIO_CONSOLE=y\n# CONFIG_X is not set\n")
        f.flush()
        kernel = fetch.Kernel("k", "amd64", "b", "i", None, None, f.name)
        same(kernel.as_modules(["VIRTIO_PCI", "VIRTIO_CONSOLE", "X"]), ["virtio_pci"])
        kernel.config = None
        same(kernel.as_modules(["VIRTIO_PCI"]), [])


def test_what_a_sysroot_has_follows_the_project():
    with open(os.path.join(TOP, ".ci", "deps"), encoding="utf-8") as f:
        names = cross.libraries_to_build_with(f.read())
    assert "libbpf-dev" in names and all(name.endswith("-dev") for name in names), names
    raises(cross.CrossError, "build=", cross.libraries_to_build_with, "nothing")


def test_headers_of_a_release():
    same(limit.header_packages("6.12.95+deb12-cloud-amd64"),
         ["linux-headers-6.12.95+deb12-cloud-amd64", "linux-headers-6.12.95+deb12-common", "linux-kbuild-6.12.95+deb12"])
    same(limit.header_packages("6.1.0-50-amd64")[1], "linux-headers-6.1.0-50-common")
    raises(limit.LimitError, "no release", limit.header_packages, "6.12-mine")


main(globals())
