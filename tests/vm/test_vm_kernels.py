#!/usr/bin/env python3
"""From a source to a kernel: payloads of made images, files, .debs, URLs with their SHA-256."""
import gzip
import hashlib
import http.server
import lzma
import os
import shutil
import struct
import subprocess
import tempfile
import threading
import time

from tap import main, raises, same

from harness import arch as arches
from harness import debian, fetch, matrix, payload
from harness.arch import ARCHES


def elf(note=b"Xen\0", kind=18):
    """An ELF64 with one program header: a note."""
    body = struct.pack("<III", len(note), 4, kind) + note + b"\1\2\3\4"
    header = b"\x7fELF\x02\x01\x01" + bytes(9) + struct.pack("<HHIQQQIHHHHHH", 2, 62, 1, 0, 64, 0, 0, 64, 56, 1, 0, 0, 0)
    return header + struct.pack("<IIQQQQQQ", 4, 4, 120, 0, 0, len(body), len(body), 4) + body


def bzimage(compressed, sectors=3, version=0x20F, offset=64, length=len(elf())):
    image = bytearray((sectors + 1) * 512 + offset)
    image[0x1F1] = sectors
    image[0x202:0x206] = b"HdrS"
    struct.pack_into("<H", image, 0x206, version)
    stream = compressed + struct.pack("<I", length)
    struct.pack_into("<II", image, 0x248, offset, len(stream))
    return bytes(image) + stream + b"trailing code"


def test_a_vmlinux_out_of_every_compression():
    whole = elf()
    streams = [lzma.compress(whole, lzma.FORMAT_XZ), lzma.compress(whole, lzma.FORMAT_ALONE)]
    for tool in (["zstd", "-qc"], ["lz4", "-lqc"], ["bzip2", "-qc"]):
        if shutil.which(tool[0]):
            streams.append(subprocess.run(tool, input=whole, stdout=subprocess.PIPE, check=True).stdout)
    for stream in streams:
        same(payload.vmlinux(bzimage(stream)), whole)


def test_gzip_counts_its_length_word_itself():
    stream = gzip.compress(elf())
    image = bytearray(bzimage(stream))
    struct.pack_into("<I", image, 0x24C, len(stream))
    same(payload.vmlinux(bytes(image)), elf())


def test_setup_sectors_of_zero_are_four():
    image = bytearray(bzimage(lzma.compress(elf()), sectors=4))
    image[0x1F1] = 0
    same(payload.vmlinux(bytes(image)), elf())


def test_images_that_are_none():
    good = bzimage(lzma.compress(elf()))
    raises(payload.PayloadError, "HdrS", payload.vmlinux, bytes(4096))
    raises(payload.PayloadError, "2.07", payload.vmlinux, bzimage(b"x" * 20, version=0x207))
    raises(payload.DamagedError, "outside", payload.vmlinux, good[: len(good) // 2])
    raises(payload.PayloadError, "no known compression", payload.vmlinux, bzimage(b"plain bytes"))
    raises(payload.PayloadError, "PVH", payload.vmlinux, bzimage(lzma.compress(elf(kind=17))))
    raises(payload.PayloadError, "PVH", payload.vmlinux, bzimage(lzma.compress(elf(note=b"Xfn\0"))))


def test_a_program_that_is_not_installed_may_come_along():
    kernel = bzimage(b"\x28\xb5\x2f\xfd" + elf())
    path, os.environ["PATH"] = os.environ["PATH"], "/nonexistent"
    try:
        raises(payload.PayloadError, "zstd is needed", payload.vmlinux, kernel)
        payload.elsewhere["zstd"] = ["/bin/sh", "-c", "/usr/bin/tail -c +5", "a zstd that is none"]
        same(payload.vmlinux(kernel), elf())
    finally:
        payload.elsewhere.clear()
        os.environ["PATH"] = path


def test_damaged_images_are_said_to_be():
    """Every byte of small images changed, and every place to cut them: a kernel, or words."""
    whole = elf()
    images = [bzimage(gzip.compress(whole)), bzimage(lzma.compress(whole)), bzimage(lzma.compress(whole, lzma.FORMAT_ALONE))]
    for image in images:
        start = image.index(b"HdrS") - 0x202
        for at in [*range(start + 0x1F0, 0x270), *range(4 * 512, len(image))]:
            for bad in (image[:at], image[:at] + bytes([image[at] ^ 0xFF]) + image[at + 1 :]):
                try:
                    payload.arch_of(bad)
                    payload.vmlinux(bad)
                except payload.PayloadError:
                    pass
    raises(payload.DamagedError, "breaks off", payload.vmlinux, bzimage(lzma.compress(whole)[:-20]))
    raises(payload.DamagedError, "breaks off: 140 of 999 bytes", payload.vmlinux, bzimage(lzma.compress(whole), length=999))
    if shutil.which("zstd"):
        stream = subprocess.run(["zstd", "-qc"], input=whole + os.urandom(300000), stdout=subprocess.PIPE, check=True).stdout
        raises(payload.DamagedError, "breaks off", payload.vmlinux, bzimage(stream[:200000], length=300132))


def test_a_kernel_that_never_ends():
    most = payload.KERNEL_BYTES_MAX
    payload.KERNEL_BYTES_MAX = 1 << 20
    try:
        big = bytes(3 << 20)
        streams = [lzma.compress(big), gzip.compress(big)]
        if shutil.which("zstd"):
            streams.append(subprocess.run(["zstd", "-qc"], input=big, stdout=subprocess.PIPE, check=True).stdout)
        for stream in streams:
            raises(payload.DamagedError, "more than 1 MiB", payload.decompress, stream)
    finally:
        payload.KERNEL_BYTES_MAX = most


def flat_image(arch):
    image = bytearray(256)
    image[0:2] = b"MZ"
    image[0x38:0x3C] = ARCHES[arch].magic
    return bytes(image)


def zboot(arch):
    """An EFI program with a compressed kernel in it."""
    stream = gzip.compress(flat_image(arch))
    head = b"MZ\0\0zimg" + struct.pack("<II", 128, len(stream)) + bytes(44) + struct.pack("<I", 64)
    return (head + b"PE\0\0" + struct.pack("<H", ARCHES[arch].pe)).ljust(128, b"\0") + stream + b"rest"


FLAT = [name for name, arch in ARCHES.items() if arch.magic]


def test_flat_images():
    same(FLAT, ["arm64", "riscv64"])
    for arch in FLAT:
        plain = flat_image(arch)
        same(payload.flat_image(plain, arch), plain)
        same(payload.flat_image(gzip.compress(plain), arch), plain)
        same(payload.flat_image(zboot(arch), arch), plain)
        raises(payload.PayloadError, arch, payload.flat_image, bytes(256), arch)
    raises(payload.PayloadError, "riscv64", payload.flat_image, flat_image("arm64"), "riscv64")


def test_architectures_are_told_apart():
    same(payload.arch_of(bzimage(b"x" * 20)), "amd64")
    for arch in FLAT:
        same(payload.arch_of(flat_image(arch)), arch)
        same(payload.arch_of(gzip.compress(flat_image(arch))), arch)
        same(payload.arch_of(zboot(arch)), arch)
    for none in (b"", b"#!/bin/sh\n" + bytes(1000), gzip.compress(b"a tarball" * 99), b"\x1f\x8bbroken", b"MZ\0\0zimg" + bytes(99)):
        same(payload.arch_of(none), None)


def test_a_folder_of_kernels():
    image = bzimage(lzma.compress(elf()))
    with tempfile.TemporaryDirectory() as directory:
        write(f"{directory}/vmlinuz-9.9", image)
        write(f"{directory}/Image-9.9", flat_image("riscv64"))
        write(f"{directory}/bzImage-cut", image[: len(image) // 2])
        write(f"{directory}/linux-image-9-unsigned_1_amd64.deb", b"not a package")
        write(f"{directory}/linux-image-9-unsigned_2_amd64.deb", b"not a package")
        write(f"{directory}/notes.txt", b"to read\n")
        os.makedirs(f"{directory}/folder")
        said = []
        found = matrix.dropped_in(directory, said.append)
        same({row.name: row.arch for row in found},
             {"dir-image-9.9": "riscv64", "dir-bzimage-cut": "amd64", "dir-9": arches.host(), "dir-9-2": arches.host(),
              "dir-9.9": "amd64"})
        same(said, [f"{directory}/notes.txt is no kernel image and no .deb: left out"])
        for row in found:
            same((row.source.startswith(f"file:{directory}/"), row.abi, row.status), (True, None, None))
        answers = store(directory).kernels(found)
        why = {row.name: answers[row.source, row.arch] for row in found}
        same([name for name in why if isinstance(why[name], fetch.Kernel)], ["dir-image-9.9", "dir-9.9"])
        assert "unsigned_1" in str(why["dir-9"]) and "unsigned_2" in str(why["dir-9-2"]), why
        assert "bzImage-cut" in str(why["dir-bzimage-cut"]) and "outside of the file" in str(why["dir-bzimage-cut"]), why
    with tempfile.TemporaryDirectory() as directory:
        raises(fetch.FetchError, "no kernel image", matrix.dropped_in, directory, print)


def store(directory):
    return fetch.Store(os.path.join(directory, "build"), os.path.join(directory, "cache"))


def write(path, data):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as f:
        f.write(data)
    return path


def test_a_file_and_a_deb():
    image = bzimage(lzma.compress(elf()))
    with tempfile.TemporaryDirectory() as directory:
        kernel = store(directory).from_file(write(f"{directory}/vmlinuz-9.9-test", image))
        same((kernel.arch, kernel.release), ("amd64", "9.9-test"))
        with open(kernel.boot, "rb") as f:
            same(f.read(), elf())
        for place in ("boot/vmlinuz-9.9-test", "usr/lib/modules/9.9-test/vmlinuz"):
            write(f"{directory}/pkg/DEBIAN/control",
                  b"Package: k\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@x.invalid>\nDescription: x\n")
            write(f"{directory}/pkg/{place}", image)
            deb = f"{directory}/{place.split('/')[0]}.deb"
            subprocess.run(["dpkg-deb", "-b", f"{directory}/pkg", deb], check=True, stdout=subprocess.DEVNULL)
            shutil.rmtree(f"{directory}/pkg")
            kernel = store(directory).from_file(deb)
            same((kernel.arch, kernel.modules), ("amd64", deb))
        write(f"{directory}/pkg/DEBIAN/control",
              b"Package: k\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@x.invalid>\nDescription: x\n")
        subprocess.run(["dpkg-deb", "-b", f"{directory}/pkg", f"{directory}/e.deb"], check=True, stdout=subprocess.DEVNULL)
        for _ in range(2):  # the second time too: a failure must not be cached
            raises(fetch.FetchError, "0 kernel images", store(directory).from_file, f"{directory}/e.deb")
        raises(fetch.FetchError, "no such file", store(directory).from_file, f"{directory}/nothing")
        raises(fetch.FetchError, "not a kernel image", store(directory).from_file, write(f"{directory}/text", b"x" * 600))


def test_a_kernel_that_boots_as_it_is():
    said = []
    with tempfile.TemporaryDirectory() as directory:
        it = fetch.Store(directory, os.path.join(directory, "cache"), said.append)
        image = bzimage(b"plain bytes")
        kernel = it.from_file(write(f"{directory}/bzImage", image))
        with open(kernel.boot, "rb") as f:
            same(f.read(), image)
    assert "boots as it is" in said[0]


class Handler(http.server.SimpleHTTPRequestHandler):
    def log_message(self, *arguments):
        pass


def test_a_url_with_its_sha256():
    image = bzimage(lzma.compress(elf()))
    digest = hashlib.sha256(image).hexdigest()
    with tempfile.TemporaryDirectory() as directory:
        write(f"{directory}/www/vmlinuz-8.8", image)
        server = http.server.ThreadingHTTPServer(
            ("127.0.0.1", 0), lambda *a: Handler(*a, directory=f"{directory}/www"))
        threading.Thread(target=server.serve_forever, daemon=True).start()
        url = f"http://127.0.0.1:{server.server_port}/vmlinuz-8.8"
        try:
            kind, fields = fetch.parse_source(f"url:{url}#sha256={digest}")
            same((kind, fields), ("url", {"url": url, "sha256": digest}))
            it = store(directory)
            kernel = it._kernel(kind, fields, "amd64", {})
            same((kernel.arch, kernel.origin), ("amd64", url))
            files = f"{directory}/cache/files"
            raises(fetch.FetchError, "SHA-256 is " + digest, fetch.fetch_url, url, "0" * 64, files)
            raises(fetch.FetchError, "404", fetch.fetch_url, url + "x", digest, files)
            same(len(os.listdir(files)), 1)
            # The cache answers once the server has gone, but not with a file somebody changed.
            os.unlink(f"{directory}/www/vmlinuz-8.8")
            path = fetch.fetch_url(url, digest, files)
            write(path, b"changed")
            raises(fetch.FetchError, "404", fetch.fetch_url, url, digest, files)
        finally:
            server.shutdown()
            server.server_close()


class Odd(http.server.BaseHTTPRequestHandler):
    """A server that answers as /how says."""

    def log_message(self, *arguments):
        pass

    def do_GET(self):
        body = b"k" * 100
        if self.path == "/garbage":
            self.wfile.write(b"\0\1\2 no HTTP\r\n\r\n")
            return
        if self.path in ("/moved", "/loop", "/away"):
            to = {"/moved": "/good", "/loop": "/loop", "/away": "file:///etc/passwd"}[self.path]
            self.send_response(302)
            self.send_header("Location", to)
            self.end_headers()
            return
        self.send_response(200)
        if self.path == "/chunks":
            self.send_header("Transfer-Encoding", "chunked")
            self.end_headers()
            self.wfile.write(b"zz\r\nbroken")
            return
        if self.path != "/endless":
            self.send_header("Content-Length", "100")
        self.end_headers()
        if self.path == "/cut":
            body = body[:60]
        for i in range(len(body) if self.path == "/slow" else 1):
            self.wfile.write(body[i : i + 1] if self.path == "/slow" else body)
            if self.path == "/slow":
                time.sleep(0.05)
        while self.path == "/endless":
            self.wfile.write(body * 1000)


def test_servers_that_answer_oddly():
    digest = hashlib.sha256(b"k" * 100).hexdigest()
    most = fetch.URL_BYTES_MAX
    fetch.URL_BYTES_MAX = 1 << 20
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Odd)
    server.handle_error = lambda *_: None
    threading.Thread(target=server.serve_forever, daemon=True).start()
    url = f"http://127.0.0.1:{server.server_port}"
    try:
        with tempfile.TemporaryDirectory() as files:
            same(os.path.basename(fetch.fetch_url(f"{url}/moved", digest, files)), digest[:16] + "-moved")
            os.unlink(os.path.join(files, digest[:16] + "-moved"))
            for how, words in (
                ("cut", "broke off: 60 of 100 bytes"),
                ("endless", "more than 1 MiB"),
                ("garbage", "no HTTP"),
                ("chunks", "/chunks"),
                ("loop", "redirect"),
                ("away", "file:///etc/passwd"),
            ):
                raises(fetch.FetchError, words, fetch.fetch_url, f"{url}/{how}", digest, files)
            raises(fetch.FetchError, "too slow", fetch.fetch_url, f"{url}/slow", digest, files, 0.1)
            raises(fetch.FetchError, "http://h:port/", fetch.fetch_url, "http://h:port/x", digest, files)
            same(os.listdir(files), [])
    finally:
        fetch.URL_BYTES_MAX = most
        server.shutdown()
        server.server_close()


def test_a_full_disk_is_no_whole_tree():
    """What tar says of a pattern without a match must not hide what else it says."""
    with tempfile.TemporaryDirectory() as directory:
        write(f"{directory}/pkg/DEBIAN/control",
              b"Package: k\nVersion: 1\nArchitecture: amd64\nMaintainer: x <x@x.invalid>\nDescription: x\n")
        for name in ("one", "two"):
            write(f"{directory}/pkg/lib/modules/{name}", name.encode())
        deb = f"{directory}/k.deb"
        subprocess.run(["dpkg-deb", "-b", f"{directory}/pkg", deb], check=True, stdout=subprocess.DEVNULL)
        patterns = ("./lib/modules/*", "./usr/lib/modules/*")
        debian.unpack(deb, f"{directory}/good", patterns)
        same(sorted(os.listdir(f"{directory}/good/lib/modules")), ["one", "two"])
        # A file where tar needs a directory, as a disk without room for one.
        write(f"{directory}/bad/lib/modules", b"")
        raises(debian.DebianError, "lib/modules", debian.unpack, deb, f"{directory}/bad", patterns)
        with open(deb, "r+b") as f:
            f.truncate(os.path.getsize(deb) - 30)
        raises(debian.DebianError, "k.deb", debian.unpack, deb, f"{directory}/cut", patterns)


def test_an_odd_index_is_asked_for_anew():
    with tempfile.TemporaryDirectory() as directory:
        for text in (b"", b"[]", b"null", b'{"a": 1}', b'{"a": {"package": {}, "time": 1}}', b"\xff", b'{"a": {"time": 1}}'):
            write(f"{directory}/cache/index.json", text)
            same(store(directory)._index, {})


def test_a_cache_that_cannot_be_written():
    with tempfile.TemporaryDirectory() as directory:
        write(f"{directory}/cache", b"a file")

        def lock():
            with store(directory).locked():
                pass

        raises(fetch.FetchError, "name another in VM_CACHE", lock)


def test_sources_that_are_none():
    for source in ("url:http://h/x", "url:http://h/x#sha256=12", "url:ftp://h/x#sha256=" + "0" * 64, "debian:suite", "debian:/x"):
        raises(fetch.FetchError, source, fetch.parse_source, source)


def test_a_tree_is_whole_or_not_there():
    with tempfile.TemporaryDirectory() as directory:
        it = store(directory)

        def half(path):
            write(f"{path}/a", b"1")
            raise fetch.FetchError("broke off")

        raises(fetch.FetchError, "broke off", it.tree, "t", half)
        same(os.listdir(f"{directory}/cache/trees"), [])
        made = it.tree("t", lambda path: write(f"{path}/a", b"2"))
        same(made, it.tree("t", half))


def test_an_unreachable_mirror_leaves_what_the_cache_has():
    said = []
    with tempfile.TemporaryDirectory() as directory:
        it = fetch.Store(directory, os.path.join(directory, "cache"), said.append)
        package = debian.Package("k-1", "1", "amd64", "0" * 64, 1, "pool/k-1_1_amd64.deb")
        write(os.path.join(it.debs, package.deb()), b"1")
        it._index = {"suite/k-*/amd64": {"package": package.__dict__, "time": 0}}

        def gone(*_):
            raise debian.DebianError("no route")

        it._apt.update = gone
        same(it.resolve([("suite", "k-*", "amd64")])["suite", "k-*", "amd64"][0], package)
        assert "no route" in said[-1]
        raises(debian.DebianError, "no route", it.resolve, [("suite", "other", "amd64")])


main(globals())
