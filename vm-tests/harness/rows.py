"""rows.tsv and runs.tsv: what a person edits. The head of each file explains its columns."""
import dataclasses
import re

from .arch import ARCHES

STATUS = {"E": "enforced", "C": "cooperative", "-": "unavailable"}
LETTER = {word: letter for letter, word in STATUS.items()}
STATES = ("not-built", "off-at-boot", "filtered", "unknown")
COLUMNS = ("name", "arch", "source", "boot", "machine", "limit", "abi", "status", "expect")
RUN_COLUMNS = ("name", "as", "kind", "seconds", "when", "with", "command")
KINDS = ("report", "parent", "tap", "launch", "exit0")
# Words of the machine column, and what their value must look like.
MACHINE = {
    "user": r"root|user",
    "cgroup": r"unified|hybrid|v1|none",
    "module": r"[a-z0-9_-]+",
    "sysctl": r"[a-z0-9_./-]+:[0-9-]+",
    "wrap": r"docker|docker-old",
    "pid1": r"systemd",
    "mem": r"[1-9][0-9]{1,5}",
    "cpus": r"[1-9][0-9]{0,2}",
    "seconds": r"[1-9][0-9]{0,4}",
    "only": r"[a-z0-9,_-]+",
    "full": r"yes",
    "parent": r"yes",
}
MANY = ("module", "sysctl")
SOURCE = re.compile(r"debian:[^/\s]+/\S+|file:\S.*|url:https?://\S+#sha256=[0-9a-f]{64}")
NAME = r"[a-z0-9][a-z0-9._-]*"


class TableError(Exception):
    pass


@dataclasses.dataclass
class Row:
    name: str
    arch: str
    source: str
    boot: str
    machine: dict
    limit: int | None
    abi: int | str  # a number, or the state Landlock is in instead
    status: dict | None  # capability: status word; None: what its ABI entitles it to
    expect: dict  # dotted path into the report's "kernel": value
    at: str = ""  # the file and line it is written in

    def has(self, word):
        return self.machine.get(word)

    def fits(self, when):
        """Whether a machine word such as module=vgem is this row's."""
        key, _, value = when.partition("=")
        mine = self.machine.get(key, [])
        return not when or value in (mine if isinstance(mine, list) else [mine])


@dataclasses.dataclass
class Run:
    name: str
    who: str  # row, root, user or both
    kind: str
    seconds: int
    when: str  # a machine word, or "" for every row
    files: list  # that go on board besides
    command: list


@dataclasses.dataclass
class Table:
    capabilities: list
    rows: list
    entitled: list  # (lowest ABI, {capability: status word}), highest first

    def entitled_to(self, abi):
        """The statuses a genuine kernel of that ABI is entitled to."""
        for lowest, status in self.entitled:
            if isinstance(abi, int) and abi >= lowest:
                return status
        return {name: STATUS["-"] for name in self.capabilities}


def read(path):
    """The text of a table. Raises TableError when it is none."""
    try:
        with open(path, encoding="utf-8") as f:
            return f.read()
    except OSError as problem:
        raise TableError(f"{path}: {problem.strerror}")
    except UnicodeDecodeError as problem:
        line = problem.object.count(b"\n", 0, problem.start) + 1
        raise TableError(f"{path}:{line}: byte {problem.object[problem.start]:#x} is no UTF-8: write it anew")


def _lines(text, where):
    for number, line in enumerate(text.split("\n"), 1):
        if line.strip() and not line.startswith("#"):
            yield f"{where}:{number}", re.split(r"\t+", line.rstrip())


def _status(word, capabilities, at):
    letters = word.replace(".", "")
    if len(letters) != len(capabilities):
        raise TableError(f"{at}: {len(letters)} statuses for {len(capabilities)} capabilities: '{word}'")
    for letter in letters:
        if letter not in STATUS:
            raise TableError(f"{at}: status '{letter}' is none of {' '.join(STATUS)}")
    return {name: STATUS[letter] for name, letter in zip(capabilities, letters)}


def _pairs(word, at):
    if word == "-":
        return
    for pair in word.split():
        key, equals, value = pair.partition("=")
        if not equals or not value:
            raise TableError(f"{at}: '{pair}' is not key=value")
        yield key, value


def _machine(word, at):
    machine = {}
    for key, value in _pairs(word, at):
        if key not in MACHINE:
            raise TableError(f"{at}: unknown machine word '{key}'; there are {' '.join(MACHINE)}")
        if not re.fullmatch(MACHINE[key], value):
            raise TableError(f"{at}: {key}='{value}' is not of the form {MACHINE[key]}")
        if key in MANY:
            machine.setdefault(key, []).append(value)
        elif key in machine:
            raise TableError(f"{at}: {key} twice")
        else:
            machine[key] = value
    return machine


def _expect(word, at):
    expect = {}
    for path, value in _pairs(word, at):
        if path in expect:
            raise TableError(f"{at}: {path} twice")
        expect[path] = value
    return expect


def _capabilities(fields, known, at):
    names = " ".join(fields[1:]).split()
    if known:
        raise TableError(f"{at}: a second line 'capabilities': take one of them out")
    if not names or len(set(names)) != len(names):
        raise TableError(f"{at}: 'capabilities' is followed by the name of each, once")
    return names


def _values(value):
    return value if isinstance(value, list) else [value]


def _abi(word, at):
    if word in STATES:
        return word
    if re.fullmatch(r"[1-9][0-9]?", word):
        return int(word)
    raise TableError(f"{at}: Landlock ABI '{word}' is neither a number nor one of {' '.join(STATES)}")


def _row(fields, capabilities, at):
    if len(fields) != len(COLUMNS):
        raise TableError(f"{at}: {len(fields)} columns, {len(COLUMNS)} needed: {' '.join(COLUMNS)}")
    name, arch, source, boot, machine, limit, abi, status, expect = fields
    if not re.fullmatch(NAME, name):
        raise TableError(f"{at}: '{name}' cannot be a row's name")
    if arch not in ARCHES:
        raise TableError(f"{at}: architecture '{arch}' is none of {' '.join(ARCHES)}")
    if not SOURCE.fullmatch(source):
        forms = "debian:SUITE/PACKAGE-PATTERN, file:PATH or url:http[s]://…#sha256=64 hex digits"
        raise TableError(f"{at}: source '{source}' is none of {forms}")
    if limit != "-" and not re.fullmatch(r"[1-5]", limit):
        raise TableError(f"{at}: ABI limit '{limit}' is neither - nor 1 to 5")
    return Row(
        name=name,
        arch=arch,
        source=source,
        boot="" if boot == "-" else boot,
        machine=_machine(machine, at),
        limit=None if limit == "-" else int(limit),
        abi=_abi(abi, at),
        status=_status(status, capabilities, at),
        expect=_expect(expect, at),
        at=at,
    )


def parse(text, where="rows.tsv"):
    """The table. Raises TableError with file, line and what is wrong."""
    table = Table(capabilities=[], rows=[], entitled=[])
    for at, fields in _lines(text, where):
        if fields[0] == "capabilities":
            table.capabilities = _capabilities(fields, table.capabilities, at)
            continue
        if not table.capabilities:
            raise TableError(f"{at}: a row before the line 'capabilities'")
        entitled = re.fullmatch(r"abi>=([0-9]+)", fields[0])
        if entitled:
            if len(fields) != 2:
                raise TableError(f"{at}: {len(fields)} columns, 2 needed: {fields[0]} and the statuses")
            if any(int(entitled[1]) == lowest for lowest, _ in table.entitled):
                raise TableError(f"{at}: {fields[0]} twice")
            table.entitled.append((int(entitled[1]), _status(fields[1], table.capabilities, at)))
            continue
        row = _row(fields, table.capabilities, at)
        if any(row.name == other.name for other in table.rows):
            raise TableError(f"{at}: row '{row.name}' twice")
        table.rows.append(row)
    table.entitled.sort(key=lambda pair: -pair[0])
    return table


def check_together(table, runs):
    """What one table says of the other. Raises TableError."""
    names = {run.name for run in runs}
    for row in table.rows:
        unknown = [name for name in (row.has("only") or "").split(",") if name and name not in names]
        if unknown:
            raise TableError(f"{row.at}: only={','.join(unknown)}: runs.tsv has no such run; it has {' '.join(sorted(names))}")


def parse_runs(text, where="runs.tsv"):
    """What init runs on every row, in order."""
    runs = []
    for at, fields in _lines(text, where):
        if len(fields) != len(RUN_COLUMNS):
            raise TableError(f"{at}: {len(fields)} columns, {len(RUN_COLUMNS)} needed: {' '.join(RUN_COLUMNS)}")
        name, who, kind, seconds, when, files, command = fields
        if who not in ("row", "root", "user", "both"):
            raise TableError(f"{at}: '{who}' is none of row root user both")
        if kind not in KINDS:
            raise TableError(f"{at}: kind '{kind}' is none of {' '.join(KINDS)}")
        if not seconds.isdigit() or not 0 < int(seconds) <= 600:
            raise TableError(f"{at}: '{seconds}' is no number of seconds")
        if not re.fullmatch(NAME, name) or name in ("init", "kernel"):
            raise TableError(f"{at}: '{name}' cannot be a run's name")
        if any(name == other.name for other in runs):
            raise TableError(f"{at}: run '{name}' twice")
        if when != "-" and sum(map(len, map(_values, _machine(when, at).values()))) != 1:
            raise TableError(f"{at}: '{when}' is more than one word of the machine column")
        files = [] if files == "-" else files.split()
        runs.append(Run(name, who, kind, int(seconds), "" if when == "-" else when, files, command.split()))
    return runs
