#!/usr/bin/env python3
"""--watch: a line now, a line at a change, none without one, and no processor time in between.

What changes is changed in a mount namespace of this test: nothing of the machine is.
"""
import json
import os
import resource
import select
import shutil
import signal
import subprocess
import sys
import tempfile
import time

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
PROBE = os.path.join(BUILD, "oarbank-probe")
CHECKED = os.path.join(BUILD, "dev", "oarbank-probe")
bad = 0


def say(ok, name, *more):
    global bad
    bad += not ok
    print(("ok - " if ok else "not ok - ") + name)
    if not ok:
        for line in more:
            print("#", str(line)[:300])


class Watch:
    def __init__(self, *args):
        self.p = subprocess.Popen([*args, "--watch", "--no-trials"], stdout=subprocess.PIPE, stderr=subprocess.PIPE)
        self.buffer = b""

    def line(self, seconds):
        end = time.monotonic() + seconds
        while b"\n" not in self.buffer:
            left = end - time.monotonic()
            if left <= 0 or not select.select([self.p.stdout], [], [], left)[0]:
                return None
            more = os.read(self.p.stdout.fileno(), 1 << 16)
            if not more:
                return None
            self.buffer += more
        one, self.buffer = self.buffer.split(b"\n", 1)
        return json.loads(one)

    def ticks(self):
        fields = open(f"/proc/{self.p.pid}/stat").read().rsplit(")", 1)[1].split()
        return sum(int(f) for f in fields[11:15])  # own and children's

    def end(self):
        self.p.kill()
        self.p.wait()
        self.p.stdout.close()
        self.p.stderr.close()


def inside(dir):
    """Run in the namespace: directories of our own stand where the watched ones were."""
    sysctl = "/proc/sys/kernel/yama" if os.path.isdir("/proc/sys/kernel/yama") else "/proc/sys/user"
    name = os.path.join(sysctl, "ptrace_scope" if sysctl.endswith("yama") else "max_user_namespaces")
    mine = os.path.join(dir, "sysctl")
    os.mkdir(mine)
    open(os.path.join(mine, os.path.basename(name)), "w").write("1\n")
    subprocess.run(["mount", "--bind", mine, sysctl], check=True)
    dev = os.path.join(dir, "dev")
    os.mkdir(dev)
    for device in ("null", "zero", "random", "urandom"):
        open(os.path.join(dev, device), "w").close()
        subprocess.run(["mount", "--bind", "/dev/" + device, os.path.join(dev, device)], check=True)
    subprocess.run(["mount", "--rbind", dev, "/dev"], check=True)

    w = Watch(PROBE)
    first = w.line(20)
    say(first and first["facts"] == 2, "a line now")
    before = w.ticks()
    say(w.line(2.5) is None, "and none without a change")
    say(w.ticks() - before == 0, "without any processor time", w.ticks() - before)

    key = "yama" if sysctl.endswith("yama") else "userns_max"
    with open(name, "w") as f:
        f.write("3\n")
    second = w.line(10)
    say(second and second["kernel"]["settings"][key]["got"] == "3", "a sysctl is written: a line", second and second["kernel"]["settings"][key])
    for value in ("0", "1", "2", "0", "2"):
        with open(name, "w") as f:
            f.write(value + "\n")
        time.sleep(0.02)
    third = w.line(10)
    say(third and third["kernel"]["settings"][key]["got"] == "2" and w.line(1) is None, "five writes in a burst are one line, the last")

    open("/dev/nothing-of-ours", "w").close()
    os.mkdir("/dev/dri")
    made = False
    try:
        os.mknod("/dev/dri/renderD199", 0o666 | 0o020000, os.makedev(226, 199))
        made = True
    except OSError:
        open("/dev/dri/renderD199", "w").close()
    fourth = w.line(10)
    nodes = fourth["kernel"]["gpu"]["nodes"] if fourth else []
    found = [n for n in nodes if n["path"] == "/dev/dri/renderD199"]
    say(found and found[0]["device"] == made, "a device node appears: a line" + ("" if made else " (a file, as devices need root)"), nodes)
    os.unlink("/dev/dri/renderD199")
    fifth = w.line(15)
    say(fifth and not fifth["kernel"]["gpu"]["nodes"], "it goes: a line")
    w.end()

    w = Watch(CHECKED)
    say(w.line(20) is not None, "with sanitizers")
    w.p.stdout.close()
    try:
        code = w.p.wait(15)
    except subprocess.TimeoutExpired:
        code = None
    say(code == 70 and b"EPIPE" in w.p.stderr.read(), "a reader that goes away ends it, though nothing changes", code)
    w.p.kill()

    # poll(2) takes no more descriptors than may be open; what was stopped asks again.
    w = Watch(PROBE)
    w.line(20)
    resource.prlimit(w.p.pid, resource.RLIMIT_NOFILE, (2, 2))
    w.p.send_signal(signal.SIGSTOP)
    os.waitid(os.P_PID, w.p.pid, os.WSTOPPED)
    w.p.send_signal(signal.SIGCONT)
    try:
        code = w.p.wait(15)
    except subprocess.TimeoutExpired:
        code = None
    say(code == 70 and w.p.stderr.read() == b"oarbank-probe: wait for a change: EINVAL\n", "what cannot wait ends", code)
    w.end()
    return 1 if bad else 0


def main():
    if len(sys.argv) > 2 and sys.argv[1] == "--inside":
        return inside(sys.argv[2])
    flags = ["-m"] if os.geteuid() == 0 else ["-U", "-r", "-m"]
    if subprocess.run(["unshare", *flags, "true"], capture_output=True).returncode != 0:
        print("ok - watching # SKIP no mount namespace of our own is to be had here")
        return 0
    dir = tempfile.mkdtemp()
    try:
        return subprocess.run(["unshare", *flags, sys.executable, __file__, "--inside", dir], timeout=100).returncode
    finally:
        shutil.rmtree(dir)


sys.exit(main())
