"""What a test machine has on board: the initramfs, as a base that rows share and a part of its own."""
import glob
import lzma
import os
import re
import subprocess
import tempfile

from . import cpio, payload
from .arch import ARCHES

USER = 1000
# Directories a machine has; what is mounted on them is init's business.
DIRECTORIES = {
    "bin": 0o755, "sbin": 0o755, "usr/bin": 0o755, "usr/sbin": 0o755, "lib": 0o755, "lib64": 0o755, "etc": 0o755,
    "opt": 0o755, "var/lib": 0o755, "dev": 0o755, "proc": 0o755, "sys": 0o755, "run": 0o755, "tmp": 0o1777,
    "root": 0o700, "home": 0o755, "build": 0o755, "src": 0o755,
}  # fmt: skip
FILES = {
    "etc/passwd": "root:x:0:0:root:/root:/bin/sh\nuser:x:1000:1000:user:/home/user:/bin/sh\n",
    "etc/shadow": "root:*:20000:0:99999:7:::\nuser:*:20000:0:99999:7:::\n",
    "etc/group": "root:x:0:\nvideo:x:44:\nrender:x:105:\nuser:x:1000:\n",
    "etc/nsswitch.conf": "passwd: files\ngroup: files\nhosts: files\n",
    "etc/hosts": "127.0.0.1 localhost\n::1 localhost\n",
    "etc/hostname": "oarbank-vm\n",
    "etc/os-release": 'PRETTY_NAME="oarbank test machine"\nNAME="oarbank-vm"\nID=oarbank-vm\nVERSION_ID="1"\n',
    "etc/policy.json": '{"module":"vm","net":"none","exe":"/bin/true"}\n',
}


# The service of a row with pid1=systemd: an agent as systemd starts one. Nothing of the usual boot is
# needed before it, so nothing of it is waited for.
UNITS = {
    "oarbank.target": "[Unit]\nDefaultDependencies=no\nRequires=oarbank.service\n",
    "oarbank.service": """[Unit]
DefaultDependencies=no
[Service]
Type=oneshot
User=user
Delegate=yes
TimeoutStartSec=infinity
StandardOutput=null
StandardError=null
ExecStartPre=+/init open
ExecStart=/init unit
ExecStopPost=+/init finish
""",
}


class ImageError(Exception):
    pass


def needed(path):
    """The libraries an ELF file names, and its loader."""
    done = subprocess.run(["readelf", "-ldW", path], capture_output=True, text=True)
    if done.returncode:
        raise ImageError(f"{path}: {done.stderr.strip()}")
    libraries = re.findall(r"\(NEEDED\).*\[(.+)\]", done.stdout)
    return libraries + re.findall(r"program interpreter: (/[^]]+)\]", done.stdout)


def library_directories(root, arch):
    triplet = ARCHES[arch].triplet
    return [f"{root}{d}" for d in (f"/lib/{triplet}", f"/usr/lib/{triplet}", "/lib64", "/lib", "/usr/lib")]


def libraries_of(paths, arch, root=""):
    """{name in the machine: file here} of every library these programs need, and those need."""
    found, todo = {}, list(paths)
    while todo:
        for name in needed(todo.pop()):
            directories = [root + os.path.dirname(name)] if name.startswith("/") else library_directories(root, arch)
            base = os.path.basename(name)
            for directory in directories:
                if os.path.exists(os.path.join(directory, base)):
                    inside = os.path.join(directory, base)[len(root) :]
                    break
            else:
                raise ImageError(f"library {name} is not here")
            if inside not in found:
                found[inside] = os.path.realpath(root + inside)
                todo.append(found[inside])
    return found


def read(path):
    with open(path, "rb") as f:
        return f.read()


def stripped(path, strip):
    """The program without its debugging data. strip replaces its output file: never name /dev/stdout."""
    with tempfile.NamedTemporaryFile() as out:
        done = subprocess.run([*strip, "-o", out.name, path], capture_output=True)
        return read(out.name) if done.returncode == 0 else read(path)


def base(programs, busybox, arch, root="", strip=None):
    """The archive every row shares. `programs` is {path in the machine: file here}; `root` is where the
    libraries of another architecture are; `strip` the command that takes debugging data out."""
    archive = cpio.Archive()
    for name, mode in DIRECTORIES.items():
        archive.directory(name, mode)
    archive.directory("home/user", 0o755, USER, USER)
    archive.device("dev/console", 5, 1)
    archive.device("dev/null", 1, 3, 0o666)
    for name, text in FILES.items():
        archive.file(name, text.encode(), 0o640 if name == "etc/shadow" else 0o644)
    archive.file("bin/busybox", read(busybox), 0o755)
    elves = []
    taken = {inside.strip("/") for inside in programs}
    for applet in applets(busybox):
        if f"bin/{applet}" not in taken:
            archive.link(f"bin/{applet}", "busybox")
    for inside, here in programs.items():
        data = read(here)
        if data[:4] == b"\x7fELF":
            elves.append(here)
            if strip:
                data = stripped(here, strip)
        archive.file(inside, data, os.stat(here).st_mode & 0o777)
    for inside, here in libraries_of(elves, arch, root).items():
        archive.file(inside, read(here), 0o755)
    return archive.bytes()


def systemd(tree):
    """An archive with an unpacked systemd, and our service for it; goes before the base."""
    archive = cpio.Archive()
    for top in ("lib", "usr/lib", "bin", "sbin", "etc", "lib64"):
        if os.path.isdir(os.path.join(tree, top)):
            archive.tree(os.path.join(tree, top), top)
    for name, text in UNITS.items():
        archive.file(f"etc/systemd/system/{name}", text.encode())
    archive.file("etc/machine-id", b"0123456789abcdef0123456789abcdef\n")
    return archive.bytes()


def applets(busybox):
    """The names busybox answers to, as it holds them: a table of strings between [ and zcip."""
    table = re.search(rb"(\[\0\[\[\0(?:[a-z0-9][a-z0-9._-]*\0)+)", read(busybox))
    if not table:
        raise ImageError(f"{busybox}: no table of applets in it")
    return [name.decode() for name in table[1].split(b"\0") if name and name != b"busybox"]


# ---- modules ----


def module_files(top):
    """{name: path} of every module below `top`."""
    found = {}
    for path in glob.glob(os.path.join(glob.escape(top), "**", "*.ko*"), recursive=True):
        name = os.path.basename(path).split(".ko")[0].replace("-", "_")
        found[name] = path
    return found


def module_bytes(path):
    data = read(path)
    return payload.decompress(data) if payload.compression(data) else data


def module_order(names, files, builtin=frozenset()):
    """[(name, bytes)] of these modules and what they depend on, in the order to load them."""
    done, order = set(), []

    def add(name):
        name = name.replace("-", "_")
        if name in done or name in builtin:
            return
        done.add(name)
        if name not in files:
            raise ImageError(f"the kernel's package has no module {name}")
        data = module_bytes(files[name])
        depends = re.search(rb"\0depends=([^\0]*)\0", data)
        for other in (depends[1].decode().split(",") if depends else []):
            if other:
                add(other)
        order.append((name, data))

    for name in names:
        add(name)
    return order
