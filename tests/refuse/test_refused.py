#!/usr/bin/env python3
"""Behind a filter that refuses one system call after another: what our programs cannot do then they say, in time.

The report: ends, with JSON or an error; claims nothing that it does not claim without the filter; leaves nothing.
The launcher: exits 70 (71 without exec), or the module runs as confined as ever.
The parent: the same, and nothing of the module is left, of whatever kind its container is.

usage: test_refused.py        the calls on which waiting, ending and confining stand
       test_refused.py --all  every call they make here (strace tells), with EPERM and with ENOSYS
"""
import errno
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
ALL = sys.argv[1:] == ["--all"]
NOBODY = 65534
PATIENCE = 40
# Queues and segments are the machine's. With an IPC namespace of our own, what is left in it is ours.
if os.geteuid() == 0 and "OARBANK_OWN_IPC" not in os.environ and subprocess.run(["unshare", "-i", "true"], stderr=subprocess.DEVNULL).returncode == 0:
    os.environ["OARBANK_OWN_IPC"] = "yes"
    os.execvp("unshare", ["unshare", "-i", sys.executable, *sys.argv])
OWN_IPC = os.environ.pop("OARBANK_OWN_IPC", "") == "yes"
failures = 0
home = tempfile.mkdtemp(prefix="oarbank-refused-")
os.chmod(home, 0o755)
for program in ("oarbank-probe", "oarbank-sandbox", "oarbank-run", "refuse/refuse", "refuse/module"):
    shutil.copy(os.path.join(BUILD, program), home)
for name in ("tmp", "work", "results"):
    os.mkdir(os.path.join(home, name))
    os.chmod(os.path.join(home, name), 0o777)


def path(name):
    return os.path.join(home, name)


def say(name, good, *notes):
    global failures
    for note in notes:
        if not good:
            print("#", str(note).strip().replace("\n", "\n# ")[:600])
    failures += not good
    print("ok -" if good else "not ok -", name, flush=True)


def skip(name, reason):
    print("ok - %s # SKIP %s" % (name, reason), flush=True)


with open(path("outside"), "w") as f:
    f.write("not granted\n")
with open(path("policy.json"), "w") as f:
    json.dump({"rw": [path("work")], "exe": path("module"), "net": "none"}, f)

# ---- what is left ----------------------------------------------------------------------------------


def processes():
    found = []
    for pid in filter(str.isdigit, os.listdir("/proc")):
        try:
            if os.readlink("/proc/%s/exe" % pid).startswith(home):
                found.append(int(pid))
        except OSError:
            pass
    return found


def segments():
    """System V shared memory that nobody has attached and whose maker is gone."""
    try:
        with open("/proc/sysvipc/shm") as f:
            rows = [line.split() for line in f.readlines()[1:]]
    except OSError:
        return set()
    return {row[1] for row in rows if row[6] == "0" and not os.path.exists("/proc/" + row[4])}


def leaves():
    """Containers whose maker is gone."""
    found = set()
    for top in ("/sys/fs/cgroup", "/sys/fs/cgroup/unified"):
        for leaf in glob.glob(top + "/oarbank.*") + glob.glob(top + "/*/oarbank.*"):
            if not os.path.exists("/proc/" + leaf.rpartition("oarbank.")[2].split(".")[0]):
                found.add(leaf)
    return found


def left_after(seconds, segments_before, leaves_before):
    end = time.monotonic() + seconds
    while True:
        found = [("process", pid) for pid in processes()] + [("file", f) for f in glob.glob(path("tmp/*"))]
        found += [("segment", s) for s in segments() - segments_before]
        found += [("leaf", f) for f in leaves() - leaves_before]
        if not found or time.monotonic() > end:
            return found
        time.sleep(0.01)


def clear(found):
    for kind, what in found:
        if kind == "process":
            try:
                os.kill(what, signal.SIGKILL)
            except ProcessLookupError:
                pass
        elif kind == "file":
            shutil.rmtree(what, ignore_errors=True)
        elif kind == "segment":
            subprocess.run(["ipcrm", "-m", what])


# ---- running ---------------------------------------------------------------------------------------


class Run:
    """One command, as one user, with `calls` answering `error`."""

    def __init__(self, command, uid, calls, error):
        def become():
            if uid:
                os.setgroups([])
                os.setgid(uid)
                os.setuid(uid)
        before = segments(), leaves()
        begun = time.monotonic()
        process = subprocess.Popen([path("refuse"), calls, str(error), *command], stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.PIPE, cwd=home, preexec_fn=become,
                                   env=dict(os.environ, TMPDIR=path("tmp"), SOURCE_DATE_EPOCH="1767225600"))
        self.hung = False
        self.privileged = not uid and os.geteuid() == 0
        try:
            out, err = process.communicate(timeout=PATIENCE)
        except subprocess.TimeoutExpired:
            self.hung = True
            process.kill()
            clear([("process", pid) for pid in processes()])
            out, err = process.communicate()
        self.code = process.returncode
        self.seconds = time.monotonic() - begun
        self.out, self.err = out.decode(errors="replace"), err.decode(errors="replace")
        self.left = left_after(5, *before)
        clear(self.left)

    def __repr__(self):
        return "exit %s after %.1f s%s, left %s, %r %r" % (
            self.code, self.seconds, ", hung" if self.hung else "", self.left, self.err[:300], self.out[:200])


RANK = {"unavailable": 0, "cooperative": 1, "enforced": 2}


def statuses(run):
    try:
        return {c["name"]: c["status"] for c in json.loads(run.out)["capabilities"]}
    except (ValueError, KeyError):
        return None


# Before main(), or once nothing can be written: nothing of ours could say anything.
SPEECHLESS = {"mmap", "arch_prctl", "write", "openat", "read", "pread64", "close", "newfstatat", "fstat", "mprotect",
              "set_tid_address"}


def judge_report(run, base, calls):
    found = statuses(run)
    if run.code == 0:
        return found and not [name for name in found if RANK[found[name]] > RANK[statuses(base)[name]]]
    return bool(run.err) or bool(SPEECHLESS & set(calls.split("+")))


# What the launcher does not need, or needs before main() only; or what its C library or the module's does.
NOT_NEEDED = {"brk", "close", "exit_group", "getrandom", "rseq", "set_robust_list", "set_tid_address", "socket", "write",
              "mmap", "munmap", "mprotect", "arch_prctl", "futex", "none", "pause", "newfstatat", "lseek"}


def judge_launch(run, base, calls):
    """Refused by name, or as confined as ever; the module tells by more than 100 when it is not."""
    if run.code in (70, 71):
        return run.err.startswith("sandbox launch: ") and run.err.count("\n") == 1
    needless = NOT_NEEDED if run.privileged else NOT_NEEDED | {"capset"}
    return bool(needless & set(calls.split("+"))) and run.code <= 42 or run.code == 127


def judge_run(run, base, calls):
    return run.code in (base.code, 70, 74, 127, 128 + signal.SIGSEGV) or run.code < 0


MODULE = [path("module"), path("outside")]


def parent(*options, stay=False):
    return [path("oarbank-run"), "--policy", path("policy.json"), "--guard", "3", "--stop-grace", "0.2",
            "--result", path("results/%d" % os.getpid()), *options, "--", *MODULE, *(["stay"] if stay else [])]


COMMANDS = [
    ("the report", [path("oarbank-probe"), "--json"], judge_report),
    ("the launcher", [path("oarbank-sandbox"), "sandbox-exec", path("policy.json"), "--", *MODULE], judge_launch),
    ("the parent", parent("--container", "group"), judge_run),
    ("the parent of one that stays", parent("--container", "group", "--timeout", "0.3", stay=True), judge_run),
    ("the parent with a leaf", parent("--container", "leaf"), judge_run),
    ("the parent with a leaf of one that stays", parent("--container", "leaf", "--timeout", "0.3", stay=True), judge_run),
    ("the parent as supervisor", parent("--container", "group", "--supervise", "metadata"), judge_run),
    ("the report with a supervisor", [path("oarbank-probe"), "--json", "--parent", "run"], judge_report),
]

# ---- which calls -----------------------------------------------------------------------------------

WAITING = ["kill", "poll+ppoll", "wait4", "waitid", "close_range", "prctl", "setpgid", "pidfd_open", "fcntl", "clone+clone3",
           "pipe2", "getppid"]
CONFINING = ["landlock_create_ruleset", "landlock_add_rule", "landlock_restrict_self", "seccomp", "capget", "capset",
             "openat2", "readlink+readlinkat", "rt_sigaction", "rt_sigprocmask", "prlimit64", "execve"]
FEW = {
    "the report": WAITING + ["unlink+unlinkat", "rmdir+unlinkat", "getdents64", "shmctl", "mq_unlink", "dup2+dup3",
                             "landlock_restrict_self", "seccomp", "execve"],
    "the launcher": CONFINING + ["prctl", "close_range", "fstatfs+statfs"],
    "the parent": WAITING[:-2] + CONFINING + ["setsid", "getppid", "statfs", "sendto", "signalfd4", "socketpair"],
    "the parent of one that stays": ["kill", "waitid", "poll+ppoll", "pidfd_open", "pidfd_send_signal", "getdents64"],
    "the parent with a leaf": ["clone3", "flock", "mkdir+mkdirat", "rmdir+unlinkat"],
    "the parent with a leaf of one that stays": ["kill", "waitid", "poll+ppoll"],
    "the parent as supervisor": ["epoll_create1", "epoll_ctl", "ioctl", "memfd_create", "sendmsg", "recvmsg"],
    "the report with a supervisor": ["ioctl", "epoll_wait+epoll_pwait", "recvmsg", "sendmsg"],
}


def traced(command):
    """The calls that a command makes here, by name."""
    log = path("trace")
    subprocess.run(["strace", "-f", "-qq", "-o", log, *command], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL,
                   stdin=subprocess.DEVNULL, cwd=home, env=dict(os.environ, TMPDIR=path("tmp")), timeout=120)
    with open(log, errors="replace") as f:
        return sorted(set(re.findall(r"^\d+ +(?:<\.\.\. )?([a-z][a-z_0-9]*)[( ]", f.read(), re.M)))


def sweep(name, command, judge, uid):
    who = "%s, as %s" % (name, "nobody" if uid else "who runs this")
    base = Run(command, uid, "none", errno.EPERM)
    if "with a leaf" in name and base.code == 70:
        return skip(who, base.err.strip().split("\n")[0])
    say("%s: ends well without it" % who, base.code == (0 if judge is judge_report else 124 if "stays" in name else 42)
        and not base.left, base)
    limit = 5 + 10 * base.seconds
    for calls in traced(command) if ALL else FEW[name]:
        bad = []
        for error in (errno.EPERM, errno.ENOSYS) if ALL or calls in WAITING[:5] else (errno.EPERM,):
            run = Run(command, uid, calls, error)
            if run.hung or run.seconds > limit or run.left or not judge(run, base, calls):
                bad.append((errno.errorcode[error], run))
        say("%s: %s is refused" % (who, calls), not bad, *bad)


def queues():
    done = subprocess.run(["unshare", "-m", "sh", "-c", "mount -t mqueue none /mnt && ls /mnt"], capture_output=True, text=True)
    return {name for name in done.stdout.split() if name.startswith("oarbank-probe-")} if done.returncode == 0 else set()


if ALL and not shutil.which("strace"):
    skip("every call", "strace is needed to tell which")
    sys.exit(0)
for name, command, judge in COMMANDS:
    for uid in (0, NOBODY) if os.geteuid() == 0 else (0,):
        if uid == 0 or ALL or name in ("the launcher", "the parent"):
            sweep(name, command, judge, uid)
if OWN_IPC:
    end = time.monotonic() + 20
    while queues() and time.monotonic() < end:
        time.sleep(0.2)
    say("no message queue is left", not queues(), queues())
else:
    skip("no message queue is left", "no IPC namespace of our own to look into")
shutil.rmtree(home)
sys.exit(failures != 0)
