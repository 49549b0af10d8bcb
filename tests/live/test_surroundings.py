#!/usr/bin/env python3
"""oarbank-run and oarbank-sandbox where /proc, /dev and the mounts are not as usual.

Each case is a script in a mount namespace of its own; the module leaves a file behind if it ran at all.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
failures = 0
dir = tempfile.mkdtemp(prefix="oarbank-surroundings-")
os.chmod(dir, 0o755)


def path(name):
    return dir + "/" + name


def say(name, good, *notes):
    global failures
    for note in notes:
        if not good:
            print("#", str(note).strip().replace("\n", "\n# "))
    failures += not good
    print("ok -" if good else "not ok -", name, flush=True)


def skip(name, reason):
    print("ok - %s # SKIP %s" % (name, reason), flush=True)


for name in ("oarbank-run", "oarbank-sandbox"):
    shutil.copy(BUILD + "/" + name, path(name))
os.mkdir(path("work"))
os.chmod(path("work"), 0o777)


def policy(name, **keys):
    with open(path(name), "w") as f:
        json.dump({"rw": [path("work")], "net": "none", **keys}, f)
    os.chmod(path(name), 0o644)
    return path(name)


POLICY = policy("policy.json")
RAN = path("work/ran")
MODULE = "/bin/touch " + RAN
RUN = "%s --policy %s --container group --result %s -- %s" % (
    path("oarbank-run"), POLICY, path("work/result"), MODULE)
SANDBOX = "%s sandbox-exec %s -- %s" % (path("oarbank-sandbox"), POLICY, MODULE)
ENVIRONMENT = dict(os.environ, OARBANK_SANDBOX_EXEC=path("oarbank-sandbox"))
UNSHARE = ["unshare", "-m"] if os.geteuid() == 0 else ["unshare", "-Urm"]


class Done:
    def __init__(self, process):
        self.code, self.out, self.err = process.returncode, process.stdout, process.stderr
        self.ran = os.path.exists(RAN)
        try:
            with open(path("work/result")) as f:
                self.result = json.load(f)
        except (OSError, ValueError):
            self.result = {}
        for name in (RAN, path("work/result")):
            if os.path.exists(name):
                os.unlink(name)

    def __repr__(self):
        return "exit %d, ran %s, %r, %r" % (self.code, self.ran, self.err, self.result)


def inside(script, *namespaces):
    return Done(subprocess.run([*UNSHARE, *namespaces, "sh", "-ec", script], capture_output=True, text=True,
                               env=ENVIRONMENT, timeout=60))


possible = subprocess.run([*UNSHARE, "-pf", "sh", "-ec", "mount -t proc none /proc && mount -t tmpfs none /mnt"],
                          capture_output=True, text=True)
NO_MOUNTS = possible.stderr.strip() if possible.returncode else None


def sections(*functions):
    for function in functions:
        if NO_MOUNTS:
            skip(function.__doc__, "no mounts of one's own: " + NO_MOUNTS)
        else:
            function()


# ---- /proc -----------------------------------------------------------------------------------------

UNCONFINED = "NoNewPrivs:\t0\nSeccomp:\t0\nSeccomp_filters:\t0\n"
CONFINED = "NoNewPrivs:\t1\nSeccomp:\t2\nSeccomp_filters:\t1\n"
for process in ["self", *range(1, 65)]:
    os.makedirs(path("fake/%s" % process))
    with open(path("fake/%s/status" % process), "w") as f:
        f.write(UNCONFINED if process == "self" else CONFINED)

PROCS = [
    # name, namespaces, what is done to /proc, part of the reason
    ("nothing at /proc", (), "mount -t tmpfs none /proc; ", "ENOENT"),
    ("files that say what is wanted at /proc", ("-pf",), "mount --bind %s /proc; " % path("fake"),
     "not the kernel's"),
    ("the /proc of the pid namespace around this one", ("-pf",), "", "another pid namespace"),
    ("the /proc of a pid namespace that has ended", (),
     "unshare -pf mount -t proc none /mnt; mount --bind /mnt /proc; ", "ENOENT"),
]


def proc():
    """a /proc that is not ours"""
    for name, namespaces, script, reason in PROCS:
        done = inside(script + RUN, *namespaces)
        say("oarbank-run: %s: nothing is started" % name, done.code == 70 and not done.ran
            and done.result.get("reason") == "launch_failed" and done.result["pid"] is None
            and reason in done.result["detail"], done)
        done = inside(script + "%s sandbox-check $$" % path("oarbank-sandbox"), *namespaces)
        say("sandbox-check: %s: unknown" % name, done.code == 1 and done.out == "unknown\n", done)
        done = inside(script + "%s status $$" % path("oarbank-run"), *namespaces)
        say("oarbank-run status: %s: an error" % name, done.code == 70 and "verified" in done.err, done)
    for name, options in (("", ""), (", with hidepid", "-o hidepid=2")):
        done = inside("mount -t proc %s none /proc; " % options + RUN, "-pf")
        say("oarbank-run: a /proc of our own%s will do" % name, done.code == 0 and done.ran
            and done.result["verified"], done)


# ---- what a module may write -----------------------------------------------------------------------

HELD = path("work/held")
TYPES = ["cgroup2", "proc", "sysfs", "devtmpfs", "devpts", "mqueue", "debugfs", "tracefs", "bpf", "securityfs", "binfmt_misc"]


def writable():
    """an interface of the kernel in a writable root"""
    os.mkdir(HELD)
    for kind in ("rw", "wo"):
        held = policy("held.json", **{"rw": [path("work")] if kind == "rw" else [], kind: [path("work")]})
        itself = policy("itself.json", **{"rw": [HELD] if kind == "rw" else [], kind: [HELD]})
        run = "%s --policy %%s --container group -- /bin/true" % path("oarbank-run")
        launch = "%s sandbox-exec %%s -- /bin/true" % path("oarbank-sandbox")
        for type in ["tmpfs", *TYPES]:
            mount = "mount -t proc none /proc; mount -t %s none %s || exit 99; " % (type, HELD)
            done = [inside(mount + words, "-pfCin") for words in (run % held, run % itself, launch % itself)]
            name = "%s in a %s root, or as one" % (type, kind)
            if done[0].code == 99:
                skip(name, "cannot be mounted: " + done[0].err.split("\n")[0])
            elif type == "tmpfs":
                say(name + ": is as good as any", [d.code for d in done] == [0, 0, 0], done)
            elif type == "devtmpfs":
                say(name + ": oarbank-run refuses it, statfs cannot tell it from tmpfs",
                    [d.code for d in done] == [70, 70, 0] and all(type in d.err for d in done[:2]), done)
            else:
                say(name + ": is refused", [d.code for d in done] == [70] * 3 and all(type in d.err for d in done), done)


# ---- standard descriptors and /dev/null ------------------------------------------------------------

CLOSED = "exec 0<&- 1>&- 2>&-; "
# By the module itself: what descriptors it has.
TELL = "/usr/bin/find /proc/self/fd -type l -fprintf %s '%%f %%l\\n'" % RAN
NULLS = ["%d /dev/null" % fd for fd in range(3)]


def told(script):
    """The descriptors the module had before it opened any, and how it went."""
    process = subprocess.run([*UNSHARE, "-pf", "sh", "-ec", "mount -t proc none /proc; " + script], capture_output=True,
                             text=True, env=ENVIRONMENT, timeout=60)
    had = None
    if os.path.exists(RAN):
        with open(RAN) as f:
            had = [line for line in f.read().split("\n")[:-1] if line.split(" ")[1] != RAN
                   and not line.split(" ")[1].startswith(("/proc/", os.getcwd()))]
    return had and sorted(had), Done(process)


def standard():
    """closed standard descriptors, and no /dev/null"""
    run = "%s --policy %s --container group -- %s" % (path("oarbank-run"), POLICY, TELL)
    launch = "%s sandbox-exec %s -- %s" % (path("oarbank-sandbox"), POLICY, TELL)
    no_null = "mount -t tmpfs none /dev; "
    had, done = told(run)
    say("oarbank-run: the module has its standard descriptors and no others", done.code == 0 and len(had) == 3, had, done)
    had, done = told(CLOSED + run)
    say("oarbank-run: closed ones are /dev/null to it", done.code == 0 and had == NULLS, had, done)
    had, done = told(no_null + run)
    say("oarbank-run: without a /dev/null that nobody needs it runs", done.code == 0 and len(had) == 3, had, done)
    had, done = told(no_null + CLOSED + run)
    say("oarbank-run: without one that is needed nothing is started", done.code == 70 and had is None, had, done)
    had, done = told(no_null + "exec 1>&-; " + run)
    say("oarbank-run: and says so", done.code == 70 and had is None and "'/dev/null': ENOENT" in done.err, had, done)
    for name, script in (("", ""), (", and no /dev/null", no_null)):
        had, done = told(script + CLOSED + launch)
        say("oarbank-sandbox: closed ones stay closed%s, and nothing of the launcher is there" % name,
            done.code in (0, 1) and had == [], had, done)
        had, done = told(script + "exec 0<&- 2>&-; " + launch)
        say("oarbank-sandbox: the same of some%s" % name, done.code in (0, 1) and [h[0] for h in had] == ["1"], had, done)


sections(proc, writable, standard)
shutil.rmtree(dir)
sys.exit(failures != 0)
