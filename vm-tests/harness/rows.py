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
    "mem": r"[0-9]+",
    "cpus": r"[0-9]+",
    "seconds": r"[0-9]+",
    "only": r"[a-z0-9,_-]+",
    "full": r"yes",
    "parent": r"yes",
}
MANY = ("module", "sysctl")


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


def _lines(text, where):
    for number, line in enumerate(text.splitlines(), 1):
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
    if not re.fullmatch(r"[a-z0-9][a-z0-9._-]*", name):
        raise TableError(f"{at}: '{name}' cannot be a row's name")
    if arch not in ARCHES:
        raise TableError(f"{at}: architecture '{arch}' is none of {' '.join(ARCHES)}")
    if not re.match(r"(debian|file|url):.", source):
        raise TableError(f"{at}: source '{source}' is neither debian: nor file: nor url:")
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
        expect=dict(_pairs(expect, at)),
    )


def parse(text, where="rows.tsv"):
    """The table. Raises TableError with file, line and what is wrong."""
    table = Table(capabilities=[], rows=[], entitled=[])
    for at, fields in _lines(text, where):
        if fields[0] == "capabilities":
            table.capabilities = " ".join(fields[1:]).split()
            continue
        if not table.capabilities:
            raise TableError(f"{at}: a row before the line 'capabilities'")
        entitled = re.fullmatch(r"abi>=([0-9]+)", fields[0])
        if entitled:
            if len(fields) != 2:
                raise TableError(f"{at}: {len(fields)} columns, 2 needed")
            table.entitled.append((int(entitled[1]), _status(fields[1], table.capabilities, at)))
            continue
        row = _row(fields, table.capabilities, at)
        if any(row.name == other.name for other in table.rows):
            raise TableError(f"{at}: row '{row.name}' twice")
        table.rows.append(row)
    table.entitled.sort(key=lambda pair: -pair[0])
    return table


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
        if when != "-":
            _machine(when, at)
        files = [] if files == "-" else files.split()
        runs.append(Run(name, who, kind, int(seconds), "" if when == "-" else when, files, command.split()))
    return runs
