"""From a row's source to a kernel that can be booted: resolved, fetched, verified, unpacked, cached.

The cache outlives clones: $VM_CACHE, else $XDG_CACHE_HOME/oarbank-vm, else ~/.cache/oarbank-vm.
  index.json   what each source resolved to, and when
  debs/ files/ what was fetched, as it came
  trees/       what was unpacked from it; a tree is renamed into place when it is whole
"""
import contextlib
import dataclasses
import fcntl
import glob
import http.client
import json
import os
import re
import shutil
import time
import urllib.request

from . import debian, payload
from .arch import ARCHES
from .show import count

STALE_DAYS = 7
# No kernel and no package of one is larger.
URL_BYTES_MAX = 1 << 30
# The end of the name of what is not whole yet.
PART = ".part"


class FetchError(Exception):
    pass


@dataclasses.dataclass
class Kernel:
    """A kernel on disk. `boot` is what QEMU is given: vmlinux through PVH, or the image as it came."""

    origin: str  # as a person would name it
    arch: str
    boot: str
    image: str
    release: str | None  # as uname -r says, where its name tells
    modules: str | None  # the .deb that has its modules
    config: str | None = None  # its build configuration, where that came with it

    def as_modules(self, options):
        """The modules, by name, of those configuration options that this kernel has as modules."""
        if not self.config:
            return []
        with open(self.config, encoding="utf-8") as f:
            lines = set(f.read().splitlines())
        return [option.lower() for option in options if f"CONFIG_{option}=m" in lines]


def cache_dir():
    base = os.environ.get("XDG_CACHE_HOME") or os.path.join(os.path.expanduser("~"), ".cache")
    return os.environ.get("VM_CACHE") or os.path.join(base, "oarbank-vm")


def parse_source(source):
    """(kind, fields) of a source word. Raises FetchError."""
    kind, _, rest = source.partition(":")
    if kind == "debian":
        suite, slash, pattern = rest.partition("/")
        if not slash or not suite or not pattern:
            raise FetchError(f"source '{source}': debian:SUITE/PACKAGE-PATTERN")
        return kind, {"suite": suite, "pattern": pattern}
    if kind == "file":
        return kind, {"path": rest}
    if kind == "url":
        url, _, digest = rest.rpartition("#sha256=")
        if not re.fullmatch(r"[0-9a-f]{64}", digest) or not re.match(r"https?://", url):
            raise FetchError(f"source '{source}': url:http[s]://…#sha256=64 hex digits")
        return kind, {"url": url, "sha256": digest}
    raise FetchError(f"source '{source}': neither debian: nor file: nor url:")


def _copy(answer, to, deadline):
    """All of an answer into a file, as far as it is no more than a kernel can be."""
    announced = answer.headers.get("Content-Length")
    size = 0
    while block := answer.read1(1 << 20):
        size += len(block)
        if size > URL_BYTES_MAX:
            raise FetchError(f"more than {URL_BYTES_MAX >> 20} MiB")
        if time.monotonic() > deadline:
            raise FetchError(f"too slow: {size} bytes so far")
        to.write(block)
    if announced and announced.isdecimal() and size != int(announced):
        raise FetchError(f"it broke off: {size} of {announced} bytes")


def fetch_url(url, digest, directory, seconds=60):
    """Fetch a file whose SHA-256 is known; returns its path. What does not match is not kept. `seconds` is for an
    answer, and for each further piece; all of it has ten times as long."""
    os.makedirs(directory, exist_ok=True)
    path = os.path.join(directory, digest[:16] + "-" + re.sub(r"[^A-Za-z0-9._+~-]", "_", os.path.basename(url))[-100:])
    path += "_" * path.endswith(PART)
    if os.path.exists(path) and debian.sha256_file(path) == digest:
        return path
    part = path + PART
    try:
        with urllib.request.urlopen(url, timeout=seconds) as answer, open(part, "wb") as f:
            _copy(answer, f, time.monotonic() + 10 * seconds)
        got = debian.sha256_file(part)
        if got != digest:
            raise FetchError(f"SHA-256 is {got}, not {digest}")
        os.rename(part, path)
    except FetchError as problem:
        raise FetchError(f"{url}: {problem}") from None
    except (OSError, http.client.HTTPException, ValueError) as problem:
        raise FetchError(f"{url}: {problem or type(problem).__name__}") from None
    finally:
        with contextlib.suppress(FileNotFoundError):
            os.unlink(part)
    return path


class Store:
    """The cache, and the apt root that fills it. `say` gets one line for each thing that takes time."""

    def __init__(self, build, cache=None, say=lambda text: None):
        self.cache = os.path.abspath(cache or cache_dir())
        self.say = say
        self.debs = os.path.join(self.cache, "debs")
        self._apt = debian.AptRoot(os.path.join(build, "vm", "apt"), self.debs)
        self._updated = set()
        self._index_path = os.path.join(self.cache, "index.json")
        self._index = self._read_index()

    def _read_index(self):
        """What is not in the form that _save() gives it is asked for anew."""
        try:
            with open(self._index_path, encoding="utf-8") as f:
                index = json.load(f)
            for entry in index.values():
                debian.Package(**entry["package"]).deb()
                entry["time"] + 0  # noqa: B018 (a number)
            return index
        except (OSError, ValueError, LookupError, TypeError, AttributeError):
            return {}

    def _lock_file(self):
        try:
            os.makedirs(self.cache, exist_ok=True)
            return open(os.path.join(self.cache, "lock"), "w")
        except OSError as problem:
            raise FetchError(f"the cache {self.cache} cannot be written ({problem.strerror}): name another in VM_CACHE")

    @contextlib.contextmanager
    def locked(self):
        """One process at a time fills the cache. What one before left unfinished, whose end came too early, is
        removed."""
        with self._lock_file() as f:
            try:
                fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
            except BlockingIOError:
                self.say(f"waiting for another run that fills {self.cache}")
                fcntl.flock(f, fcntl.LOCK_EX)
            for pattern in (f"*{PART}", f"*/*{PART}"):
                for path in glob.glob(os.path.join(glob.escape(self.cache), pattern)):
                    shutil.rmtree(path) if os.path.isdir(path) else os.unlink(path)
            self._index = self._read_index()
            yield

    def _save(self):
        part = self._index_path + PART
        with open(part, "w") as f:
            json.dump(self._index, f, indent=1, sort_keys=True)
        os.rename(part, self._index_path)

    def _update(self, wanted):
        if wanted <= self._updated:
            return
        everything = self._updated | wanted
        suites = sorted({suite for suite, _ in everything})
        arches = sorted({arch for _, arch in everything})
        self.say(f"reading the package lists of {', '.join(suites)} ({' '.join(arches)})")
        self._apt.update(suites, arches)
        self._updated = everything

    def resolve(self, wanted, refresh=False):
        """Find the newest package for each (suite, pattern, arch) and have its .deb in the cache; returns
        {wanted: (Package, path)}. Answers hold for a week; when the mirror cannot be asked then, the
        older ones serve and that is said."""
        now = time.time()
        found, ask = {}, []
        for key in wanted:
            entry = self._index.get("/".join(key))
            package = entry and debian.Package(**entry["package"])
            cached = package and debian.is_whole(os.path.join(self.debs, package.deb()), package)
            if cached:
                found[key] = package
            if refresh or not cached or not 0 <= now - entry["time"] <= STALE_DAYS * 86400:
                ask.append(key)
        try:
            if ask:
                self._update({(suite, arch) for suite, _, arch in ask})
            for suite, pattern, arch in ask:
                package = debian.newest(self._apt.packages(suite, arch, pattern), pattern)
                if not package:
                    raise debian.DebianError(f"{suite} has no {pattern} for {arch}")
                found[suite, pattern, arch] = package
                self._index["/".join((suite, pattern, arch))] = {
                    "package": dataclasses.asdict(package),
                    "time": now,
                }
            if ask:
                self._save()
        except debian.DebianError as problem:
            if any(key not in found for key in ask):
                raise
            self.say(f"using what the cache has: {problem}")
        missing = [p for p in found.values() if not debian.is_whole(os.path.join(self.debs, p.deb()), p)]
        if missing:
            self.say(f"fetching {count(len(missing), 'package')}, {sum(p.size for p in missing) / 1e6:.0f} MB")
        paths = self._apt.download(list(found.values()))
        for path in paths:
            os.utime(path)
        return {key: (package, path) for (key, package), path in zip(found.items(), paths)}

    def tree(self, name, fill):
        """The directory `name` among the trees; made by fill(directory) when it is not there."""
        path = os.path.join(self.cache, "trees", name)
        if not os.path.isdir(path):
            part = path + PART
            shutil.rmtree(part, ignore_errors=True)
            os.makedirs(part)
            try:
                fill(part)
                os.rename(part, path)
            finally:
                shutil.rmtree(part, ignore_errors=True)
        os.utime(path)
        return path

    def closure(self, name, packages, suites, arch="amd64", release=None, patterns=()):
        """The tree of these packages and all they need, unpacked over each other. Made anew only when
        the list of packages changes or the cache has lost it."""
        key = debian.hashlib.sha256(repr((packages, suites, arch, release, patterns)).encode()).hexdigest()[:8]

        def fill(directory):
            self.say(f"fetching {name}")
            debs = os.path.join(directory, "debs" + PART)
            for deb in self._apt.closure(packages, suites, debs, arch, release):
                debian.unpack(deb, directory, patterns)
            shutil.rmtree(debs)
            # From trixie on these links are no package's that anything depends on.
            for link in ("bin", "sbin", "lib", "lib64"):
                if os.path.isdir(f"{directory}/usr/{link}") and not os.path.lexists(f"{directory}/{link}"):
                    os.symlink(f"usr/{link}", f"{directory}/{link}")

        return self.tree(f"{name}-{arch}-{key}", fill)

    # ---- kernels ----

    def _boot_file(self, image_path, arch, key):
        with open(image_path, "rb") as f:
            image = f.read()

        def fill(directory):
            try:
                raw = payload.flat_image(image, arch) if ARCHES[arch].magic else payload.vmlinux(image)
            except payload.DamagedError as problem:
                raise FetchError(f"{image_path}: {problem}")
            except payload.PayloadError as problem:
                self.say(f"{os.path.basename(image_path)} boots as it is: {problem}")
                raw = image
            with open(os.path.join(directory, "kernel"), "wb") as f:
                f.write(raw)

        return os.path.join(self.tree(key + ".boot", fill), "kernel")

    def from_image(self, path, origin=None):
        """A kernel image someone has."""
        with open(path, "rb") as f:
            head = f.read(4096)
        arch = payload.arch_of(head)
        if not arch:
            raise FetchError(f"{path}: not a kernel image of {', '.join(ARCHES)}")
        key = debian.sha256_file(path)[:24]
        release = re.sub(r"^(vmlinu[xz]|bzImage|Image)-?", "", os.path.basename(path))
        return Kernel(origin or path, arch, self._boot_file(path, arch, key), path, release or None, None)

    def from_deb(self, deb, origin=None, modules=None):
        """The kernel image in a .deb; its modules are there too, or in the .deb `modules`."""
        base = os.path.basename(deb)
        places = ("boot/vmlinu[xz]-*", "usr/lib/modules/*/vmlinuz", "lib/modules/*/vmlinuz")

        def images_in(tree):
            return [path for place in places for path in glob.glob(os.path.join(glob.escape(tree), place))]

        def fill(directory):
            debian.unpack(deb, directory, [f"./{place}" for place in (*places, "boot/config-*")])
            if len(images_in(directory)) != 1:
                raise FetchError(f"{deb}: {len(images_in(directory))} kernel images in it, 1 expected")

        tree = self.tree(f"{base}-{os.path.getsize(deb)}", fill)
        images = images_in(tree)
        kernel = self.from_image(images[0], origin or base)
        kernel.modules = modules or deb
        kernel.config = next(iter(glob.glob(os.path.join(glob.escape(tree), "boot", "config-*"))), None)
        return kernel

    def from_file(self, path, origin=None):
        if not os.path.exists(path):
            raise FetchError(f"{path}: no such file")
        return self.from_deb(path, origin) if path.endswith(".deb") else self.from_image(path, origin)

    def kernels(self, rows, refresh=False):
        """{source and arch: Kernel or the error that kept it away} for these rows."""
        answers = {}
        wanted, by_row = set(), {}
        for row in rows:
            try:
                kind, fields = parse_source(row.source)
            except FetchError as problem:
                answers[row.source, row.arch] = problem
                continue
            by_row[row.source, row.arch] = kind, fields
            if kind == "debian":
                wanted.add((fields["suite"], fields["pattern"], row.arch))
        try:
            packages = self.resolve(sorted(wanted), refresh)
        except debian.DebianError:
            packages = {}
        for key, (kind, fields) in by_row.items():
            try:
                answers[key] = self._kernel(kind, fields, key[1], packages)
            except (FetchError, debian.DebianError, payload.PayloadError, OSError) as problem:
                answers[key] = problem
        return answers

    def _kernel(self, kind, fields, arch, packages):
        if kind == "file":
            return self.from_file(fields["path"])
        if kind == "url":
            return self.from_file(fetch_url(fields["url"], fields["sha256"], os.path.join(self.cache, "files")), fields["url"])
        wanted = fields["suite"], fields["pattern"], arch
        if wanted not in packages:
            # One pattern without a match must not take the others with it.
            packages.update(self.resolve([wanted]))
        package, deb = packages[wanted]
        kernel = self.from_deb(deb, f"{package.name} {package.version}")
        kernel.release = re.sub(r"^linux-(image|binary)-|-unsigned$", "", package.name)
        return kernel

    def modules(self, kernel, suite):
        """The directory with the kernel's modules, unpacked on first use."""
        modules_deb = kernel.modules
        if "linux-binary-" in os.path.basename(kernel.modules or ""):
            name = f"linux-modules-{kernel.release}"
            _, modules_deb = self.resolve([(suite, name, kernel.arch)])[suite, name, kernel.arch]
        if not modules_deb:
            raise FetchError(f"{kernel.origin}: no modules came with it")
        return self.tree(
            os.path.basename(modules_deb) + ".modules",
            lambda d: debian.unpack(modules_deb, d, ("./lib/modules/*", "./usr/lib/modules/*")),
        )

    def prune(self, days=45):
        """Forget trees and packages nobody used for so long."""
        limit = time.time() - days * 86400
        for path in glob.glob(os.path.join(glob.escape(self.cache), "trees", "*")):
            if os.path.getmtime(path) < limit:
                shutil.rmtree(path, ignore_errors=True)
        for path in glob.glob(os.path.join(glob.escape(self.debs), "*.deb")):
            if os.path.getmtime(path) < limit:
                os.unlink(path)
