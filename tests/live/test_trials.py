#!/usr/bin/env python3
"""Trials on this kernel: what they leave behind (nothing), what ends them, and that they agree."""
import glob
import json
import os
import re
import resource
import shutil
import signal
import subprocess
import sys
import tempfile
import time

TOP = os.path.dirname(os.path.dirname(os.path.dirname(os.path.abspath(__file__))))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
MARK = "oarbank-probe-"
PLACES = ["/tmp", "/var/tmp", "/dev/shm"]
bad = 0


def say(good, name, *lines):
    global bad
    bad += not good
    print(("ok - " if good else "not ok - ") + name)
    for line in lines:
        print("# " + str(line)[:300])
    sys.stdout.flush()


def skip(name, reason):
    print(f"ok - {name} # SKIP {reason}")


class Node:
    """The probe in a temporary directory of the test's own, as one user, with TMPDIR there."""

    def __init__(self, probe, uid):
        self.home = tempfile.mkdtemp(prefix="trials-test-")
        self.tmp = os.path.join(self.home, "t")
        self.probe = os.path.join(self.home, "probe")
        shutil.copy(probe, self.probe)
        os.chmod(self.home, 0o755)
        os.mkdir(self.tmp)
        os.chmod(self.tmp, 0o1777)
        self.uid = uid

    def environment(self, **more):
        env = {"PATH": os.environ["PATH"], "SOURCE_DATE_EPOCH": "1767225600", "TMPDIR": self.tmp}
        env.update(more)
        return {k: v for k, v in env.items() if v is not None}

    def start(self, *args, limits=(), command=(), group=False, **env):
        def prepare():
            for limit, value in limits:
                resource.setrlimit(limit, (value, value))
            if group:
                os.setpgid(0, 0)
            if self.uid:
                os.setgroups([])
                os.setgid(self.uid)
                os.setuid(self.uid)
        return subprocess.Popen([*command, self.probe, *args], stdout=subprocess.PIPE,
                                stderr=subprocess.PIPE, env=self.environment(**env), preexec_fn=prepare)

    def report(self, *args, **more):
        process = self.start("--json", *args, **more)
        out, err = process.communicate(timeout=60)
        if process.returncode != 0:
            raise RuntimeError(f"exit {process.returncode}: {err.decode()}")
        return json.loads(out)

    def left(self):
        """What a run has left: files, sockets, processes of the probe."""
        found = glob.glob(self.tmp + "/*")
        found += [line for line in open("/proc/net/unix") if self.home in line]
        for pid in filter(str.isdigit, os.listdir("/proc")):
            try:
                if os.readlink(f"/proc/{pid}/exe").startswith(self.home):
                    found.append("process " + pid)
            except OSError:
                pass
        return found

    def left_after(self, seconds):
        """The same once there was time to clean up; a host process notices the end of the report."""
        end = time.monotonic() + seconds
        while self.left() and time.monotonic() < end:
            time.sleep(0.005)
        return self.left()

    def close(self):
        shutil.rmtree(self.home, ignore_errors=True)


def statuses(report):
    return {c["name"]: c["status"] for c in report["capabilities"]}


def trials(report):
    return [e for c in report["capabilities"] for e in c["evidence"] if "trial" in e]


def told(report):
    """What must be the same every time: not facts of cgroups, which others make and remove."""
    return [(c["name"], c["status"], [e for e in c["evidence"] if "trial" in e]) for c in report["capabilities"]]


def differences(report, expected):
    """Where two reports do not tell the same: a line for each capability."""
    lines = []
    for (name, status, seen), (_, before, others) in zip(told(report), told(expected)):
        trials = [f"{a['trial']} {a['control']}/{a['confined']}, before {b['control']}/{b['confined']}"
                  for a, b in zip(seen, others) if a != b]
        if status != before or seen != others:
            lines.append("; ".join([f"{name} {status}, before {before}", *trials]))
    return lines


def is_late(report):
    """On a machine that is busy enough nothing is told, which agrees with everything."""
    return report["report"]["trials"]["why"] == "the trials took too long and were ended"


def broken(report):
    return [f"{e['trial']}: {e['control']}, {e['confined']}" for e in trials(report)
            if e["verdict"] in ("broken", "lost")]


def test_all_hold(node, who):
    report = node.report()
    seen = [e for e in trials(report) if e["verdict"] in ("held", "open")]
    say(report["report"]["trials"]["state"] == "done", f"{who}: trials are made",
        report["report"]["trials"])
    say(not broken(report), f"{who}: every trial holds", *broken(report))
    say(len(seen) > 300, f"{who}: {len(seen)} of {len(trials(report))} trials were observed")
    enforced = [n for n, s in statuses(report).items() if s == "enforced"]
    say("filesystem" in enforced and "net.none" in enforced, f"{who}: enforced: {' '.join(enforced)}")
    say(not node.left(), f"{who}: nothing is left", *node.left())
    return report


def test_no_trials(node, who):
    report = node.report("--no-trials")
    better = [c["name"] for c in report["capabilities"]
              if c["status"] != "unavailable" and not c["why"].startswith("claimed, not tried: ")]
    say(report["report"]["trials"]["state"] == "not-asked" and not trials(report),
        f"{who}: --no-trials tries nothing")
    say(not better, f"{who}: --no-trials claims, and says so", *better)


CLOSED = {"egress_port_only": ("egress.other-address", "egress.proxy-v6", "loopback.proxy-port",
                               "link-local.proxy-port"),
          "broker_not_exclusive": ("broker.other", "broker.other-link"),
          "metadata_writable": ("metadata.chmod", "metadata.times")}


def test_parent(node, who, alone):
    """What a supervisor closes is no finding under one, with the trials as evidence; and is one without."""
    supervised = node.report("--parent", "run")
    found = {f["id"] for f in supervised["findings"]}
    by_id = {e["trial"]: e for e in trials(supervised)}
    before = {e["trial"]: e for e in trials(alone)}
    say(not broken(supervised), f"{who}: under a supervisor every trial holds", *broken(supervised))
    say(supervised["report"]["trials"]["parent"] == "run" and alone["report"]["trials"]["parent"] is None,
        f"{who}: the report tells of the supervisor")
    say(statuses(supervised) == {**statuses(alone), "ipc.broker": "enforced"},
        f"{who}: a supervisor makes the broker the only one, and changes no other status", statuses(supervised))
    say(supervised["sandbox"] == alone["sandbox"], f"{who}: the wire's report is the same")
    for finding, ids in CLOSED.items():
        told = [by_id[i] for i in ids if by_id[i]["verdict"] != "no control"]
        say(finding not in found and told and all((e["control"], e["confined"]) == ("success", "EACCES")
                                                  for e in told),
            f"{who}: {finding} is closed by a supervisor", *told)
        open_before = [i for i in ids if before[i]["verdict"] == "open"]
        say((finding in {f["id"] for f in alone["findings"]}) == bool(open_before),
            f"{who}: {finding} is back without one: {' '.join(open_before) or 'not on this kernel'}")
    say(not node.left(), f"{who}: a supervisor leaves nothing", *node.left())


def test_agreement(node, who, expected):
    rounds = 10 if node.uid else 50
    different, late = [], 0
    while rounds and late < 10:
        report = node.report()
        if is_late(report):
            late += 1
            continue
        rounds -= 1
        different += differences(report, expected)
    say(not different and not rounds, f"{who}: reports in a row agree", f"{len(different)} differ, {late} were too late",
        *different)
    different = []
    for _ in range(1 if node.uid else 3):
        running = [node.start("--json") for _ in range(8)]
        for process in running:
            out, _ = process.communicate(timeout=60)
            report = json.loads(out)
            different += [] if is_late(report) else differences(report, expected)
    say(not different, f"{who}: eight at a time agree", *different)
    say(not node.left(), f"{who}: nothing is left of them", *node.left())


def test_killed(node, who):
    for number, name in ((signal.SIGKILL, "SIGKILL"), (signal.SIGINT, "SIGINT"), (signal.SIGTERM, "SIGTERM")):
        left = []
        for i in range(14):
            process = node.start("--json", group=True)
            time.sleep(i * 0.0023)
            os.killpg(process.pid, number)
            process.communicate(timeout=30)
            left += node.left_after(5)
        say(not left, f"{who}: {name} to its group at any time leaves nothing", *left)


def test_limits(node, who):
    left, failures = [], []
    for limit, values in ((resource.RLIMIT_NOFILE, (8, 10, 13, 16, 19, 20, 21, 23, 26, 40)), (resource.RLIMIT_NPROC, (1, 2, 3, 5, 8))):
        for value in values:
            try:
                process = node.start("--json", limits=[(limit, value)])
            except OSError:
                continue  # not even the program could be started
            out, err = process.communicate(timeout=60)
            if process.returncode == 0:
                failures += broken_unless_short(json.loads(out), limit, value)
            elif process.returncode != 70:
                failures.append(f"{limit} {value}: exit {process.returncode} {err.decode()[:100]}")
            left += node.left_after(5)
    say(not failures, f"{who}: a low limit ends in a report or in exit 70", *failures)
    say(not left, f"{who}: a low limit leaves nothing", *left)


def broken_unless_short(report, limit, value):
    """Short of descriptors or processes an attempt may fail with that, and is then no denial."""
    return [f"{limit} {value}: {b}" for b in broken(report)
            if not re.search(r"EMFILE|EAGAIN|ENFILE|ENOMEM", b)]


def test_directories(node, who):
    unusable = node.report(TMPDIR="/proc")
    say(unusable["report"]["trials"]["state"] == "done", f"{who}: another place is found for TMPDIR=/proc")
    long = node.report(TMPDIR=node.tmp + "/" + "x" * 100)
    say(long["report"]["trials"]["state"] == "done", f"{who}: another place is found for a long TMPDIR")


MOUNTS = {
    "read-only": "mount -t tmpfs -o ro none {}",
    "full": "mount -t tmpfs -o size=4k,mode=1777 none {0} && dd if=/dev/zero of={0}/full bs=4k count=1 status=none",
    "noexec": "mount -t tmpfs -o noexec,mode=1777 none {}",
}


def test_mounts(node, who):
    """Every usual place is such; in a mount namespace of its own. The probe is elsewhere."""
    hidden, node.probe = node.probe, "/proc/self/fd/9"
    for name, command in MOUNTS.items():
        script = f"exec 9<{hidden}; " + " && ".join(command.format(p) for p in PLACES) + ' && exec "$0" "$@"'
        mounted = ("unshare", "-m", "sh", "-c", script)
        probe = subprocess.run([*mounted, "true"], capture_output=True)
        if probe.returncode != 0:
            skip(f"{who}: places that are {name}", "no mount namespace: " + probe.stderr.decode().strip()[:80])
            continue
        report = node.report(command=mounted, TMPDIR=None, XDG_RUNTIME_DIR=None)
        got = statuses(report)
        if name == "noexec":
            say(report["report"]["trials"]["state"] == "done" and got["exec_writable_deny"] == "unavailable"
                and got["filesystem"] == "enforced",
                f"{who}: noexec places hide what running would show, and nothing else", got)
            continue
        enforced = [n for n, s in got.items() if s == "enforced"]
        say(report["report"]["trials"]["state"] == "impossible" and not enforced,
            f"{who}: with {name} places nothing is enforced", report["report"]["trials"], enforced)
    node.probe = hidden


WRITES = re.compile(r"^(?:\d+ +)?(\w+)\((.*)\) += (-?\d+)")
CHANGING = {"mkdir", "mkdirat", "unlink", "unlinkat", "rmdir", "rename", "renameat", "renameat2", "link", "linkat",
            "symlink", "symlinkat", "mknod", "mknodat", "chmod", "fchmodat", "chown", "fchownat", "lchown", "truncate",
            "utimensat", "setxattr", "removexattr", "mount", "umount2", "swapon", "acct"}
LEAF = re.compile(r"/sys/fs/cgroup/(.*/)?oarbank\.\d+\.\d+(/|$)")
HARMLESS = ("/dev/null", "/dev/ptmx", "/proc/self/", "/dev/tty")


def outside(node, line):
    """Does this line of strace change, or open for writing, something outside the stage?"""
    match = WRITES.match(line)
    if not match or int(match.group(3)) < 0:
        return False
    call, arguments = match.group(1), match.group(2)
    paths = re.findall(r'"((?:[^"\\]|\\.)*)"', arguments)
    if call in ("open", "openat", "openat2", "creat"):
        if not re.search(r"O_WRONLY|O_RDWR|O_CREAT|O_TRUNC", arguments) and call != "creat":
            return False
        paths = paths[:1]
    elif call not in CHANGING:
        return False
    if call in ("symlink", "symlinkat"):
        paths = paths[1:]
    return any(not p.startswith(node.tmp + "/" + MARK) and not p.startswith(HARMLESS)
               and not LEAF.match(p) and not re.match(r"/proc/\d+/(mem|fd/)", p) for p in paths)


def test_strace(node, who):
    strace = shutil.which("strace")
    if not strace:
        return skip(f"{who}: nothing outside is written", "no strace")
    log = os.path.join(node.tmp, "strace")
    os.chmod(node.tmp, 0o1777)
    process = node.start("--json", command=(strace, "-f", "-qq", "-s", "300", "-o", log,
                                            "-e", "trace=%file,fchmod,fchown"))
    process.communicate(timeout=100)
    lines = open(log, errors="replace").read().splitlines()
    os.unlink(log)
    touched = [l for l in lines if outside(node, l)]
    inside = [l for l in lines if node.tmp + "/" + MARK in l]
    say(process.returncode == 0 and len(inside) > 400, f"{who}: strace saw the stage", len(inside))
    say(not touched, f"{who}: nothing outside the private directory is written", *touched[:10])


def run(who, uid):
    probe = os.path.join(BUILD, "oarbank-probe")
    node = Node(probe, uid)
    try:
        first = node.report()
        if first["sandbox"]["backend"] is None:
            why = next(c["why"] for c in first["capabilities"] if c["name"] == "filesystem")
            return skip(f"{who}: trials", why)
        expected = test_all_hold(node, who)
        test_no_trials(node, who)
        test_parent(node, who, expected)
        test_agreement(node, who, expected)
        test_killed(node, who)
        test_limits(node, who)
        test_directories(node, who)
        if os.geteuid() == 0 and not uid:
            test_mounts(node, who)
        test_strace(node, who)
    finally:
        node.close()


def main():
    if os.geteuid() == 0:
        run("root", 0)
        run("a user", 65534)
    else:
        run("a user", 0)
    return 1 if bad else 0


if __name__ == "__main__":
    sys.exit(main())
