"""Building for another architecture: Debian's cross compiler and the other architecture's -dev packages,
unpacked beside each other. Nothing of them is installed on this host.
"""
import glob
import os
import re
import shlex

from .arch import ARCHES, start

COMPILER_SUITE = "bookworm"
# What the machines and the compiler need beside what .ci/deps names for building.
BESIDES = ("libc6-dev", "libstdc++-12-dev", "libcmocka-dev", "coreutils")
COMPILERS = ("gcc", "g++")
TOOLS = ("ar", "ld", "nm", "objcopy", "objdump", "ranlib", "strip")
# These of the host's C library must stay the host's: its loader has loaded the program.
HOSTS_OWN = ("ld-linux", "libc.so", "libc-", "libm.so", "libdl.so", "libpthread.so", "librt.so", "libresolv.so", "libutil.so")


class CrossError(Exception):
    pass


def libraries_to_build_with(deps):
    """The -dev packages in the line build="…" of .ci/deps."""
    line = re.search(r'^build="([^"$]*)"', deps, re.M)
    if not line:
        raise CrossError(".ci/deps has no line build=")
    return [name for name in line[1].split() if name.endswith("-dev")]


def sysroot(store, arch, source):
    """The directory with the other architecture's headers and libraries."""
    with open(os.path.join(source, ".ci", "deps"), encoding="utf-8") as f:
        packages = libraries_to_build_with(f.read())
    return store.closure("sysroot", sorted({*packages, *BESIDES}), [ARCHES[arch].suite], arch)


def wrappers(build, arch):
    return os.path.join(build, "vm", "cross", arch)


def toolchain(store, host, arch, build, source):
    """Write the compiler's tools as scripts into wrappers(build, arch): by their full names, and all but
    the compilers by their short ones too, for a PATH that has that directory first."""
    triplet = ARCHES[arch].triplet
    tree = store.closure("cross", [f"g++-{triplet}"], [COMPILER_SUITE], host)
    root = sysroot(store, arch, source)
    # The compiler brings a C library for where it would be installed; the sysroot's must be found instead.
    for path in glob.glob(f"{glob.escape(tree)}/usr/{triplet}/lib/*"):
        if any(os.path.exists(f"{root}/{d}/{triplet}/{os.path.basename(path)}") for d in ("lib", "usr/lib")):
            os.unlink(path)
    directory = wrappers(build, arch)
    libraries = os.path.join(directory, "lib")
    os.makedirs(libraries, exist_ok=True)
    for path in glob.glob(f"{glob.escape(tree)}/**/lib/{ARCHES[host].triplet}/*.so*", recursive=True):
        name = os.path.basename(path)
        if not name.startswith(HOSTS_OWN) and not os.path.lexists(os.path.join(libraries, name)):
            os.symlink(path, os.path.join(libraries, name))
    for tool in COMPILERS:
        # -B: the linker is the script below.
        words = ["env", f"LD_LIBRARY_PATH={libraries}", f"{tree}/usr/bin/{triplet}-{tool}", f"--sysroot={root}", f"-B{directory}"]
        script(directory, [f"{triplet}-{tool}"], words)
    # An old linker does not understand the libraries of a newer release.
    tree = store.closure("binutils", [f"binutils-{triplet}"], [ARCHES[arch].suite], host)
    for tool in TOOLS:
        script(directory, [f"{triplet}-{tool}", tool], [*start(tree), f"{tree}/usr/bin/{triplet}-{tool}"])


def script(directory, names, words):
    for name in names:
        path = os.path.join(directory, name)
        with open(path, "w", encoding="utf-8") as f:
            f.write(f'#!/bin/sh\nexec {shlex.join(words)} "$@"\n')
        os.chmod(path, 0o755)
