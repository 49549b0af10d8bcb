#!/usr/bin/env python3
"""oarbank-run on this kernel: how it ends, what it passes on, and that nothing is left behind."""
import json
import os
import random
import re
import resource
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import time

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
NOBODY = 65534
MARK = "oarbank-test-%d-%d" % (os.getpid(), random.randrange(10**9))
failures = 0


def check(name, good, *notes):
    global failures
    for note in notes:
        if not good:
            print("#", str(note).strip().replace("\n", "\n# "))
    failures += not good
    print("ok -" if good else "not ok -", name, flush=True)


def skip(name, reason):
    print("ok - %s # SKIP %s" % (name, reason), flush=True)


dir = tempfile.mkdtemp(prefix="oarbank-run-")
os.chmod(dir, 0o755)
# Other users run them, too, and may not get into the checkout.
for program in ("oarbank-run", "oarbank-sandbox"):
    shutil.copy(os.path.join(BUILD, program), dir)
RUN = dir + "/oarbank-run"


def path(name):
    return dir + "/" + name


def write(name, text, mode=0o644):
    with open(path(name), "w") as f:
        f.write(text)
    os.chmod(path(name), mode)
    return path(name)


POLICY = write("policy.json", json.dumps({"ro": [dir], "net": "none"}))

# ---- what is left -----------------------------------------------------------------------------------


def marked():
    """Processes of this test that run something marked, and are not ours."""
    found = []
    for pid in os.listdir("/proc"):
        if not pid.isdigit():
            continue
        try:
            with open("/proc/%s/cmdline" % pid, "rb") as f:
                words = f.read().split(b"\0")
        except OSError:
            continue
        if MARK.encode() in words:
            found.append(int(pid))
    return found


def wait_until(what, seconds=20):
    end = time.monotonic() + seconds
    while time.monotonic() < end:
        if what():
            return True
        time.sleep(0.005)
    return what()


def nothing_left():
    return wait_until(lambda: not marked())


# ---- running ---------------------------------------------------------------------------------------

results = 0


def new_result():
    global results
    results += 1
    return path("result-%d.json" % results)


def command(argv, *options, result=None):
    words = [RUN, "--policy", POLICY, *options]
    if result:
        words += ["--result", result]
    return words + ["--", *argv]


def run(argv, *options, env=None, input=None, preexec=None):
    """Returns the finished process and its result."""
    result = new_result()
    done = subprocess.run(command(argv, *options, result=result), capture_output=True, input=input,
                          env=dict(os.environ, **(env or {})), preexec_fn=preexec, timeout=30)
    try:
        with open(result) as f:
            done.result = json.load(f)
    except (OSError, ValueError):
        done.result = {}
    return done


def start(argv, *options, env=None, preexec=None):
    result = new_result()
    p = subprocess.Popen(command(argv, *options, result=result), stdin=subprocess.DEVNULL,
                         stdout=subprocess.DEVNULL, stderr=subprocess.PIPE,
                         env=dict(os.environ, **(env or {})), preexec_fn=preexec)
    p.result_file = result
    return p


def result_of(p):
    try:
        with open(p.result_file) as f:
            return json.load(f)
    except (OSError, ValueError):
        return {}


def until_state(p, state):
    return wait_until(lambda: result_of(p).get("state") == state or p.poll() is not None)


def status_of(pid, field):
    try:
        with open("/proc/%d/status" % pid) as f:
            return next((line.split(":\t")[1].strip() for line in f if line.startswith(field + ":")), "")
    except OSError:
        return ""


def has_signal(pid, number, *fields):
    return any(int(status_of(pid, field) or "0", 16) & 1 << (number - 1) for field in fields)


def until_trapped(p, number):
    """Until the module's shell has its own disposition for that signal."""
    until_state(p, "running")
    return wait_until(lambda: has_signal(result_of(p)["pid"], number, "SigIgn", "SigCgt") or p.poll() is not None)


def send(p, number):
    """And wait until it is taken: two that are pending are one."""
    p.send_signal(number)
    wait_until(lambda: not has_signal(p.pid, number, "SigPnd", "ShdPnd"))


def sh(script, *arguments):
    return ["/bin/sh", "-c", script, MARK, *arguments]


def can_leaf():
    return run(["/bin/true"], "--container", "leaf")


probe = can_leaf()
KINDS = ["group"]
if probe.returncode == 0 and probe.result.get("container") == "leaf":
    KINDS.append("leaf")
    print("# leaf:", probe.result["cgroup"])
else:
    NO_LEAF = probe.stderr.decode().strip()
    skip("a leaf", NO_LEAF)

# ---- exits and signals -----------------------------------------------------------------------------

for kind in KINDS:
    c = ("--container", kind)
    for code in (0, 1, 42, 255):
        p = run(sh("exit %d" % code), *c)
        reason = "ok" if code == 0 else "exit_nonzero"
        check("%s: exit code %d" % (kind, code),
              p.returncode == code and p.result["reason"] == reason and p.result["code"] == code
              and p.result["verified"] and p.result["container"] == kind, p.result, p.stderr)
    for number in (signal.SIGTERM, signal.SIGKILL, signal.SIGSEGV):
        p = run(sh("kill -%d $$" % number), *c)
        check("%s: ended by signal %d" % (kind, number),
              p.returncode == 128 + number and p.result["reason"] == "signal"
              and p.result["signal"] == number, p.returncode, p.result)
    data = bytes(range(256)) * 512
    p = run(sh("cat; echo on-stderr >&2"), *c, input=data)
    check("%s: standard input, output and error are the module's" % kind,
          p.stdout == data and p.stderr == b"on-stderr\n", len(p.stdout), p.stderr)
    p = run(sh("exit 71"), *c)
    check("%s: a module may exit 71 itself" % kind,
          p.returncode == 71 and p.result["reason"] == "exit_nonzero", p.result)
    p = run([dir + "/nothing-there"], *c)
    check("%s: a program that is not there is launch_failed" % kind,
          p.returncode == 70 and p.result["reason"] == "launch_failed"
          and "could not execute" in p.result["detail"], p.result)

    p = start(sh("trap 'exit 5' TERM; while :; do sleep 0.05; done"), *c)
    until_trapped(p, signal.SIGTERM)
    p.send_signal(signal.SIGTERM)
    p.wait(20)
    r = result_of(p)
    check("%s: SIGTERM is passed on, and the module may clear up" % kind,
          p.returncode == 5 and r["stopped"] and r["reason"] == "exit_nonzero", p.returncode, r)
    p = start(sh("trap '' TERM; while :; do sleep 0.05; done"), *c, "--stop-grace", "0.2")
    until_trapped(p, signal.SIGTERM)
    begun = time.monotonic()
    p.send_signal(signal.SIGINT)
    p.wait(20)
    took = time.monotonic() - begun
    r = result_of(p)
    check("%s: after the grace time it is killed" % kind,
          p.returncode == 137 and r["stopped"] and 0.15 < took < 20, p.returncode, took, r)
    p = start(sh("trap '' TERM; while :; do sleep 0.05; done"), *c, "--stop-grace", "60")
    until_trapped(p, signal.SIGTERM)
    send(p, signal.SIGTERM)
    send(p, signal.SIGTERM)
    check("%s: a second signal kills at once" % kind, p.wait(20) == 137, p.returncode)
    p = run(sh("sleep 100"), *c, "--timeout", "0.2", "--stop-grace", "1")
    check("%s: timeout" % kind, p.returncode == 124 and p.result["reason"] == "timeout"
          and 150000 < p.result["wall_us"] < 20000000, p.result)
    # A shell that has not come to its trap by then is ended by SIGTERM.
    for seconds in ("0.2", "2", "10"):
        p = run(sh("trap '' TERM; sleep 100 & wait; wait; sleep 100"), *c, "--timeout", seconds,
                "--stop-grace", "0.2")
        if p.result["signal"] != signal.SIGTERM:
            break
    check("%s: timeout of what ignores SIGTERM" % kind,
          p.returncode == 124 and p.result["signal"] == 9, p.result)
    check("%s: nothing is left so far" % kind, nothing_left(), marked())

# ---- many children ---------------------------------------------------------------------------------

CHILDREN = write("children.py", """
import ctypes, os, sys, time
for i in range(20):
    pid = os.fork()
    if pid:
        if i % 2:
            os.waitpid(pid, 0)
        continue
    if i % 2:
        os.setsid()
        if os.fork():
            os._exit(0)
    time.sleep(1000)
ctypes.CDLL(None).prctl(15, b"settled")
if sys.argv[2] == "stay":
    time.sleep(1000)
sys.exit(3)
""")


MAINLESS = write("mainless.py", """
import ctypes, os, sys, threading, time

ready, say = os.pipe()

def go_on():
    main = "/proc/self/stat"
    while open(main).read().rpartition(")")[2].split()[0] != "Z":
        time.sleep(0.001)
    for i in range(1, 100000):
        with open(sys.argv[1] + ".new", "w") as f:
            f.write(str(i))
        os.rename(sys.argv[1] + ".new", sys.argv[1])
        if i == 1:
            os.write(say, b"1")
        time.sleep(0.01)

if os.fork():
    os.read(ready, 1)
    os._exit(0)
os.setsid()
if os.fork():
    os._exit(0)
threading.Thread(target=go_on).start()
ctypes.CDLL(None).pthread_exit(None)
""")


HIDDEN = write("hidden.py", """
import ctypes, os, time
ready, say = os.pipe()
if os.fork():
    os.read(ready, 1)
    os._exit(0)
os.setsid()
ctypes.CDLL(None).prctl(4, 0)
os.write(say, b"1")
time.sleep(1000)
""")

NAMED = write("named.py", """
import ctypes, os, time
ctypes.CDLL(None).prctl(15, b"oarbank-keeper")
os.fork()
time.sleep(1000)
""")


def children(how):
    return ["/usr/bin/python3", "-S", CHILDREN, MARK, how]


def members(r):
    with open(r["cgroup"] + "/cgroup.procs") as f:
        return {int(line) for line in f}


def own_cgroup(pid):
    with open("/proc/%d/cgroup" % pid) as f:
        return next(line for line in f if line.startswith("0::")).strip()[3:]


def modules():
    """The marked ones but oarbank-run and its keeper."""
    found = []
    for pid in marked():
        try:
            if os.readlink("/proc/%d/exe" % pid) != RUN:
                found.append(pid)
        except OSError:
            pass
    return found


for kind in KINDS:
    c = ("--container", kind)
    p = start(children("stay"), *c)
    until_state(p, "running")
    check("%s: a leader with 20 children, half of them with setsid and a double fork" % kind,
          wait_until(lambda: "settled" in [status_of(q, "Name") for q in modules()]) and len(modules()) == 21,
          modules(), result_of(p))
    r = result_of(p)
    if kind == "leaf":
        check("leaf: all of them are in it by cgroup.procs",
              len(members(r)) == 21 and members(r) == set(modules()),
              members(r), modules())
        wrong = [own_cgroup(q) for q in modules() if not r["cgroup"].endswith(own_cgroup(q))]
        check("leaf: and by /proc/PID/cgroup", not wrong, wrong)
        check("leaf: which no other process is in", all(
            not r["cgroup"].endswith(own_cgroup(q)) for q in (p.pid, r["keeper"], os.getpid())))
    status = subprocess.run([RUN, "status", p.result_file], capture_output=True, text=True)
    check("%s: status counts them" % kind, status.returncode == 0
          and status.stdout.startswith("running: 21 processes"), status)
    by_pid = [subprocess.run([RUN, "status", str(q)], capture_output=True, text=True).stdout
              for q in (p.pid, r["pid"], modules()[-1])]
    check("%s: status by the parent's, the leader's and a child's process id" % kind,
          by_pid == [status.stdout] * 3, by_pid)
    with open("/dev/full", "w", encoding="ascii") as full:
        done = subprocess.run([RUN, "status", str(p.pid)], stdout=full, stderr=subprocess.PIPE,
                              text=True)
    check("%s: a status that cannot be written says so" % kind, done.returncode == 70
          and done.stderr == "oarbank-run: write to standard output: ENOSPC\n", done)
    done = subprocess.run([RUN, "kill", p.result_file], capture_output=True, text=True)
    p.wait(20)
    r = result_of(p)
    check("%s: kill ends all of them" % kind, done.returncode == 0 and p.returncode == 137
          and not r["left_behind"] and nothing_left(), done, r, marked())
    p = run(children("leave"), *c)
    check("%s: what the leader leaves behind is ended with it" % kind,
          p.returncode == 3 and p.result["killed_at_end"] == 20 and nothing_left(), p.result,
          marked())
    check("%s: the report says what holds it" % kind, p.result["enforcement"] ==
          {"leaf": "enforced", "group": "cooperative"}[kind])

    # A counter that a frozen module does not move.
    work = tempfile.mkdtemp(dir=dir)
    os.chmod(work, 0o777)
    policy = write("rw.json", json.dumps({"ro": [MAINLESS], "rw": [work], "net": "none"}))
    p = start(sh("i=0; while :; do i=$((i + 1)); echo $i >$0.new; mv $0.new $0; done".replace(
        "$0", work + "/count")), *c, "--policy", policy)

    def count():
        try:
            with open(work + "/count") as f:
                return int(f.read() or 0)
        except (OSError, ValueError):
            return 0

    until_state(p, "running")
    moving = wait_until(lambda: count() > 2)
    frozen = subprocess.run([RUN, "freeze", p.result_file], capture_output=True)
    if kind == "group":
        wait_until(lambda: all(status_of(q, "State").startswith("T") for q in [*modules(), result_of(p)["pid"]]))
    before = count()
    time.sleep(0.2)
    still = count() == before
    thawed = subprocess.run([RUN, "thaw", str(p.pid)], capture_output=True)
    check("%s: freeze stops progress, thaw resumes it" % kind,
          moving and still and frozen.returncode == 0 and thawed.returncode == 0
          and wait_until(lambda: count() > before), moving, before, count(), frozen, thawed)
    subprocess.run([RUN, "freeze", p.result_file])
    p.send_signal(signal.SIGTERM)
    check("%s: a frozen one can be stopped" % kind, p.wait(20) == 143, p.returncode)

    # /proc says of such a process that it is a zombie, and cgroup.kill does not end it.
    os.unlink(work + "/count")
    p = run(["/usr/bin/python3", "-S", MAINLESS, work + "/count"], *c, "--policy", policy)
    before = count()
    time.sleep(0.1)
    check("%s: a process whose main thread has ended is ended" % kind, p.returncode == 0
          and before > 0 and count() == before and not p.result["left_behind"]
          and p.result["killed_at_end"] == 1, p.result, p.stderr, before, count())

# ---- which run a result names ----------------------------------------------------------------------

p = start(sh("sleep 100"), "--container", "group")
until_state(p, "running")
r = result_of(p)
other = write("other.json", json.dumps(dict(r, keeper_start=r["keeper_start"] + 1)))
done = subprocess.run([RUN, "kill", other], capture_output=True)
check("a process that has the keeper's number but not its start is another one",
      done.returncode == 1 and p.poll() is None, done)
stranger = subprocess.Popen(["sleep", "100"])
with open("/proc/self/stat") as f:
    start_of_us = int(f.read().rpartition(")")[2].split()[19])
left = write("left", "as it was\n")
os.mkdir(path("trap"))
os.symlink(left, path("trap/cgroup.kill"))
for kind in ("group", "leaf"):
    forged = write("forged.json", json.dumps(dict(
        r, container=kind, cgroup=path("trap"), keeper=os.getpid(), keeper_start=start_of_us)))
    done = subprocess.run([RUN, "kill", forged], capture_output=True)
    check("a result that calls another process a keeper, with a %s, ends nothing" % kind,
          done.returncode == 1 and stranger.poll() is None and p.poll() is None
          and open(left).read() == "as it was\n", done)
    forged = write("forged.json", json.dumps(dict(r, container=kind, cgroup=path("trap"))))
    done = subprocess.run([RUN, "status", forged], capture_output=True, text=True)
    check("a result that gives a run another container, a %s, does not move it" % kind,
          done.returncode == 0 and "process group" in done.stdout, done)
if os.getuid() == 0:
    done = [subprocess.run([RUN, verb, str(p.pid)], user=65534, group=65534, extra_groups=[],
                           capture_output=True) for verb in ("freeze", "thaw", "kill")]
    check("another user's run is not said to be frozen or ended",
          all(d.returncode == 70 and b"EPERM" in d.stderr for d in done), done)
else:
    skip("another user's run is not said to be frozen or ended", "needs root")
if os.getuid() == 0:
    work = tempfile.mkdtemp(dir=dir)
    os.chmod(work, 0o777)
    policy = write("hidden.json", json.dumps({"ro": [HIDDEN]}))
    words = command(["/usr/bin/python3", "-S", HIDDEN], "--container", "group",
                    "--policy", policy, result=work + "/result")
    hidden = subprocess.run(
        ["unshare", "-mpf", "sh", "-c", "mount -t proc -o hidepid=2 proc /proc && exec "
         "setpriv --reuid 65534 --regid 65534 --clear-groups \"$@\"", "sh", *words],
        capture_output=True, text=True)
    try:
        with open(work + "/result") as f:
            r = json.load(f)
        check("a process that /proc hides is ended too", hidden.returncode == 0
              and r["killed_at_end"] == 1 and not r["left_behind"], r, hidden.stderr)
    except OSError as e:
        skip("a process that /proc hides is ended too", "no hidden /proc: %s" % e)
else:
    skip("a process that /proc hides is ended too", "needs root")
named = start(["/usr/bin/python3", "-S", NAMED, MARK], "--container", "group")
until_state(named, "running")
check("a module that calls itself a keeper is none", wait_until(
    lambda: len(modules()) >= 3) and all(
        subprocess.run([RUN, "status", str(q)], capture_output=True, text=True).stdout
        .startswith("running: 2 processes") for q in (named.pid, result_of(named)["pid"])),
      modules(), result_of(named))
done = subprocess.run([RUN, "kill", str(result_of(named)["pid"])], capture_output=True)
check("and is ended by its number", named.wait(20) == 137 and done.returncode == 0, done)
done = [subprocess.run([RUN, "status", what], capture_output=True).returncode
        for what in (str(stranger.pid), write("broken.json", "{"), path("missing.json"))]
stranger.kill()
stranger.wait()
check("status of what is no run", done == [1, 70, 1], done)
p.terminate()
p.wait(20)
done = subprocess.run([RUN, "status", p.result_file], capture_output=True)
check("status of what has ended", done.returncode == 1, done)

# ---- programs that are nowhere ---------------------------------------------------------------------

for variable, name, says in (("OARBANK_SANDBOX_EXEC", "launcher", ()),
                             ("OARBANK_EGRESS_EXEC", "proxy", ("--egress-allow", "example.org"))):
    for value, because in (("bin/x", "no absolute path"), ("/" + "x" * 5000, "too long")):
        p = run(["/bin/true"], *says, env={variable: value})
        check("a %s whose path is %s is named" % (name, because), p.returncode == 70
              and ("%s is %s: '" % (variable, because)).encode() in p.stderr, p)

# ---- launchers that are none -----------------------------------------------------------------------

LAUNCHERS = [
    # name, what it does with the signal's descriptor $s, reason, exit code
    ("hangs", "sleep 1000", "sandbox_hung"),
    ("exits 0 at once", "exit 0", "launch_failed"),
    ("exits 3 at once", "exit 3", "launch_failed"),
    ("exits 70 at once", "exit 70", "launch_failed"),
    ("is killed before it is confined", "kill -9 $$", "launch_failed"),
    ("lies", 'printf 1 >&"$s"; exec sleep 1000', "sandbox_missing"),
    ("lies and exits 0", 'printf 1 >&"$s"; exit 0', "sandbox_missing"),
    ("lies and is killed", 'printf 1 >&"$s"; kill -9 $$', "sandbox_missing"),
    ("says something else", 'printf 0 >&"$s"; exec sleep 1000', "sandbox_missing"),
    ("says more than it should", 'printf 11 >&"$s"; exec sleep 1000', "sandbox_missing"),
    ("lets go and goes on", 'exec {s}>&-; exec sleep 1000', "sandbox_missing"),
    ("lies with children that left", '(setsid sleep 1000 &) ; printf 1 >&"$s"; exec sleep 1000',
     "sandbox_missing"),
    ("hangs with children that left", 'for i in 1 2 3; do (setsid sleep 1000 &); done; sleep 1000',
     "sandbox_hung"),
]



def with_environment(variable):
    found = []
    for pid in os.listdir("/proc"):
        try:
            with open("/proc/%s/environ" % pid, "rb") as f:
                if variable.encode() in f.read().split(b"\0"):
                    found.append(pid)
        except OSError:
            pass
    return found


for kind in KINDS:
    for name, script, reason in LAUNCHERS:
        launcher = write("launcher", "#!/bin/bash\ns=$OARBANK_CONFINED\n%s\n" % script, 0o755)
        guard = "0.4" if reason == "sandbox_hung" else "30"
        p = run([launcher], "--container", kind, "--guard", guard, "--stop-grace", "0.2",
                env={"OARBANK_SANDBOX_EXEC": launcher, "OARBANK_MARK": MARK})
        left = with_environment("OARBANK_MARK=" + MARK)
        check("%s: a launcher that %s is %s" % (kind, name, reason),
              p.returncode == 70 and p.result.get("reason") == reason and not left, p.result,
              p.stderr, left)

# One of a release before there were supervisors: it confines, and the module's calls are its own.
for before, wanted in (("true", (0, "ok")), ("unset OARBANK_SUPERVISOR", (70, "sandbox_missing"))):
    launcher = write("launcher", '#!/bin/bash\n%s\nexec %s/oarbank-sandbox "$@"\n' % (before, dir), 0o755)
    for program in ("/bin/true", "sleep 1000"):
        if (before, program) == ("true", "sleep 1000"):
            continue
        p = run(["/bin/sh", "-c", program], "--supervise", "metadata", env={"OARBANK_SANDBOX_EXEC": launcher})
        check("a module that is to be supervised: %s, after %s" % (program, before),
              (p.returncode, p.result.get("reason")) == wanted, p.result, p.stderr)

p = run(["/bin/true"], env={"OARBANK_SANDBOX_EXEC": path("no-launcher")})
check("no launcher", p.returncode == 70 and p.result["reason"] == "launch_failed"
      and "ENOENT" in p.result["detail"], p.result)
p = run(["/bin/true"], "--policy", path("no-policy"))
check("no policy", p.returncode == 70 and p.result["reason"] == "launch_failed", p.result)

# The real launcher, killed between any two of its steps.
bad = []
seen = set()
for i in range(60):
    p = start(["/bin/true"], "--container", KINDS[i % len(KINDS)])
    time.sleep(random.uniform(0, 0.003))
    pid = result_of(p).get("pid")
    if pid:
        try:
            os.kill(pid, signal.SIGKILL)
        except ProcessLookupError:
            pass
    p.wait(20)
    r = result_of(p)
    seen.add(r.get("reason"))
    if r.get("reason") not in ("ok", "launch_failed", "signal") or r["left_behind"]:
        bad.append(r)
check("a launcher killed at any moment", not bad, *bad[:3])
print("# reasons seen:", *sorted(map(str, seen)))

# ---- the parent is killed --------------------------------------------------------------------------

TREE = sh("setsid sh -c 'sleep 1000; :' %s & sh -c 'sleep 1000; :' %s & sleep 1000; :" % (MARK, MARK))
KILLS = 200
survived = 0
begun = time.monotonic()
for i in range(KILLS):
    p = subprocess.Popen(command(TREE, "--container", KINDS[i % len(KINDS)]),
                         stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL,
                         stderr=subprocess.DEVNULL)
    time.sleep(random.uniform(0, 0.012))
    p.kill()
    p.wait()
    if i % 20 == 19 and not nothing_left():
        survived += len(marked())
check("%d parents killed at any moment: no module process survives (%d ms each)" % (
    KILLS, (time.monotonic() - begun) * 1000 / KILLS), survived == 0 and nothing_left(), survived,
    marked())


def has_ended(pid):
    try:
        with open("/proc/%d/stat" % pid) as f:
            return f.read().rpartition(")")[2].split()[0] in "ZX"
    except OSError:
        return True


def keeper_of(p):
    until_state(p, "running")
    return result_of(p)["keeper"]


for kind in KINDS:
    p = start(TREE, "--container", kind)
    os.kill(keeper_of(p), signal.SIGKILL)
    p.wait(20)
    r = result_of(p)
    check("%s: the keeper is killed: all of it is ended, and the report says so" % kind,
          p.returncode == 70 and r["reason"] == "launch_failed" and "keeper" in r["detail"]
          and not r["left_behind"] and nothing_left(), r, marked())

# poll(2) takes no more descriptors than may be open.
for kind in KINDS:
    p = subprocess.Popen(command(TREE, "--container", kind), stdin=subprocess.DEVNULL,
                         stderr=subprocess.PIPE, text=True)
    wait_until(lambda: len(modules()) >= 3)
    resource.prlimit(p.pid, resource.RLIMIT_NOFILE, (1, 1))
    p.send_signal(signal.SIGTERM)
    try:
        said = p.communicate(timeout=20)[1]
    except subprocess.TimeoutExpired:
        p.kill()
        said = p.communicate()[1]
    check("%s: a parent that cannot wait ends all of it, and says so" % kind,
          p.returncode == 70 and "the parent cannot wait: EINVAL" in said
          and "left behind" not in said and nothing_left(), p.returncode, said, marked())

if "leaf" in KINDS:
    p = start(TREE, "--container", "leaf")
    keeper = keeper_of(p)
    cgroup = result_of(p)["cgroup"]
    wait_until(lambda: len(modules()) >= 3)  # the shells; what they sleep in bears no mark
    p.send_signal(signal.SIGSTOP)
    os.kill(keeper, signal.SIGKILL)
    p.kill()
    p.wait()
    # Only then is its lock gone.
    wait_until(lambda: has_ended(keeper))
    left = len(modules())
    done = run(["/bin/true"], "--container", "leaf")
    # Another test's start may have been quicker than ours.
    check("leaf: parent and keeper are killed: the next start ends what they left",
          left > 0 and nothing_left() and not os.path.exists(cgroup), left, done.result, marked())
    check("leaf: and says so", done.result["reaped_containers"] >= 1
          and b"run that ended" in done.stderr or not os.path.exists(cgroup), done.result)
else:
    skip("leaf: parent and keeper are killed", NO_LEAF)

# ---- when there is not enough ----------------------------------------------------------------------

p = subprocess.run([RUN, "--policy", POLICY, "--result", "/dev/full", "--", "/bin/true"],
                   capture_output=True, text=True)
check("a result that cannot be written stops the start", p.returncode == 74 and "ENOSPC" in p.stderr, p)
p = subprocess.run(command(["/bin/true"], result=path("no/where.json")), capture_output=True)
check("a result in a directory that is not there", p.returncode == 74, p)
p = run(["/bin/true"], preexec=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (0, 0)))
check("a result beyond the file size limit is said", p.returncode == 74 and b"EFBIG" in p.stderr, p)
os.mkfifo(path("gone.fifo"))
reader = os.open(path("gone.fifo"), os.O_RDONLY | os.O_NONBLOCK)
p = subprocess.Popen(command(["/bin/sh", "-c", "echo up; read x; echo done"], result=path("gone.fifo")),
                     stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
p.stdout.readline()
os.close(reader)
out, err = p.communicate(b"x\n", timeout=30)
check("a result whose reader has gone is said, and costs no module",
      p.returncode == 74 and out == b"done\n" and err, p.returncode, out, err)
for number in (signal.SIGPIPE, signal.SIGXFSZ):
    p = run(["/bin/sh", "-c", "kill -%d $$" % number])
    check("a module has its own %s" % number.name, p.returncode == 128 + number, p)
inner = """
mount -t tmpfs -o size=64k none "$1" || exit 99
mkfifo "$4"
"$2" --policy "$3" --result "$1/result" -- /bin/sh -c 'read x' <"$4" &
exec 9>"$4"
until grep -q running "$1/result" 2>/dev/null || ! kill -0 $!; do :; done
head -c 1000000 /dev/zero >"$1/fill" 2>/dev/null
exec 9>&-
wait $!
code=$?
ls "$1"
exit $code
"""
os.mkdir(path("full"))
if os.geteuid() == 0:
    p = subprocess.run(["unshare", "-m", "sh", "-c", inner, MARK, path("full"), RUN, POLICY,
                        path("full.fifo")], capture_output=True, text=True, timeout=60)
    if p.returncode == 99 or "unshare" in p.stderr:
        skip("a file system that is full at the end", p.stderr.strip())
    else:
        check("a file system that is full at the end: said, and no half of a result",
              p.returncode == 74 and "ENOSPC" in p.stderr
              and sorted(p.stdout.split()) == ["fill", "result"], p)
else:
    skip("a file system that is full at the end", "needs root")

for kind in KINDS:
    bad, codes = [], set()
    for limit in range(3, 40, 2):
        p = run(["/bin/true"], "--container", kind, preexec=lambda: resource.setrlimit(
            resource.RLIMIT_NOFILE, (limit, limit)))
        codes.add(p.returncode)
        if p.returncode not in (0, 70, 74) or (p.returncode == 70 and p.result and
                                               p.result["reason"] != "launch_failed"):
            bad.append((limit, p.returncode, p.result, p.stderr))
    check("%s: too few descriptors (EMFILE): %s" % (kind, sorted(codes)),
          not bad and 0 in codes and codes & {70, 74}, *bad[:3])

if os.geteuid() == 0:
    home = tempfile.mkdtemp(dir=dir)
    user = 400000 + os.getpid() % 100000
    os.chown(home, user, user)
    bad, reasons = [], set()
    for limit in range(1, 7):
        def as_user():
            resource.setrlimit(resource.RLIMIT_NPROC, (limit, limit))
            os.setgid(user)
            os.setuid(user)
        result = home + "/r%d" % limit
        p = subprocess.run(command(["/bin/sh", "-c", "/bin/true & wait"], "--container", "group",
                                   result=result), capture_output=True, text=True,
                           preexec_fn=as_user)
        with open(result) as f:
            r = json.load(f)
        reasons.add(r["reason"])
        if r["state"] != "ended" or (limit < 3 and (r["reason"] != "launch_failed" or
                                                    "EAGAIN" not in r["detail"])):
            bad.append((limit, p, r))
    check("no more processes (EAGAIN on fork) is launch_failed", not bad and "ok" in reasons, *bad[:2])
    p = subprocess.run(command(["/usr/bin/id", "-u"], "--container", "auto"), capture_output=True,
                       text=True, preexec_fn=lambda: (os.setgid(NOBODY), os.setuid(NOBODY)))
    check("as an ordinary user", p.returncode == 0 and p.stdout == "%d\n" % NOBODY, p)
    p = subprocess.run(command(["/bin/true"], "--container", "leaf"), capture_output=True,
                       text=True, preexec_fn=lambda: (os.setgid(NOBODY), os.setuid(NOBODY)))
    check("a leaf that is not ours to make is launch_failed", p.returncode == 70
          and "EACCES" in p.stderr, p)
else:
    skip("no more processes (EAGAIN on fork)", "needs root to become another user")

p = run(["/bin/true"], "--container", "group", "--mem-gb", "1")
check("a group has no limits", p.returncode == 70 and "no limits" in p.result["detail"], p.result)

# ---- the command line ------------------------------------------------------------------------------

USAGE = [
    [], ["--policy"], ["--policy", POLICY], ["--policy", POLICY, "--"],
    ["--policy", POLICY, "--", "true"], ["--nonsense", "1"], ["freeze"], ["kill", "1", "2"],
    *[["--policy", POLICY, option, value, "--", "/bin/true"] for option, value in (
        ("--cpu", "0"), ("--cpu", "x"), ("--cpu", "1.2345"), ("--cpu", "-1"), ("--cpu", "0.001"),
        ("--mem-gb", ""), ("--mem-gb", "99999999999"), ("--pids", "0"), ("--pids", "1.5"),
        ("--timeout", "0"), ("--timeout", "1s"), ("--container", "pod"), ("--result", ""))],
]
bad = []
for words in USAGE:
    p = subprocess.run([RUN, *words], capture_output=True, text=True)
    if p.returncode != 64 or "--help" not in p.stderr or p.stdout:
        bad.append((words, p))
check("wrong usage", not bad, *bad)


def refusal(option, value):
    """What is said to that value; "" when it is taken, and the policy that is not there is the error."""
    p = subprocess.run([RUN, "--policy", path("no-policy"), option, value, "--", "/bin/true"], capture_output=True, text=True)
    return p.stderr if p.returncode == 64 else ""


for option in ("--cpu", "--mem-gb", "--pids", "--timeout", "--stop-grace", "--guard"):
    said = re.fullmatch(r"oarbank-run: %s: 'x' is not a (?:whole )?number from ([0-9.]+) to (\d+): try .*\n" % option,
                        refusal(option, "x"))
    check("%s: what it takes is said, and is so" % option, said and not refusal(option, said[1]) and not refusal(option, said[2])
          and refusal(option, str(int(said[2]) + 1)) and refusal(option, "-1"), refusal(option, "x"))
for option, takes in (("--container", "auto, leaf or group"), ("--supervise", "auto, none or metadata"),
                      ("--egress-allow", "a host's name, with or without :PORT")):
    check("%s: what it takes is said" % option, "'http://x' is not " + takes + ": try" in refusal(option, "http://x"),
          refusal(option, "http://x"))
p = subprocess.run([RUN, "--help"], capture_output=True, text=True)
check("help", p.returncode == 0 and "--stop-grace" in p.stdout and not p.stderr, p)
with open("/dev/full", "w") as full:
    p = subprocess.run([RUN, "--help"], stdout=full, stderr=subprocess.PIPE, text=True)
check("help that cannot be written", p.returncode == 74 and "ENOSPC" in p.stderr, p)
p = subprocess.run("exec 0<&- 1>&- 2>&-; exec %s --policy %s --result %s -- /bin/true" % (
    RUN, POLICY, path("closed.json")), shell=True)
with open(path("closed.json")) as f:
    r = json.load(f)
check("without standard descriptors", p.returncode == 0 and r["reason"] == "ok", p, r)

check("nothing is left", nothing_left(), marked())
shutil.rmtree(dir)
sys.exit(failures != 0)
