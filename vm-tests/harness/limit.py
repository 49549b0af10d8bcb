"""The ABI limit: abi-limit/'s module, built against Debian's headers of the very kernel it is loaded
into. It takes seconds, and the cache keeps it."""
import glob
import hashlib
import os
import re
import shutil
import subprocess

from . import debian
from .arch import ARCHES

MODULE = "oarbank_abi_limit"


class LimitError(Exception):
    pass


def header_packages(release):
    """The packages that hold the headers of a kernel, by its release: its own, those all flavours
    share, and the tools that build modules."""
    found = re.fullmatch(rf"(.+?)-((?:cloud-|rt-)?(?:{'|'.join(ARCHES)}))", release)
    if not found:
        raise LimitError(f"'{release}' is no release of Debian's: no headers are known for it")
    return [f"linux-headers-{release}", f"linux-headers-{found[1]}-common", f"linux-kbuild-{found[1]}"]


def headers(store, kernel, suite):
    """The directory to build modules for this kernel in."""
    names = header_packages(kernel.release)
    found = store.resolve([(suite, name, kernel.arch) for name in names])

    def fill(directory):
        for _, deb in found.values():
            debian.unpack(deb, directory)

    tree = store.tree(f"headers-{kernel.release}-{'-'.join(sorted(p.sha256[:6] for p, _ in found.values()))}", fill)
    top = os.path.join(tree, "usr", "src", names[0])
    makefile = os.path.join(top, "Makefile")
    with open(makefile, encoding="utf-8") as f:
        text = f.read()
    # The one path that knows where the package is installed.
    moved = re.sub(r"^include (?:.*)?/usr/src/", f"include {tree}/usr/src/", text, flags=re.M)
    if moved != text:
        with open(makefile + ".new", "w", encoding="utf-8") as f:
            f.write(moved)
        os.replace(makefile + ".new", makefile)
    return top


def module(store, kernel, suite, source):
    """The module's bytes, for this kernel."""
    files = sorted(glob.glob(os.path.join(source, "vm-tests", "abi-limit", "*")))
    files = [path for path in files if os.path.basename(path) in ("Makefile", f"{MODULE}.c")]
    digest = hashlib.sha256()
    for path in files:
        with open(path, "rb") as f:
            digest.update(f.read())

    def fill(directory):
        store.say(f"building the ABI limit for {kernel.release}")
        for path in files:
            shutil.copy(path, directory)
        compiler = shutil.which("gcc-12") or "gcc"
        done = subprocess.run(
            ["make", "-C", headers(store, kernel, suite), f"M={directory}", f"CC={compiler}",
             "CONFIG_DEBUG_INFO_BTF_MODULES=", "modules"],
            capture_output=True, text=True, env={k: v for k, v in os.environ.items() if not k.startswith("MAKE") and k != "MFLAGS"},
        )  # fmt: skip
        if done.returncode:
            raise LimitError("the ABI limit does not build: " + "\n".join((done.stdout + done.stderr).splitlines()[-15:]))
        with open(os.path.join(directory, f"{MODULE}.ko"), "rb") as f:
            data = f.read()
        for path in os.listdir(directory):
            os.unlink(os.path.join(directory, path))
        with open(os.path.join(directory, f"{MODULE}.ko"), "wb") as f:
            f.write(data)

    tree = store.tree(f"abi-limit-{kernel.release}-{digest.hexdigest()[:12]}", fill)
    with open(os.path.join(tree, f"{MODULE}.ko"), "rb") as f:
        return f.read()
