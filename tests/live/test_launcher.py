#!/usr/bin/env python3
"""oarbank-sandbox from outside: exits, messages, what the module inherits, the signal, sandbox-check.

Every test runs as the user who runs this, and as root once more as nobody.
"""
import ctypes
import json
import os
import resource
import select
import shutil
import signal
import stat
import subprocess
import sys
import tempfile
import traceback

BUILD = os.environ.get("BUILD", "build")
NOBODY = 65534
PYTHON = os.path.realpath("/usr/bin/python3")
STATUS = ["/bin/cat", "/proc/self/status"]

home = tempfile.mkdtemp(prefix="launcher-")
launcher = os.path.join(home, "oarbank-sandbox")
tests = []
failed = False
as_uid = None


def test(function):
    tests.append(function)
    return function


class Outcome:
    def __init__(self, code, out, err):
        self.code, self.out, self.err = code, out, err

    def __repr__(self):
        return f"exit {self.code}, out {self.out!r}, err {self.err!r}"


def become():
    """In the child: the user this round is for."""
    if as_uid is not None:
        os.setgroups([])
        os.setgid(as_uid)
        os.setuid(as_uid)


def run(*args, env=None, before=None, stdin=subprocess.DEVNULL, stdout=subprocess.PIPE, pass_fds=(), program=None):
    def prepare():
        if before:
            before()
        become()

    done = subprocess.run([program or launcher, *args], stdin=stdin, stdout=stdout, stderr=subprocess.PIPE,
                          env=dict(os.environ) if env is None else env, preexec_fn=prepare, pass_fds=pass_fds,
                          timeout=30)
    return Outcome(done.returncode, (done.stdout or b"").decode(), done.stderr.decode())


class Place:
    """A work directory and a policy for the user of this round."""

    def __init__(self, **policy):
        self.dir = tempfile.mkdtemp(dir=home)
        os.chmod(self.dir, 0o755)
        self.work = os.path.join(self.dir, "work")
        self.outside = os.path.join(self.dir, "outside")
        self.policy = os.path.join(self.dir, "policy.json")
        for path in (self.work, self.outside):
            os.mkdir(path)
            if as_uid is not None:
                os.chown(path, as_uid, as_uid)
        self.write(**policy)

    def write(self, **policy):
        whole = {"module": "m", "ro": [], "rw": [self.work], "net": "none", "proxy_port": None,
                 "broker_socket": None, "gpu": False, "exec_rw": False, "kind": "runner", "exe": PYTHON,
                 "rd": [], "wo": []}
        whole.update(policy)
        with open(self.policy, "w", encoding="utf-8") as f:
            json.dump(whole, f, separators=(",", ":"))

    def run(self, *argv, **kwargs):
        return run("sandbox-exec", self.policy, "--", *argv, **kwargs)


def check(condition, what):
    assert condition, what


def one_complaint(outcome, code, *words):
    check(outcome.code == code, outcome)
    check(outcome.err.startswith("sandbox launch: ") and outcome.err.count("\n") == 1, outcome)
    for word in words:
        check(word in outcome.err, outcome)
    check(outcome.out == "", outcome)


def fields(status):
    return dict(line.split(":\t", 1) for line in status.splitlines() if ":\t" in line)


def own(field):
    with open("/proc/self/status", encoding="utf-8") as f:
        return fields(f.read()).get(field)


# ---- the command line ----

@test
def wrong_usage_exits_64():
    place = Place()
    for args in ([], ["no-such-verb"], ["sandbox-exec"], ["sandbox-exec", place.policy],
                 ["sandbox-exec", place.policy, "--"], ["sandbox-exec", place.policy, "/bin/true"],
                 ["sandbox-exec", place.policy, "/bin/true", "--"], ["sandbox-exec", "--", "/bin/true"],
                 ["sandbox-exec", "--", "--", "/bin/true"], ["sandbox-exec", place.policy, "--", "true"],
                 ["sandbox-exec", place.policy, "--", ""], ["--home", "/x", "sandbox-exec", place.policy, "--", "/bin/true"],
                 ["sandbox-check"], ["sandbox-check", "x"], ["sandbox-check", "0"], ["sandbox-check", "-1"],
                 ["sandbox-check", "1", "2"], ["sandbox-check", "99999999999"], ["sandbox-status", "x"],
                 ["sandbox-plan"], ["sandbox-plan", place.policy, "--assume-abi"],
                 ["sandbox-plan", place.policy, "--assume-abi", "x"], ["sandbox-plan", place.policy, "--assume-abi", "-1"],
                 ["sandbox-plan", place.policy, "--supervise"], ["sandbox-plan", place.policy, "--supervise", "all"]):
        one_complaint(run(*args), 64)


@test
def help_and_version():
    for verb in ("sandbox-exec", "sandbox-check", "sandbox-status", "sandbox-plan", "64", "70", "71"):
        check(verb in run("--help").out, verb)
    version = run("--version")
    check(version.code == 0 and version.out.startswith("oarbank-sandbox ") and version.err == "", version)
    plan = os.path.join(home, "oarbank-plan")
    page = run("--help", program=plan)
    check(page.code == 0 and "--assume-abi" in page.out and page.err == "", page)
    check(run("--version", program=plan).out == version.out.replace("sandbox", "plan"), version)
    check(run("sandbox-plan", "--help").out == page.out, page)


@test
def output_that_is_lost_is_no_success():
    with open("/dev/full", "w", encoding="ascii") as full:
        for args in (["--help"], ["--version"], ["sandbox-plan", Place().policy], ["sandbox-check", "1"]):
            one_complaint(run(*args, stdout=full), 70, "standard output")


@test
def it_works_under_the_agents_name():
    place = Place()
    agent = os.path.join(home, "oarbank-agent")
    done = run("sandbox-exec", place.policy, "--", "/bin/echo", "hello", program=agent)
    check(done.code == 0 and done.out == "hello\n" and done.err == "", done)


# ---- the module ----

@test
def the_module_gets_its_words_and_surroundings():
    place = Place()
    code = "import os,sys,json; print(json.dumps([sys.argv[1:], dict(os.environ), os.getcwd()]))"
    done = place.run(PYTHON, "-I", "-c", code, "--", "", "a b", "é\n", env={"A": "1", "OARBANK_CONFINED": "x", "B": "="})
    check(done.code == 0, done)
    argv, env, cwd = json.loads(done.out)
    check(argv == ["--", "", "a b", "é\n"], argv)
    check({k: env.get(k) for k in ("A", "B", "OARBANK_CONFINED")} == {"A": "1", "B": "=", "OARBANK_CONFINED": None}, env)
    check(cwd == os.getcwd(), cwd)
    check(place.run("/bin/sh", "-c", "exit 7").code == 7, "exit code")
    check(place.run("/bin/sh", "-c", "kill -TERM $$").code == -signal.SIGTERM, "signal")


@test
def the_module_has_the_launchers_pid():
    place = Place()
    child = subprocess.Popen([launcher, "sandbox-exec", place.policy, "--", "/bin/sh", "-c", "echo $$"],
                             stdout=subprocess.PIPE, preexec_fn=become)
    out = child.communicate(timeout=30)[0]
    check(int(out) == child.pid, (out, child.pid))


@test
def the_module_is_confined():
    place = Place()
    done = fields(place.run(*STATUS).out)
    check(done["NoNewPrivs"] == "1" and done["Seccomp"] == "2", done)
    check(int(done["Seccomp_filters"]) == int(own("Seccomp_filters")) + 1, done)
    for field in ("CapInh", "CapPrm", "CapEff", "CapAmb"):
        check(int(done[field], 16) == 0, done)
    if done["Uid"].split()[0] == "0" and int(own("CapEff"), 16) & 1 << 8:
        check(int(done["CapBnd"], 16) == 0, done)


@test
def what_is_granted_works_and_nothing_else():
    place = Place(rd=[], wo=[])
    script = 'echo x >"$1/file" && cat "$1/file"'
    inside = place.run("/bin/sh", "-c", script, "sh", place.work)
    check(inside.code == 0 and inside.out == "x\n", inside)
    outside = place.run("/bin/sh", "-c", script, "sh", place.outside)
    check(outside.code != 0 and "denied" in outside.err.lower(), outside)
    control = subprocess.run(["/bin/sh", "-c", script, "sh", place.outside], capture_output=True, preexec_fn=become,
                             check=False)
    check(control.returncode == 0, control)


@test
def uid_0_regains_nothing():
    place = Place()
    done = place.run(PYTHON, "-I", "-c", "import os; os.execv('/bin/cat', ['cat', '/proc/self/status'])")
    check(int(fields(done.out)["CapEff"], 16) == 0, done)


# ---- refusals ----

@test
def a_bad_policy_exits_70_and_is_named():
    place = Place()
    marker = os.path.join(place.work, "ran")
    argv = ("/bin/sh", "-c", f"echo >{marker}")
    missing = os.path.join(place.dir, "missing.json")
    one_complaint(run("sandbox-exec", missing, "--", *argv), 70, "policy", missing, "ENOENT")
    for policy, words in (({"deny": ["/x"]}, ["'deny'"]), ({"net": "egress-any"}, ["'net'", "egress-any", "loopback"]),
                          ({"net": "egress-allowlist"}, ["'proxy_port'"]), ({"rw": ["work"]}, ["'rw'", "'work'"]),
                          ({"gpu": None}, ["'gpu'"]), ({"ro": [place.outside + "/missing"]}, ["landlock", "missing", "ENOENT"]),
                          ({"ro": [place.work + "/.."]}, ["'ro'", ".."]),
                          ({"ro": [place.dir]}, ["plan", "rw", "ro"]), ({"rw": ["/"]}, ["/dev"])):
        place.write(**policy)
        one_complaint(place.run(*argv), 70, *words)
    with open(place.policy, "wb") as f:
        f.write(b"x" * (1024 * 1024 + 1))
    one_complaint(place.run(*argv), 70, place.policy, "EFBIG")
    one_complaint(run("sandbox-exec", place.dir, "--", *argv), 70, "EISDIR")
    check(not os.path.exists(marker), "the module ran")
    place.write()
    check(place.run(*argv).code == 0 and os.path.exists(marker), "control")


@test
def an_exec_that_fails_exits_71():
    place = Place()
    script = os.path.join(place.work, "script")
    with open(script, "w", encoding="ascii") as f:
        f.write("#!/bin/sh\nexit 0\n")
    os.chmod(script, 0o755)
    one_complaint(place.run("/no/such/program"), 71, "exec", "/no/such/program", "ENOENT")
    one_complaint(place.run(place.work), 71, "EACCES")
    # What a module wrote is not executed, unless it is granted.
    one_complaint(place.run(script), 71, "EACCES")
    place.write(exec_rw=True)
    check(place.run(script).code == 0, "exec_rw")


@test
def links_are_followed_where_nobody_else_could_have_put_them():
    place = Place()
    real = os.path.join(place.dir, "real")
    link = os.path.join(place.dir, "link")
    os.mkdir(real)
    os.symlink(real, link)
    with open(os.path.join(real, "file"), "w", encoding="ascii") as f:
        f.write("x\n")
    cat = ("/bin/cat", os.path.join(real, "file"))
    check(place.run(*cat).code != 0, "denied without a grant")
    place.write(ro=[link])
    check(place.run(*cat).out == "x\n", "ro")
    for key in ("rw", "rd", "wo"):
        place.write(**{key: [link]})
        one_complaint(place.run(*cat), 70, "landlock", f"{key} '{link}'", "ELOOP")
        place.write(**{key: [link + "/"]})
        one_complaint(place.run(*cat), 70, "ELOOP")
    # A link on the way does not hide an overlap.
    place.write(rw=[real], ro=[link + "/file"])
    one_complaint(place.run(*cat), 70, "ro", "lies in rw", "really")


# ---- the signal ----

def start_with_signal(place, argv=("/bin/sleep", "30"), number=None, stopped=False):
    """Returns the child and the end the parent reads, as an agent does (spec/wire.md §2)."""
    read_end, write_end = os.pipe()

    def prepare():
        if stopped:
            os.kill(os.getpid(), signal.SIGSTOP)
        become()

    env = dict(os.environ, OARBANK_CONFINED=str(write_end if number is None else number))
    if stopped:
        pid = os.fork()
        if pid == 0:
            os.set_inheritable(write_end, True)
            prepare()
            os.execve(launcher, [launcher, "sandbox-exec", place.policy, "--", *argv], env)
        child = pid
    else:
        child = subprocess.Popen([launcher, "sandbox-exec", place.policy, "--", *argv], env=env, pass_fds=(write_end,),
                                 preexec_fn=prepare, stdout=subprocess.PIPE, stderr=subprocess.PIPE)
    os.close(write_end)
    return child, read_end


def wait_for(fd, seconds):
    """What a parent sees: b"1", b"" at the end of the file, None when nothing comes."""
    if not select.select([fd], [], [], seconds)[0]:
        return None
    return os.read(fd, 16)


@test
def the_parent_sees_confined():
    place = Place()
    child, fd = start_with_signal(place)
    try:
        check(wait_for(fd, 30) == b"1", "confined")
        with open(f"/proc/{child.pid}/status", encoding="utf-8") as f:
            status = fields(f.read())
        check(status["NoNewPrivs"] == "1" and status["Seccomp"] == "2", status)
        check(run("sandbox-check", str(child.pid)).code == 0, "sandbox-check")
        # Exactly one byte, and the module does not hold the descriptor.
        check(wait_for(fd, 30) == b"", "end of file")
    finally:
        child.kill()
        child.communicate()
        os.close(fd)


@test
def the_parent_sees_ended():
    place = Place(deny=["/x"])
    child, fd = start_with_signal(place)
    check(wait_for(fd, 30) == b"", "end of file")
    check(child.wait(timeout=30) == 70, child.returncode)
    child.communicate()
    os.close(fd)


@test
def the_parent_sees_hung():
    place = Place()
    pid, fd = start_with_signal(place, argv=("/bin/true",), stopped=True)
    os.waitpid(pid, os.WUNTRACED)
    check(wait_for(fd, 0.2) is None, "nothing")
    os.kill(pid, signal.SIGCONT)
    check(wait_for(fd, 30) == b"1", "confined after all")
    check(os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1]) == 0, "exit")
    os.close(fd)


@test
def no_number_above_2_is_no_signal():
    place = Place()
    for value in ("0", "1", "2", "", "x", "-3", "3.0", " 3", "99999999999"):
        done = place.run("/bin/sh", "-c", "echo ${OARBANK_CONFINED-gone}", env=dict(os.environ, OARBANK_CONFINED=value))
        check(done.code == 0 and done.out == "gone\n" and done.err == "", (value, done))


@test
def a_signal_nobody_can_hear_exits_70():
    place = Place()
    done = place.run("/bin/true", env=dict(os.environ, OARBANK_CONFINED="77"))
    one_complaint(done, 70, "OARBANK_CONFINED")
    read_end, write_end = os.pipe()
    os.close(read_end)
    done = place.run("/bin/true", env=dict(os.environ, OARBANK_CONFINED=str(write_end)), pass_fds=(write_end,))
    os.close(write_end)
    one_complaint(done, 70, "confined", "EPIPE")
    # The same for our own last words: the exit code does not depend on a reader.
    read_end, write_end = os.pipe()
    os.close(read_end)
    place.write(deny=1)
    done = subprocess.run([launcher, "sandbox-exec", place.policy, "--", "/bin/true"], stderr=write_end, check=False,
                          preexec_fn=become)
    os.close(write_end)
    check(done.returncode == 70, done)


# ---- what is inherited ----

LIST_FDS = "import os,json; print(json.dumps(sorted(int(f) for f in os.listdir('/proc/self/fd'))))"


@test
def strays_are_closed_and_named_descriptors_kept():
    place = Place()
    stray = os.open("/", os.O_RDONLY | os.O_DIRECTORY)
    ours, theirs = os.pipe()
    inherited = {40: stray, 41: theirs, 42: theirs, 200: stray}
    for number, fd in inherited.items():
        os.dup2(fd, number)

    def fds(**env):
        done = place.run(PYTHON, "-I", "-c", LIST_FDS, pass_fds=tuple(inherited), env=dict(os.environ, **env))
        check(done.code == 0, done)
        return [fd for fd in json.loads(done.out) if fd > 5]

    try:
        check(fds() == [], "strays")
        check(fds(OARBANK_SERVICE_DB="fd:41") == [41], "service")
        check(fds(OARBANK_ENDPOINT_CHANNEL="fd:41", OARBANK_LISTEN_FD_X="fd:42") == [41, 42], "channel, listener")
        for name in ("OARBANK_SERVICE_DB", "OARBANK_ENDPOINT_CHANNEL", "OARBANK_LISTEN_FD_X"):
            for value in ("fd:40", "fd:199", "fd:1", "fd:", "fd:x"):
                done = place.run("/bin/true", pass_fds=tuple(inherited), env=dict(os.environ, **{name: value}))
                one_complaint(done, 70, "descriptors", name)
    finally:
        for fd in (stray, ours, theirs, *inherited):
            os.close(fd)


@test
def standard_descriptors_are_no_directories_or_devices():
    place = Place()
    for path in ("/", "/dev/zero", "/dev/full"):
        fd = os.open(path, os.O_RDONLY)
        one_complaint(place.run("/bin/true", stdin=fd), 70, "descriptors", "descriptor 0")
        os.close(fd)
    for fd in (0, 1, 2):
        done = place.run("/bin/true", before=lambda fd=fd: os.close(fd))
        check(done.code == 0, (fd, done))


@test
def dispositions_and_mask_are_reset():
    place = Place()
    every = [n for n in range(1, 65) if n not in (signal.SIGKILL, signal.SIGSTOP, 32, 33, 34)]

    def ignore():
        for number in every:
            signal.signal(number, signal.SIG_IGN)
        signal.pthread_sigmask(signal.SIG_BLOCK, [n for n in every if n != signal.SIGCHLD])

    done = fields(place.run(*STATUS, before=ignore).out)
    check(int(done["SigIgn"], 16) == 1 << (signal.SIGUSR1 - 1), done)
    check(int(done["SigBlk"], 16) == 0, done)


@test
def no_core_handler_runs_and_the_oom_killer_prefers_it():
    place = Place()
    read = ("/bin/cat", "/proc/self/limits", "/proc/self/oom_score_adj")
    hard = resource.getrlimit(resource.RLIMIT_CORE)[1]
    done = place.run(*read)
    core = next(line for line in done.out.splitlines() if line.startswith("Max core file size"))
    check(core.split()[4:6] == (["1", "1"] if hard != 0 else ["0", "0"]), core)
    with open("/proc/self/oom_score_adj", encoding="ascii") as f:
        before = int(f.read())
    check(int(done.out.splitlines()[-1]) == max(500, before), done)

    def raise_more():
        with open("/proc/self/oom_score_adj", "w", encoding="ascii") as f:
            f.write("700")

    check(int(place.run(*read, before=raise_more).out.splitlines()[-1]) == 700, "lowered")

    def no_core():
        resource.setrlimit(resource.RLIMIT_CORE, (0, 0))

    check(place.run("/bin/true", before=no_core).code == 0, "a hard limit of 0")


# ---- sandbox-check ----

@test
def sandbox_check_tells_confined_from_inherited():
    place = Place()
    confined, fd = start_with_signal(place)
    plain = subprocess.Popen(["/bin/sleep", "30"], preexec_fn=become)
    try:
        check(wait_for(fd, 30) == b"1", "confined")
        done = run("sandbox-check", str(confined.pid))
        check(done.code == 0 and done.out == "confined\n", done)
        done = run("sandbox-check", str(plain.pid))
        check(done.code == 1 and done.out in ("no_new_privs\n", "unfiltered\n", "inherited\n"), done)
        # To one that is filtered as often, it is nothing more than itself.
        place.write(ro=[home], rw=[])
        done = place.run(launcher, "sandbox-check", str(confined.pid))
        check(done.code == 1 and done.out == "inherited\n", done)
    finally:
        for child in (confined, plain):
            child.kill()
            child.communicate()
        os.close(fd)
    done = run("sandbox-check", str(plain.pid))
    check(done.code == 1 and done.out == "gone\n", done)


# ---- the plan ----

@test
def a_plan_says_what_is_done_and_what_is_missing():
    place = Place(net="egress-allowlist", proxy_port=3128, wo=[place_outside()])
    done = run("sandbox-plan", place.policy, "--assume-abi", "10")
    check(done.code == 0 and done.err == "", done)
    for line in ("landlock: ABI 10, Linux 7.2", f"rule: rw '{place.work}':", "rule: port 3128, any address: CONNECT_TCP",
                 "scoped: SCOPE_ABSTRACT_UNIX SCOPE_SIGNAL", "filter: "):
        check(line in done.out, (line, done))
    check("gap:" not in done.out and "shortfall:" not in done.out, done)
    done = run("sandbox-plan", place.policy, "--assume-abi", "3")
    check(done.code == 70 and "shortfall: net" in done.out and "gap: " in done.out, done)
    check("ABI 4" in done.err and "ABI 3" in done.err, done)
    place.write()
    done = run("sandbox-plan", place.policy, "--assume-abi", "5")
    check(done.code == 0 and "gap: other processes" in done.out, done)
    for abi in ("0", "2"):
        done = run("sandbox-plan", place.policy, "--assume-abi", abi)
        check(done.code == 70 and "Landlock ABI 3 (Linux 6.2) is needed" in done.err, done)
    place.write(x=1)
    one_complaint(run("sandbox-plan", place.policy), 70, "'x'")


@test
def a_plan_says_what_the_parent_does():
    place = Place(net="egress-allowlist", proxy_port=3128)
    connect, change = "parent: connect: to port 3128 of 127.0.0.1", f"parent: modes, owners, times: beneath rw '{place.work}'"
    for choice, lines in (("none", []), ("auto", [connect]), ("metadata", [connect, change])):
        done = run("sandbox-plan", place.policy, "--supervise", choice, "--assume-abi", "3")
        check((done.code == 0) == (choice != "none"), done)
        check(("rule: port" in done.out) == (choice == "none"), done)
        for line in (connect, change):
            check((line in done.out) == (line in lines), (choice, line, done))
    place.write()
    done = run("sandbox-plan", place.policy, "--supervise", "auto", "--assume-abi", "6")
    check(done.code == 0 and "parent:" not in done.out, done)


def place_outside():
    path = tempfile.mkdtemp(dir=home)
    os.chmod(path, 0o777)
    return path


@test
def sandbox_status_becomes_the_probe_beside_it():
    probe = os.path.join(home, "oarbank-probe")
    with open(probe, "w", encoding="ascii") as f:
        f.write('#!/bin/sh\necho "$0 $*"\n')
    os.chmod(probe, 0o755)
    done = run("sandbox-status", env={"PATH": "/nowhere"})
    check(done.code == 0 and done.out == f"{probe} --sandbox\n", done)
    elsewhere = os.path.join(place_outside(), "oarbank-probe")
    os.rename(probe, elsewhere)
    done = run("sandbox-status", env={"PATH": f"relative::/nowhere:{os.path.dirname(elsewhere)}"})
    check(done.code == 0 and done.out == f"{elsewhere} --sandbox\n", done)
    one_complaint(run("sandbox-status", env={"PATH": "/nowhere"}), 71, "oarbank-probe", "ENOENT")


# ---- running them ----

def landlock_abi():
    libc = ctypes.CDLL(None, use_errno=True)
    return libc.syscall(444, None, 0, 1)


def round_of(who):
    global failed
    for function in tests:
        name = f"{function.__name__} as {who}"
        try:
            function()
            print(f"ok - {name}")
        except Exception:  # every failure is a line of its own
            failed = True
            print(f"not ok - {name}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
        sys.stdout.flush()


def main():
    global as_uid
    os.chmod(home, 0o755)
    for program in ("oarbank-sandbox", "oarbank-plan"):
        shutil.copy(os.path.join(BUILD, program), home)
    shutil.copy(launcher, os.path.join(home, "oarbank-agent"))
    check(os.stat(launcher).st_mode & stat.S_IXOTH, "not executable")
    abi = landlock_abi()
    if abi < 3:
        print(f"ok - the launcher from outside # SKIP Landlock ABI {abi} here, 3 is needed")
        return
    round_of("root" if os.geteuid() == 0 else "a user")
    if os.geteuid() == 0:
        as_uid = NOBODY
        round_of("nobody")


try:
    main()
finally:
    shutil.rmtree(home)
sys.exit(failed)
