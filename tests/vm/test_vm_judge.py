#!/usr/bin/env python3
"""What turns a row red: the table against the report, the kernel's complaints, the missing end."""
import copy
import io
import json
import os
import subprocess
import tempfile
import time
import xml.etree.ElementTree as xml

from tap import main, same

from harness import arch, compare, qemu, rows, show

TABLE = rows.parse(
    "capabilities\tfilesystem ipc net.egress-any\nabi>=6\tEE-\nabi>=3\tE--\nabi>=0\t---\n"
    "r\tamd64\tfile:/k\t-\t-\t-\t6\tEE-\tcgroup.layout=unified settings.io_uring=yes\n"
)
ROW = TABLE.rows[0]
RUNS = [rows.Run("report", "user", "report", 9, "", [], ["/p"]), rows.Run("launch", "user", "launch", 9, "", [], ["/s"]),
        rows.Run("tests", "user", "tap", 9, "", [], ["/t"])]


def trial(verdict="held", control="success", confined="EACCES", expected="denied"):
    return {"trial": "t.one", "what": "try", "expected": expected, "verdict": verdict, "control": control, "confined": confined}


def document(abi=6, **statuses):
    got = {"filesystem": "enforced", "ipc": "enforced", "net.egress-any": "unavailable", **statuses}
    return {
        "sandbox": {"enforcement": dict(got)},
        "capabilities": [
            {"name": n, "status": s, "why": "because", "evidence": [trial()]} for n, s in got.items()
        ],
        "kernel": {
            "landlock": {"state": "present", "abi": {"answer": "yes", "got": str(abi)}},
            "cgroup": {"layout": "unified"},
            "settings": {"io_uring": {"answer": "yes", "got": "EFAULT"}},
            "gpu": {"nodes": [{"kind": "drm-card"}]},
        },
        "report": {"schema": 1, "probes": {"landlock": {"outcome": "done", "why": None}}},
    }


def test_a_report_as_the_table_says():
    same(compare.compare_report(ROW, TABLE, document()), [])


def judged_report(text):
    """The verdict on a boot whose report is that text."""
    outcome = qemu.Outcome(1.0, False, 0, "", done=True)
    for run in RUNS:
        outcome.programs[run.name] = {"out": "ok 1\n", "err": "", "how": "exit", "code": 0, "ms": 1, "left": 0}
    outcome.programs["report"]["out"] = text
    verdict = compare.judge(ROW, TABLE, RUNS, outcome)
    show.matrix_text(TABLE, {"r": verdict}) + show.markdown(TABLE, {"r": verdict}, "h") + show.page(TABLE, {"r": verdict}, "h")
    show.junit({"r": verdict}, 1)
    return verdict.problems


def spoilt(value):
    """`value` with each of its parts in turn gone, or something else."""
    if isinstance(value, dict):
        for key in value:
            yield {k: v for k, v in value.items() if k != key}
            for other in spoilt(value[key]):
                yield {**value, key: other}
    elif isinstance(value, list):
        yield {}
        for i in range(len(value)):
            for other in spoilt(value[i]):
                yield [*value[:i], other, *value[i + 1 :]]
    yield from (None, 7, "x", [], {}, [[]], {"answer": {}})


def test_reports_of_another_form_fail_in_words():
    same(judged_report(json.dumps(document())), [])
    count = 0
    for other in spoilt(document()):
        count += 1
        for problem in judged_report(json.dumps(other)):
            assert isinstance(problem, str) and problem, problem
    assert count > 300, count
    for text in ("", "{", "[" * 100000, "nul", '"x"', "[]", "7", json.dumps({"report": {"schema": 2}})):
        assert judged_report(text), text[:20]
    same(judged_report(json.dumps({"report": {"schema": 2}})), ["report: not a report of the form that is known here: its schema is 2, here it is 1"])


def test_a_row_on_which_nothing_runs_does_not_pass():
    verdict = compare.judge(ROW, TABLE, [], qemu.Outcome(1.0, False, 0, "", done=True))
    assert "nothing is run" in verdict.problems[0]


def test_a_channel_of_anything():
    for data in (b"##oarbank end x 3\na b", b"##oarbank end x 9999999999\n", b"##oarbank out x " + b"9" * 5000 + b"\n",
                 b"##oarbank end x 0\n", b"##oarbank out ../../x 1\na", b"##oarbank out x 5\na", b"##oarbank end x 9\nexit 1 2 z"):
        outcome = qemu.Outcome(1.0, False, 0, "")
        qemu.parse_channel(data, outcome)
        assert all("/" not in name for name in outcome.programs)


def test_a_machine_that_says_too_much_is_ended():
    most = qemu.OUTPUT_BYTES_MAX
    qemu.OUTPUT_BYTES_MAX = 1 << 20
    try:
        with tempfile.TemporaryDirectory() as directory:
            files = [os.path.join(directory, name) for name in ("console", "channel")]
            outcome = qemu.boot(["sh", "-c", f"exec yes >{files[0]}"], files, 60)
            assert outcome.problems[0].startswith("it said more than 1 MiB"), outcome.problems
            same(outcome.timed_out, False)
    finally:
        qemu.OUTPUT_BYTES_MAX = most


def test_a_wrong_table_entry_is_a_difference():
    for name in TABLE.capabilities:
        for wrong in ("enforced", "cooperative", "unavailable"):
            row = copy.deepcopy(ROW)
            if row.status[name] == wrong:
                continue
            row.status[name] = wrong
            (difference,) = compare.compare_report(row, TABLE, document())
            assert difference.startswith(f"{name}: the table says {wrong}, the report "), difference


def test_a_probe_that_claims_too_much():
    (difference,) = compare.compare_report(ROW, TABLE, document(**{"net.egress-any": "enforced"}))
    assert "net.egress-any: the table says unavailable, the report enforced (because)" == difference


def test_a_wrong_abi_a_wrong_state_a_wrong_fact():
    assert "ABI: the table says 6, the report 7" in compare.compare_report(ROW, TABLE, document(7))[0]
    off = document()
    off["kernel"]["landlock"] = {"state": "off-at-boot"}
    assert "the report off-at-boot" in compare.compare_report(ROW, TABLE, off)[0]
    hybrid = document()
    hybrid["kernel"]["cgroup"]["layout"] = "hybrid"
    same(compare.compare_report(ROW, TABLE, hybrid), ["cgroup.layout: the table says unified, the report hybrid"])
    del hybrid["kernel"]["cgroup"]
    same(compare.compare_report(ROW, TABLE, hybrid), ["cgroup.layout: the table says unified, the report nothing"])


def test_capabilities_only_one_side_knows():
    more = document(extra="enforced")
    assert "extra: the report says enforced, the table does not know it" in compare.compare_report(ROW, TABLE, more)
    less = document()
    less["capabilities"].pop(0)
    assert "filesystem: the report does not have it" in compare.compare_report(ROW, TABLE, less)


def test_two_parts_of_a_report_must_agree():
    two = document()
    two["sandbox"]["enforcement"]["ipc"] = "unavailable"
    assert "ipc: unavailable in the sandbox report" in compare.compare_report(ROW, TABLE, two)[0]


def test_a_probe_that_claims_what_it_did_not_see():
    def compared(*evidence):
        claims = document()
        claims["capabilities"][1]["evidence"] = list(evidence)
        return compare.compare_report(ROW, TABLE, claims)

    nothing = ["ipc: enforced, and nothing was denied in its trials"]
    same(compared(), nothing)
    same(compared({"answer": "yes", "call": "x"}), nothing)
    same(compared(trial(expected="allowed", confined="success")), nothing)
    same(compared(trial("no control", "ENOSYS", "ENOSYS")), nothing)
    same(compared(trial(), trial("broken", confined="success")), ["ipc: enforced, and the trial t.one is broken"])
    same(compared(trial(), trial("lost")), ["ipc: enforced, and the trial t.one is lost"])
    same(compared(trial(confined="success")), ["ipc: a trial is called held although the sandbox made no difference"])
    same(compared(trial(control="EBADF", confined="EPERM")), [])


def test_a_probe_that_was_lost():
    lost = document()
    lost["report"]["probes"]["landlock"] = {"outcome": "lost", "why": "timeout"}
    same(compare.compare_report(ROW, TABLE, lost), ["probe landlock: lost: timeout"])


def parent_documents(abi=6):
    """A report made alone, and one made under a parent that connects."""
    def trial(name, verdict, confined):
        return {"trial": name, "verdict": verdict, "control": "success", "confined": confined}

    alone, under = document(abi, **{"ipc.broker": "cooperative"}), document(abi, **{"ipc.broker": "enforced"})
    names = [name for names in compare.CLOSED.values() for name in names]
    for report, verdict, confined, findings in ((alone, "open", "success", list(compare.CLOSED)), (under, "held", "EACCES", [])):
        report["findings"] = [{"id": f} for f in findings]
        report["report"]["trials"] = {"parent": "run" if report is under else None}
        for c in report["capabilities"]:
            c["evidence"] = [trial(n, verdict, confined) for n in names] if c["name"] == "ipc.broker" else []
        del report["sandbox"]["enforcement"]["ipc.broker"]
    return alone, under


def test_a_parent_closes_what_it_must():
    alone, under = parent_documents()
    same(compare.compare_parent(alone, under), [])
    problems = compare.compare_parent(alone, alone)
    for word in ("does not tell", "ipc.broker: cooperative, enforced expected", "egress_port_only: is found", "trial metadata.chmod"):
        assert any(word in p for p in problems), (word, problems)
    evidence = under["capabilities"][-1]["evidence"]
    for change in ({"confined": "EPERM"}, {"control": "EACCES"}, {"verdict": "broken"}):
        saved = dict(evidence[0])
        evidence[0].update(change)
        assert compare.compare_parent(alone, under), change
        evidence[0].update(saved)
    under["sandbox"]["enforcement"]["ipc"] = "unavailable"
    assert "the sandbox report is another" in compare.compare_parent(alone, under)


def test_a_parent_without_a_backend_changes_nothing():
    alone, under = parent_documents(2)
    for report in (alone, under):
        report["findings"] = []
        for c in report["capabilities"]:
            c.update(status="unavailable", evidence=[])
    same(compare.compare_parent(alone, under), [])


def test_a_kernel_that_was_dropped_in():
    row = copy.deepcopy(ROW)
    row.abi = row.status = None
    row.expect = {}
    same(compare.compare_report(row, TABLE, document(9)), [])
    same(compare.compare_report(row, TABLE, document(4, ipc="unavailable")), [])
    assert "ipc: the table says unavailable" in compare.compare_report(row, TABLE, document(4))[0]


def test_facts_by_their_path():
    kernel = document()["kernel"]
    same(compare.fact(kernel, "settings.io_uring"), "yes")
    same(compare.fact(kernel, "settings.io_uring.got"), "EFAULT")
    same(compare.fact(kernel, "gpu.nodes.length"), 1)
    same(compare.fact(kernel, "gpu.nodes.0.kind"), "drm-card")
    same(compare.fact(kernel, "gpu.nodes.1.kind"), None)


def frame(word, name, body=b""):
    return b"##oarbank %s %s %d\n" % (word, name, len(body)) + body + b"\n"


def channel(report=None, launch=b"exit 0 5 0", tests=b"ok - a\nok - b # SKIP no\n", done=True):
    body = json.dumps(report or document()).encode()
    data = frame(b"begin", b"report") + frame(b"out", b"report", body[:50]) + frame(b"out", b"report", body[50:])
    data += frame(b"end", b"report", b"exit 0 12 0") + frame(b"begin", b"launch") + frame(b"end", b"launch", launch)
    data += frame(b"out", b"tests", tests) + frame(b"end", b"tests", b"exit 0 9 0")
    return data + (frame(b"kmsg", b"kernel", b"<6> all is well\n") + frame(b"done", b"init") if done else b"")


def judged(data=None, console="", timed_out=False, row=ROW):
    outcome = qemu.Outcome(1.5, timed_out, 0, console)
    qemu.parse_channel(channel() if data is None else data, outcome)
    return compare.judge(row, TABLE, RUNS, outcome)


def red(verdict, word):
    if not any(word in problem for problem in verdict.problems):
        raise AssertionError(f"'{word}' is not among {verdict.problems}")


def test_a_good_row():
    verdict = judged()
    same((verdict.problems, verdict.passed, verdict.skipped), ([], 2, 1))


def test_output_with_frames_in_it():
    same(judged(channel(tests=b"ok - ##oarbank end tests 3\n")).problems, [])


def test_a_missing_end_marker():
    red(judged(channel(done=False)), "without its end marker")
    red(judged(b""), "without its end marker")
    red(judged(channel(done=False), timed_out=True), "not done after")


def test_an_output_that_breaks_off():
    red(judged(channel()[:80]), "breaks off")


def test_complaints_of_the_kernel():
    for line in ("BUG: kernel NULL pointer dereference, address: 0", "WARNING: CPU: 0 PID: 1 at kernel/x.c:1 f+0x1/0x2",
                 "Oops: 0000 [#1]", "Kernel panic - not syncing: x", "rcu: INFO: rcu_preempt detected stalls on CPUs"):
        verdict = judged(console=f"[    1.0] hello\n[    2.0] {line}\n[    2.1] Call Trace:\n")
        red(verdict, line[:12])
        same(verdict.lines[0], "[    1.0] hello")
        same(verdict.lines[-1], "[    2.1] Call Trace:")
    red(judged(channel().replace(b"all is well", b"BUG: eleven")), "BUG: eleven")
    same(judged(console="Warning: unable to open an initial console.\ndebug: BUGS\n").problems, [])


def test_a_launcher_that_does_not_refuse():
    old = copy.deepcopy(ROW)
    old.abi, old.status = 2, dict.fromkeys(TABLE.capabilities, "unavailable")
    report = document(2, filesystem="unavailable", ipc="unavailable")
    red(judged(channel(report), row=old), "launch: exit 0, 70 expected")
    same(judged(channel(report, launch=b"exit 70 5 0"), row=old).problems, [])
    red(judged(channel(launch=b"exit 70 5 0")), "launch: exit 70, 0 expected")


def test_programs_that_end_badly():
    red(judged(channel(launch=b"signal 11 5 0")), "launch: signal 11")
    red(judged(channel(launch=b"timeout 0 9000 0")), "launch: timeout")
    red(judged(channel(launch=b"exit 0 5 2")), "left 2 processes")
    red(judged(channel(tests=b"ok - a\nnot ok - b\n")), "not ok - b")
    red(judged(channel(tests=b"")), "said nothing")
    red(judged(channel().replace(b"exit 0 9 0", b"exit 1 9 0")), "ended with 1")
    red(judged(channel().replace(b"{", b"[", 1)), "no document")


def test_skips_have_a_reason():
    cmocka = b"1..3\n# no frogs\nnot ok 1 # SKIP first\nok 2 - a\nok 3 # SKIP second\n"
    same(judged(channel(tests=cmocka)).skips, [("tests: first", "no frogs"), ("tests: second", "no reason given")])
    same(judged(channel(tests=b"ok 1 - a # SKIP\n")).skips, [("tests: a", "no reason given")])
    same(judged(channel(tests=b"ok - a (b) # SKIP not here: x\n")).skips, [("tests: a (b)", "not here: x")])


def test_a_run_that_is_missing():
    data = frame(b"end", b"report", b"exit 0 1 0") + frame(b"done", b"init")
    verdict = judged(data)
    red(verdict, "launch: was not run")
    red(verdict, "tests: was not run")


def test_a_problem_init_tells():
    red(judged(frame(b"problem", b"init", b"/dev/pts: ENOENT") + channel()), "init: /dev/pts: ENOENT")


def test_only_a_crash_gets_a_second_boot():
    def outcome(done, timed_out=False, console=""):
        return qemu.Outcome(1, timed_out, 0, console, done=done)

    same(qemu.crashed(outcome(True)), False)
    same(qemu.crashed(outcome(True, console="BUG: x")), False)
    same(qemu.crashed(outcome(False)), True)
    same(qemu.crashed(outcome(False, timed_out=True)), False)
    same(qemu.crashed(outcome(False, timed_out=True, console="Oops: 0")), True)


def boot(script, seconds):
    """A machine that is a script."""
    with tempfile.TemporaryDirectory() as directory:
        return qemu.boot(["sh", "-c", script], [os.path.join(directory, name) for name in ("console", "channel")], seconds)


def test_a_machine_has_its_time():
    same(boot("exit 0", 30).timed_out, False)
    hangs = boot("exec sleep 60", 0.3)
    assert hangs.timed_out and hangs.seconds < 30, hangs.seconds


def test_waiting_for_a_processor_is_no_time_of_its_own():
    one = str(min(os.sched_getaffinity(0)))
    spin = ["taskset", "-c", one, "sh", "-c", "while :; do :; done"]
    rivals = [subprocess.Popen(spin) for _ in range(3)]
    try:
        end = time.monotonic() + 30
        while min(map(qemu.waited, (r.pid for r in rivals))) < 0.1:
            assert time.monotonic() < end, "three on one processor do not wait"
            time.sleep(0.02)
    finally:
        for rival in rivals:
            rival.kill()
            rival.wait()
    same(qemu.waited(rivals[0].pid), 0)


def test_the_machine_for_each_qemu():
    assert "max,la57=off,erms=off,fsrm=off,cx16=off" in qemu.machine("amd64", "tcg", (7, 2), 512, 1)
    assert "max,la57=off,erms=off,fsrm=off" in qemu.machine("amd64", "tcg", (10, 0), 512, 1)
    assert "host" in qemu.machine("amd64", "kvm", (10, 0), 512, 1)


def test_the_clock_of_an_emulated_machine():
    cpuinfo = "processor\t: 0\nflags\t\t: fpu constant_tsc x\nbogomips\t: 4599.99\n\nprocessor\t: 1\nbogomips\t: 9\n"
    same(qemu.tsc_khz(cpuinfo), 2299995)
    same(qemu.tsc_khz(cpuinfo.replace("constant_tsc", "tsc")), None)
    same(qemu.tsc_khz(""), None)
    same(qemu.boot_words("amd64", "kvm", cpuinfo), "")
    same(qemu.boot_words("arm64", "tcg", cpuinfo), "")
    known = " tsc_early_khz=2299995" if arch.host() == "amd64" else ""
    same(qemu.boot_words("amd64", "tcg", cpuinfo), "no_timer_check tsc=reliable noreplace-smp" + known)


def verdicts():
    good, bad = judged(), judged(channel(done=False), console="BUG: \x1b[1m<&>\n")
    good.kernel, bad.notes = "6.12-x", ["crashed once (no word), booted again"]
    return {"good": good, "bad": bad}


def test_the_matrix_in_every_form():
    both = verdicts()
    text = show.matrix_text(TABLE, both)
    assert "E E -" in text and "BAD" in text and "net.egress-any" in text
    page = show.page(TABLE, both, "a < b")
    assert "a &lt; b" in page and "&lt;&amp;&gt;" in page and "http" not in page and page.count("<tr") == 3
    assert "| good | 6.12-x | 6 | ✓ | ✓ | ✗ |" in show.markdown(TABLE, both, "x")
    suite = xml.fromstring(show.junit(both, 3.0))
    same((suite.get("tests"), suite.get("failures")), ("2", "1"))
    same([case.get("name") for case in suite if case.find("failure") is not None], ["bad"])
    same(show.skipped_for(both), [("no", 2, {"tests: b": ["good", "bad"]})])
    same(show.skips(both, "F"), ["skipped, by reason; which tests on which rows: F", "    2  no (1 test, 2 rows)"])
    assert "Skipped 2 times: no\n\n- tests: b: every row\n" in show.markdown(TABLE, both, "x")
    assert "<summary>skipped 2 times: no</summary><ul><li>tests: b: every row</ul>" in page
    assert show.summary(both, 3, "tcg").endswith("1 passed, 1 failed")


def test_progress_in_plain_lines():
    out = io.StringIO()
    progress = show.Progress(2, out, live=False)
    progress.state("good", "booting")
    for name, verdict in verdicts().items():
        progress.finish(name, verdict)
    lines = out.getvalue().splitlines()
    assert lines[0].startswith("ok   good") and lines[1].startswith("FAIL bad"), lines
    assert "booted again" in lines[1] and "\033" not in lines[0]


def test_progress_on_a_terminal():
    out = io.StringIO()
    progress = show.Progress(1, out, live=True)
    progress.state("good", "report")
    assert "… good" in out.getvalue() and "report" in out.getvalue()
    progress.finish("good", judged())
    progress.close()
    assert "1 of 1 rows, 0 bad" in out.getvalue()


def test_many_problems_are_shortened():
    same(len(show.shortened(["x"] * 300)), show.PROBLEMS_SHOWN + 1)
    same(show.shortened(["x"] * 3), ["x"] * 3)


main(globals())
