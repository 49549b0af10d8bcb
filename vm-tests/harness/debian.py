"""Debian packages without installing them: the host's own apt mirror and keyrings, in an apt root of
our own. apt verifies what it fetches; dpkg-deb unpacks it. No mirror is named here.
"""
import dataclasses
import fnmatch
import functools
import glob
import hashlib
import os
import re
import shlex
import shutil
import signal
import subprocess

from .mortal import mortal

SUITES = ("bullseye", "bookworm", "trixie", "forky", "sid")
NICKNAMES = ("stable", "oldstable", "oldoldstable", "testing", "unstable")


# What tar says, and ends with 2, when a pattern matches nothing.
TAR_HARMLESS = (": Not found in archive", ": Exiting with failure status due to previous errors")


class DebianError(Exception):
    pass


@dataclasses.dataclass(frozen=True)
class Package:
    name: str
    version: str
    arch: str  # of the index it is listed in
    sha256: str
    size: int
    filename: str

    def deb(self):
        """The name its file has in our cache."""
        base = os.path.basename(self.filename)
        return base if self.version.replace(":", "%3a") in base else base.replace(".deb", f"_{self.sha256[:8]}.deb")


def is_whole(path, package):
    """Whether the package is there, as far as its size tells: what got that name had its SHA-256 then."""
    return os.path.isfile(path) and os.path.getsize(path) == package.size


# ---- versions, as deb-version(7) orders them ----


def _order(character):
    if character == "~":
        return -1
    return ord(character) if character.isalpha() else ord(character) + 256


def _compare_part(a, b):
    while a or b:
        text_a, text_b = re.match(r"\D*", a)[0], re.match(r"\D*", b)[0]
        a, b = a[len(text_a) :], b[len(text_b) :]
        for i in range(max(len(text_a), len(text_b))):
            left = _order(text_a[i]) if i < len(text_a) else 0
            right = _order(text_b[i]) if i < len(text_b) else 0
            if left != right:
                return -1 if left < right else 1
        number_a, number_b = re.match(r"\d*", a)[0], re.match(r"\d*", b)[0]
        a, b = a[len(number_a) :], b[len(number_b) :]
        if int(number_a or 0) != int(number_b or 0):
            return -1 if int(number_a or 0) < int(number_b or 0) else 1
    return 0


def compare_versions(a, b):
    """Negative, 0 or positive, as Debian version `a` is older than, equal to or newer than `b`."""

    def split(version):
        epoch, colon, rest = version.partition(":")
        if not colon:
            epoch, rest = "0", version
        upstream, _, revision = rest.rpartition("-")
        return (int(epoch), upstream, revision) if upstream else (int(epoch), rest, "")

    (epoch_a, up_a, rev_a), (epoch_b, up_b, rev_b) = split(a), split(b)
    if epoch_a != epoch_b:
        return -1 if epoch_a < epoch_b else 1
    return _compare_part(up_a, up_b) or _compare_part(rev_a, rev_b)


def newest(packages, pattern):
    """The package of the highest version whose name matches the shell pattern, or None."""
    matching = [p for p in packages if fnmatch.fnmatchcase(p.name, pattern)]
    return max(matching, key=functools.cmp_to_key(lambda a, b: compare_versions(a.version, b.version)), default=None)


# ---- the host's sources ----


def _deb822(text):
    """The stanzas of a .sources file as dictionaries with lower-case keys."""
    stanza, key = {}, None
    for line in text.splitlines() + [""]:
        if line.startswith("#"):
            continue
        if not line.strip():
            if stanza:
                yield stanza
            stanza, key = {}, None
        elif line[0] in " \t" and key:
            stanza[key] += "\n" + line
        elif ":" in line:
            key, _, value = line.partition(":")
            key = key.strip().lower()
            stanza[key] = value.strip()


def _one_line(text):
    """The same from the lines of a .list file."""
    for line in text.splitlines():
        found = re.match(r"\s*deb\s+(?:\[([^]]*)\]\s*)?(\S+)\s+(\S+)\s+([^#]*)", line)
        if not found:
            continue
        stanza = {"types": "deb", "uris": found[2], "suites": found[3], "components": found[4].strip()}
        for option in (found[1] or "").split():
            key, _, value = option.partition("=")
            if key in ("signed-by", "trusted"):
                stanza[key] = value
        yield stanza


def mirror_of(stanzas):
    """The first source that carries a Debian release: {uri, signed-by, trusted}, or None."""
    for stanza in stanzas:
        suites = stanza.get("suites", "").split()
        if stanza.get("enabled", "yes").lower() in ("no", "false", "0"):
            continue
        if "deb" not in stanza.get("types", "").split() or "main" not in stanza.get("components", "").split():
            continue
        if any(suite in SUITES + NICKNAMES for suite in suites):
            mirror = {"uris": stanza["uris"].split()[0]}
            mirror.update({k: stanza[k] for k in ("signed-by", "trusted") if k in stanza})
            return mirror
    return None


def read_sources(paths):
    for path in paths:
        with open(path, encoding="utf-8", errors="replace") as f:
            text = f.read()
        yield from (_deb822(text) if path.endswith(".sources") else _one_line(text))


def host_mirror():
    """Where this host's apt gets Debian from. VM_SOURCES names a file to read instead of apt's own."""
    override = os.environ.get("VM_SOURCES")
    if override:
        paths = [override]
    else:
        paths = [p for p in ["/etc/apt/sources.list"] if os.path.exists(p)]
        paths += sorted(glob.glob("/etc/apt/sources.list.d/*.list") + glob.glob("/etc/apt/sources.list.d/*.sources"))
    mirror = mirror_of(read_sources(paths))
    if not mirror:
        raise DebianError(
            f"no Debian release among apt's sources ({' '.join(paths) or 'none'}): name a .sources or .list file in VM_SOURCES"
        )
    return mirror


def sources_text(mirror, suites, arches):
    lines = ["Types: deb", f"URIs: {mirror['uris']}", f"Suites: {' '.join(suites)}", "Components: main"]
    lines.append(f"Architectures: {' '.join(arches)}")
    for key, field in (("signed-by", "Signed-By"), ("trusted", "Trusted")):
        if key in mirror:
            lines.append(f"{field}: {mirror[key]}")
    return "\n".join(lines) + "\n"


# ---- the apt root ----


class AptRoot:
    """apt's state under `top`, its packages in `debs`; proxies and the like stay as the host has them."""

    def __init__(self, top, debs, mirror=None):
        self.top, self.debs = os.path.abspath(top), os.path.abspath(debs)
        self._mirror = mirror
        self._indices = {}

    def _apt(self, tool, *args, config="all", suites=None, arches=("amd64",), cwd=None, debs=None):
        debs = debs or self.debs
        state = os.path.join(self.top, config)
        for name in ("lists/partial", "sources", "cache"):
            os.makedirs(os.path.join(state, name), exist_ok=True)
        os.makedirs(os.path.join(debs, "partial"), exist_ok=True)
        status = os.path.join(state, "status")
        open(status, "a").close()
        if suites:
            self._mirror = self._mirror or host_mirror()
            with open(os.path.join(state, "sources", "debian.sources"), "w") as f:
                f.write(sources_text(self._mirror, suites, arches))
        conf = os.path.join(state, "apt.conf")
        with open(conf, "w") as f:
            f.write(
                f'Dir::State::Lists "{state}/lists";\nDir::State::status "{status}";\n'
                f'Dir::State::extended_states "{state}/extended";\n'
                f'Dir::Cache "{state}/cache";\nDir::Cache::archives "{debs}";\n'
                f'Dir::Etc::sourcelist "/dev/null";\nDir::Etc::sourceparts "{state}/sources";\n'
                f'Dir::Etc::preferences "/dev/null";\nDir::Etc::preferencesparts "/dev/null";\n'
                f'APT::Architecture "{arches[0]}";\n'
                "APT::Architectures { " + " ".join(f'"{a}";' for a in arches) + " };\n"
                'APT::Sandbox::User "";\nAcquire::Languages "none";\nAcquire::Retries "3";\n'
                '#clear DPkg::Post-Invoke;\n#clear APT::Update::Post-Invoke;\n'
            )
        done = subprocess.run(
            mortal([tool, *args]),
            env=dict(os.environ, APT_CONFIG=conf, LC_ALL="C.UTF-8", DEBIAN_FRONTEND="noninteractive"),
            stdin=subprocess.DEVNULL,
            capture_output=True,
            text=True,
            cwd=cwd,
        )
        errors = "\n".join(line for line in done.stderr.splitlines() if line.startswith("E:"))
        if done.returncode or (args[0] == "update" and "Failed to fetch" in done.stderr):
            raise DebianError(f"{tool} {shlex.join(args)}: {errors or done.stderr.strip() or done.returncode}")
        return done.stdout

    def update(self, suites, arches=("amd64",)):
        """Fetch the indices of these suites."""
        self._apt("apt-get", "update", "-q", suites=suites, arches=arches)
        targets = self._apt(
            "apt-get", "indextargets", "--format", "$(RELEASE) $(ARCHITECTURE) $(FILENAME)", "Created-By: Packages",
            arches=arches,
        )
        self._indices = {}
        for line in targets.splitlines():
            suite, arch, filename = line.split(" ", 2)
            self._indices.setdefault((suite, arch), []).append(filename)

    def packages(self, suite, arch="amd64", name_pattern="*"):
        """What the suite's index lists, of the names that match."""
        if (suite, arch) not in self._indices:
            raise DebianError(f"suite {suite} for {arch} is not on this host's mirror")
        found = []
        for filename in self._indices[suite, arch]:
            text = self._apt("/usr/lib/apt/apt-helper", "cat-file", filename)
            found += parse_packages(text, arch, name_pattern)
        return found

    def download(self, packages):
        """Fetch the packages that are not in the cache yet; returns their paths, in order."""
        paths = [os.path.join(self.debs, p.deb()) for p in packages]
        for package, path in zip(packages, paths):
            if is_whole(path, package):
                continue
            scratch = os.path.join(self.debs, "get.part")
            shutil.rmtree(scratch, ignore_errors=True)
            os.makedirs(scratch)
            arches = ("amd64",) if package.arch == "amd64" else ("amd64", package.arch)
            self._apt("apt-get", "download", "-q", f"{package.name}:{package.arch}={package.version}", arches=arches, cwd=scratch)
            got = [os.path.join(scratch, name) for name in os.listdir(scratch)]
            if len(got) != 1 or sha256_file(got[0]) != package.sha256:
                raise DebianError(f"{package.name}: what came does not have the index's SHA-256")
            os.rename(got[0], path)
            os.rmdir(scratch)
        return paths

    def closure(self, names, suites, directory, arch="amd64", release=None):
        """Fetch packages of these suites and all they depend on, as for an empty machine, into an empty directory;
        returns the paths of the debs."""
        config = "closure-" + "-".join([*suites, arch])
        arches = (arch,)
        self._apt("apt-get", "update", "-q", config=config, suites=suites, arches=arches)
        args = ["install", "-q", "-y", "--no-install-recommends", "--print-uris"]
        if release:
            args += ["-t", release]
        args += names
        # apt lists only what is not in the directory yet.
        listed = self._apt("apt-get", *args, config=config, arches=arches, debs=directory)
        wanted = re.findall(r"^'[^']*' (\S+\.deb) ", listed, re.M)
        args.remove("--print-uris")
        self._apt("apt-get", *args, "--download-only", config=config, arches=arches, debs=directory)
        if not wanted:
            raise DebianError(f"apt has nothing to fetch for {' '.join(names)}")
        return [os.path.join(directory, name) for name in wanted]


def architecture(deb):
    """The architecture a .deb says it is for, or None when it cannot be read."""
    done = subprocess.run(["dpkg-deb", "-f", deb, "Architecture"], capture_output=True, text=True)
    return done.stdout.strip() if done.returncode == 0 else None


def parse_packages(text, arch, name_pattern="*"):
    found = []
    for stanza in text.split("\n\n"):
        name = re.match(r"Package: (\S+)", stanza)
        if not name or not fnmatch.fnmatchcase(name[1], name_pattern):
            continue
        field = dict(re.findall(r"^(Version|SHA256|Size|Filename): (\S+)", stanza, re.M))
        found.append(Package(name[1], field["Version"], arch, field["SHA256"], int(field["Size"]), field["Filename"]))
    return found


def sha256_file(path):
    digest = hashlib.sha256()
    with open(path, "rb") as f:
        while block := f.read(1 << 20):
            digest.update(block)
    return digest.hexdigest()


def unpack(deb, target, patterns=()):
    """Unpack the files of a .deb, or of it those that match tar's patterns, below `target`."""
    os.makedirs(target, exist_ok=True)
    env = dict(os.environ, LC_ALL="C.UTF-8")
    command = mortal(["dpkg-deb", "--fsys-tarfile", deb])
    source = subprocess.Popen(command, stdout=subprocess.PIPE, stderr=subprocess.PIPE, env=env)
    command = mortal(["tar", "-x", "--no-same-owner", "-C", target, "--wildcards", *patterns])
    done = subprocess.run(command, stdin=source.stdout, capture_output=True, text=True, errors="replace", env=env)
    source.stdout.close()
    problem = source.stderr.read().decode(errors="replace").strip()
    source.stderr.close()
    code = source.wait()
    # A tar that has found all it wants closes the pipe, and dpkg-deb is killed by that; else it fails on a bad .deb.
    if code not in (0, -signal.SIGPIPE):
        raise DebianError(f"{deb}: {problem or f'dpkg-deb ended with {code}'}")
    bad = [line for line in done.stderr.splitlines() if not line.endswith(TAR_HARMLESS)]
    if bad or done.returncode not in (0, 2):
        raise DebianError(f"{deb}: {'; '.join(bad[:3]) or f'tar ended with {done.returncode}'}")
