"""A row's expectations against what its machine said. Every difference is a sentence."""
import json
import re

from . import qemu

REFUSED = 70
# Of the report (docs/report.schema.json).
SCHEMA = 1
# What a parent that connects closes: a finding without it, and the trials that see it.
CLOSED = {
    "egress_port_only": ("egress.other-address", "egress.proxy-v6", "loopback.proxy-port", "link-local.proxy-port"),
    "broker_not_exclusive": ("broker.other", "broker.other-link"),
    "metadata_writable": ("metadata.chmod", "metadata.times"),
}


def fact(document, path):
    """The value at a dotted path; of a fact with evidence, its answer. None when it is not there."""
    value = document
    for key in path.split("."):
        if isinstance(value, list) and key.isdigit() and int(key) < len(value):
            value = value[int(key)]
        elif isinstance(value, list) and key == "length":
            value = len(value)
        elif isinstance(value, dict) and key in value:
            value = value[key]
        else:
            return None
    return value["answer"] if isinstance(value, dict) and "answer" in value else value


def _word(value):
    if value is None:
        return "nothing"
    return value if isinstance(value, str) else json.dumps(value)


def found_abi(document):
    """The ABI the report says, or the state Landlock is in instead."""
    state = fact(document, "kernel.landlock.state")
    if state != "present":
        return state
    got = document["kernel"]["landlock"]["abi"]["got"]
    return int(got) if got.isdigit() else got


def statuses(document):
    return {c["name"]: c["status"] for c in document["capabilities"]}


def untried(document):
    """Capabilities called enforced although the report's own trials do not carry it."""
    for capability in document["capabilities"]:
        if capability["status"] != "enforced":
            continue
        trials = [e for e in capability["evidence"] if "trial" in e]
        bad = [e for e in trials if e["verdict"] in ("broken", "lost")]
        held = [e for e in trials if e["expected"] == "denied" and e["verdict"] == "held"]
        if bad:
            yield f"{capability['name']}: enforced, and the trial {bad[0]['trial']} is {bad[0]['verdict']}"
        elif any(e["confined"] in (e["control"], "success") for e in held):
            yield f"{capability['name']}: a trial is called held although the sandbox made no difference"
        elif not held:
            yield f"{capability['name']}: enforced, and nothing was denied in its trials"


def compare_report(row, table, document):
    """Differences between the report and the table; `row.status` None means what its ABI entitles to."""
    differences = []
    abi = found_abi(document)
    if row.abi is not None and abi != row.abi:
        differences.append(f"Landlock ABI: the table says {row.abi}, the report {_word(abi)}")
    expected = row.status if row.status is not None else table.entitled_to(abi)
    got = statuses(document)
    for name, status in expected.items():
        if name not in got:
            differences.append(f"{name}: the report does not have it")
        elif got[name] != status:
            why = next(c["why"] for c in document["capabilities"] if c["name"] == name)
            differences.append(f"{name}: the table says {status}, the report {got[name]} ({why})")
    for name in got:
        if name not in expected:
            differences.append(f"{name}: the report says {got[name]}, the table does not know it")
    enforcement = document["sandbox"]["enforcement"]
    for name, status in enforcement.items():
        if got.get(name) != status:
            differences.append(f"{name}: {status} in the sandbox report, {_word(got.get(name))} in the capabilities")
    differences += untried(document)
    for path, value in row.expect.items():
        seen = _word(fact(document["kernel"], path))
        if seen != value:
            differences.append(f"{path}: the table says {value}, the report {seen}")
    for name, probe in document["report"]["probes"].items():
        if probe["outcome"] != "done":
            differences.append(f"probe {name}: {probe['outcome']}: {probe['why']}")
    return differences


def trials(document):
    return {e["trial"]: e for c in document["capabilities"] for e in c["evidence"] if "trial" in e}


def _findings(document):
    return {f["id"] for f in document["findings"]}


def compare_parent(alone, document):
    """Differences between a report made under a parent that connects and what it must say beside one made alone."""
    backend = has_backend(found_abi(document))
    differences = []
    if document["report"]["trials"]["parent"] != "run":
        differences.append("the report does not tell of its parent")
    if document["sandbox"] != alone["sandbox"]:
        differences.append("the sandbox report is another")
    expected = {**statuses(alone), **({"ipc.broker": "enforced"} if backend else {})}
    for name, status in statuses(document).items():
        if status != expected.get(name):
            differences.append(f"{name}: {status}, {_word(expected.get(name))} expected")
    before, now = trials(alone), trials(document)
    differences += [f"trial {name}: {e['verdict']}" for name, e in now.items() if e["verdict"] in ("broken", "lost")]
    for finding, names in CLOSED.items():
        seen = [name for name in names if before.get(name, {}).get("verdict") == "open"]
        if (finding in _findings(alone)) != bool(seen):
            differences.append(f"{finding}: alone, the finding and its trials disagree")
        if finding in _findings(document):
            differences.append(f"{finding}: is found under the parent too")
        for name in seen:
            e = now.get(name, {})
            if (e.get("verdict"), e.get("control"), e.get("confined")) != ("held", "success", "EACCES"):
                differences.append(f"trial {name}: {_word(e.get('confined'))}, with {_word(e.get('control'))} as its control")
    return differences


def tap_problems(name, text, code):
    """Failed tests of a TAP stream, and whether it is one; returns (problems, passed, [(test, reason) skipped])."""
    problems, passed, skipped = [], 0, []
    before = ""
    for line in text.splitlines():
        if "# SKIP" in line and line.startswith(("ok", "not ok")):
            test, _, reason = line.partition("# SKIP")
            test = re.sub(r"^(not )?ok( \d+)?( - )?", "", test.strip()).strip()
            # cmocka has the test's name where the reason belongs; ours tell it in a comment before.
            comment = before[1:] if before.startswith("#") else ""
            test, reason = (test, reason) if test else (reason.strip(), comment)
            skipped.append((f"{name}: {test}", reason.strip() or "no reason given"))
        elif line.startswith("not ok"):
            problems.append(f"{name}: {line}")
        elif line.startswith("ok"):
            passed += 1
        before = line
    if not problems and code:
        problems.append(f"{name}: ended with {code} after {passed} tests")
    if not problems and passed + len(skipped) == 0:
        problems.append(f"{name}: said nothing")
    return problems, passed, skipped


def _tail(program):
    return [f"    {line}" for line in program["err"].strip().splitlines()[-5:]]


def has_backend(abi):
    return isinstance(abi, int) and abi >= 3


def _judge_program(run, program, row, table, verdict):
    """One program of a row; adds to the verdict."""
    name = run.name
    if program["how"] is None:
        verdict.problems.append(f"{name}: did not end")
        return
    if program["how"] != "exit":
        verdict.problems.append(f"{name}: {program['how']} {program['code'] or ''} after {program['ms']} ms")
        verdict.problems += _tail(program)
        return
    if program["left"] > 0:
        verdict.problems.append(f"{name}: left {program['left']} processes behind")
    if run.kind in ("report", "parent"):
        try:
            document = json.loads(program["out"])
        except (ValueError, RecursionError) as problem:
            verdict.problems.append(f"{name}: exit {program['code']}, no document: {problem}")
            verdict.problems += _tail(program)
            return
        try:
            _judge_report(run, document, row, table, verdict)
        except FORM as problem:
            verdict.problems.append(f"{name}: not a report of the form that is known here: {_said(problem)}")
    elif run.kind == "tap":
        problems, passed, skipped = tap_problems(name, program["out"], program["code"])
        verdict.problems += problems + (_tail(program) if problems else [])
        verdict.passed += passed
        verdict.skips += skipped
    elif run.kind == "launch":
        abi = row.abi if row.abi is not None else verdict.document and found_abi(verdict.document)
        wanted = 0 if has_backend(abi) else REFUSED
        if program["code"] != wanted:
            verdict.problems.append(f"{name}: exit {program['code']}, {wanted} expected")
            verdict.problems += _tail(program)
        verdict.passed += program["code"] == wanted
    elif program["code"]:
        verdict.problems.append(f"{name}: exit {program['code']}")
        verdict.problems += _tail(program)


# What comes of reading members that are not there, or are something else.
FORM = (LookupError, TypeError, AttributeError, ValueError, StopIteration)


def _said(problem):
    return f"it has no {problem}" if isinstance(problem, KeyError) else str(problem) or type(problem).__name__


def _judge_report(run, document, row, table, verdict):
    if run.kind == "parent":
        if verdict.document:
            verdict.problems += [f"{run.name}: {d}" for d in compare_parent(verdict.document, document)]
        return
    schema = document["report"]["schema"]
    if schema != SCHEMA:
        raise ValueError(f"its schema is {_word(schema)}, here it is {SCHEMA}")
    if not all(isinstance(word, str) for pair in statuses(document).items() for word in pair):
        raise TypeError("a capability's name or status is no word")
    verdict.problems += compare_report(row, table, document)
    release = fact(document, "kernel.host.release")
    verdict.kernel = release if isinstance(release, str) else None
    verdict.document = document


class Verdict:
    """What a row came to: `problems` empty is a pass."""

    def __init__(self):
        self.problems = []
        self.lines = []  # of the machine's console, that matter
        self.document = None
        self.passed = 0
        self.skips = []  # (test, reason)
        self.notes = []
        self.seconds = 0.0
        self.kernel = None

    @property
    def skipped(self):
        return len(self.skips)

    @property
    def good(self):
        return not self.problems


def judge(row, table, runs, outcome):
    """The verdict on one boot."""
    verdict = Verdict()
    verdict.seconds = outcome.seconds
    bad = qemu.bad_lines(outcome.console) or qemu.bad_lines(outcome.kmsg)
    if bad:
        verdict.problems.append(f"the kernel complained: {next(line for line in bad if qemu.BAD.search(line)).strip()}")
        verdict.lines = bad
    if outcome.timed_out:
        verdict.problems.append(f"not done after {outcome.seconds:.0f} s")
    elif not outcome.done:
        verdict.problems.append("the machine ended without its end marker")
    verdict.problems += outcome.problems
    if not outcome.done and not verdict.lines:
        verdict.lines = outcome.console.splitlines()[-12:]
    if not runs:
        verdict.problems.append("nothing is run on it: its words only=, pid1= and user= leave none of runs.tsv")
    for run in runs:
        program = outcome.programs.get(run.name)
        if program:
            _judge_program(run, program, row, table, verdict)
        elif outcome.done:
            verdict.problems.append(f"{run.name}: was not run")
    return verdict
