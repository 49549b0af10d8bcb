"""One boot: the command line, the machine's way out, and what went wrong in it."""
import contextlib
import dataclasses
import glob
import json
import os
import re
import shutil
import signal
import subprocess
import threading
import time

from . import arch as arches
from .arch import ARCHES
from .mortal import mortal

# What a kernel says when something is wrong with it. WARNING: has a colon and a place; the boot line
# may hold the word too.
BAD = re.compile(
    r"\bBUG: |\bBUG at |\bWARNING: |\bOops\b|Kernel panic|general protection fault|unable to handle|"
    r"Internal error:|UBSAN:|KASAN:|detected stall|hung_task|blocked for more than|Out of memory: Killed process 1 "
)
CRASH = re.compile(r"Kernel panic|\bOops\b|unable to handle|general protection fault|Internal error:|\bBUG at ")


# Many times what a machine has to say.
OUTPUT_BYTES_MAX = 64 << 20


class BootError(Exception):
    pass


def program(arch):
    return f"qemu-system-{ARCHES[arch].uname}"


# ---- which QEMU, which accelerator ----


@dataclasses.dataclass
class Qemu:
    command: list  # with loader and firmware paths
    version: tuple
    where: str


def unpacked(tree, arch):
    """QEMU out of an unpacked Debian tree, with that tree's own loader and libraries."""
    path = os.path.join(tree, "usr", "bin", program(arch))
    if not os.path.exists(path):
        raise BootError(f"{tree} has no {program(arch)}")
    firmware = [word for d in ("qemu", "seabios") for word in ("-L", os.path.join(tree, "usr", "share", d))]
    # Its own modules too: those of an installed QEMU are of another build.
    modules = f"QEMU_MODULE_DIR={tree}/usr/lib/{ARCHES[arches.host()].triplet}/qemu"
    command = ["env", modules, *arches.start(tree), path, *firmware]
    chosen = ARCHES[arch].firmware
    if chosen and os.path.exists(os.path.join(tree, "usr", "share", "qemu", chosen)):
        command += ["-bios", chosen]
    return _checked(command, "private apt root")


def installed(arch):
    path = shutil.which(program(arch))
    if not path:
        raise BootError(f"{program(arch)} is not installed")
    return _checked([path], path)


def _checked(command, where):
    done = subprocess.run([*command, "--version"], capture_output=True, text=True)
    version = re.search(r"version (\d+)\.(\d+)", done.stdout)
    if not version:
        raise BootError(f"{command[0]}: {done.stderr.strip() or 'says no version'}")
    return Qemu(command, (int(version[1]), int(version[2])), where)


def accelerator(qemu, arch, kernel, initrd, remember):
    """"kvm" where it boots a kernel within three seconds, else "tcg". VM_ACCEL decides without trying;
    the answer holds until the host boots again."""
    forced = os.environ.get("VM_ACCEL")
    if forced in ("kvm", "tcg"):
        return forced
    if arch != arches.host() or not os.access("/dev/kvm", os.R_OK | os.W_OK):
        return "tcg"
    with open("/proc/sys/kernel/random/boot_id") as f:
        boot = f.read().strip()
    try:
        with open(remember) as f:
            memory = json.load(f)
        if memory["boot"] == boot and memory["version"] == list(qemu.version):
            return memory["accelerator"]
    except (OSError, ValueError, KeyError):
        pass
    answer = "kvm" if _boots_under_kvm(qemu, arch, kernel, initrd) else "tcg"
    os.makedirs(os.path.dirname(remember), exist_ok=True)
    with open(remember, "w") as f:
        json.dump({"boot": boot, "version": list(qemu.version), "accelerator": answer}, f)
    return answer


def _boots_under_kvm(qemu, arch, kernel, initrd):
    """/dev/kvm may be there, and make virtual CPUs, and still not carry a kernel: so one is booted."""
    command = [*qemu.command, *machine(arch, "kvm", qemu.version, 256, 1), "-serial", "stdio"]
    command += ["-kernel", kernel, "-initrd", initrd, "-append", f"console={ARCHES[arch].console} panic=-1 rdinit=/bin/true"]
    try:
        # Whatever the kernel does about the missing init, it has then booted far enough to say so.
        done = subprocess.run(command, stdin=subprocess.DEVNULL, capture_output=True, timeout=3)
    except subprocess.TimeoutExpired as late:
        return b"Run /bin/true as init process" in (late.stdout or b"")
    return b"Run /bin/true as init process" in done.stdout


def machine(arch, accel, version, memory, cpus):
    its = ARCHES[arch]
    if accel == "kvm":
        cpu = "host"
    else:
        cpu = its.old_cpu if its.old_cpu and version < (10, 0) else its.cpu
    return [
        "-machine", its.machine, "-accel", accel, "-cpu", cpu, "-m", str(memory), "-smp", str(cpus),
        "-nodefaults", "-display", "none", "-no-reboot", "-nic", "none",
    ]  # fmt: skip


def tsc_khz(cpuinfo):
    """How fast this host's time stamp counter is, by the text of /proc/cpuinfo; None when it does not tell."""
    flags = re.search(r"^flags\s*:(.*)", cpuinfo, re.M)
    # Where the counter is constant, Linux takes the loops of its delays from it: two a tick of the counter.
    mips = re.search(r"^bogomips\s*:\s*([0-9.]+)", cpuinfo, re.M)
    return round(float(mips[1]) * 500) if flags and mips and "constant_tsc" in flags[1].split() else None


def boot_words(arch, accel, cpuinfo=None):
    """What a kernel is told so that it starts on a busy host as on an idle one."""
    if accel != "tcg":
        return ""
    words = ARCHES[arch].emulated
    if arch == "amd64" == arches.host():
        if cpuinfo is None:
            with open("/proc/cpuinfo") as f:
                cpuinfo = f.read()
        # An emulated machine has the host's counter. Measured while others have the processor it comes out
        # ten times too slow, and all time in the machine ten times too fast.
        khz = tsc_khz(cpuinfo)
        words += f" tsc_early_khz={khz}" if khz else ""
    return words


# ---- a boot ----


@dataclasses.dataclass
class Outcome:
    """What came out of one boot. `programs` is {name: {out, err, how, code, ms, left}}."""

    seconds: float
    timed_out: bool
    exit_code: int
    console: str
    kmsg: str = ""
    programs: dict = dataclasses.field(default_factory=dict)
    problems: list = dataclasses.field(default_factory=list)
    done: bool = False


# A name becomes a file's.
FRAME = re.compile(rb"##oarbank ([a-z]+) ([A-Za-z0-9][A-Za-z0-9._-]{0,99}) (\d{1,9})\n")

END = re.compile(r"(\S+)\s+(-?\d{1,9})\s+(\d{1,9})\s+(-?\d{1,9})\s*")


def parse_channel(data, outcome):
    """Read the frames of channel.h into the outcome. Bytes between frames are skipped."""
    at = 0
    while found := FRAME.search(data, at):
        word, name, length = found[1].decode(), found[2].decode(errors="replace"), int(found[3])
        body = data[found.end() : found.end() + length]
        at = found.end() + length
        if len(body) < length:
            outcome.problems.append(f"{name}: its output breaks off")
        text = body.decode(errors="replace")
        program = outcome.programs.setdefault(name, {"out": "", "err": "", "how": None, "code": 0, "ms": 0, "left": 0})
        if word in ("out", "err"):
            program[word] += text
        elif word == "end":
            ended = END.fullmatch(text)
            if ended:
                program.update(how=ended[1], code=int(ended[2]), ms=int(ended[3]), left=int(ended[4]))
            else:
                outcome.problems.append(f"{name}: its end cannot be understood: {text[:60]!r}")
        elif word == "problem":
            outcome.problems.append(f"{name}: {text}")
        elif word == "kmsg":
            outcome.kmsg = text
        elif word == "done":
            outcome.done = True
    for name in ("init", "kernel"):
        outcome.programs.pop(name, None)


def last_begun(data):
    """The name of the program that runs now, for the progress line."""
    begun = [m for m in FRAME.finditer(data) if m[1] == b"begin"]
    return begun[-1][2].decode(errors="replace") if begun else None


def bad_lines(text, around=12):
    """The first thing the kernel complained of, with the lines after it; [] when it did not."""
    lines = text.splitlines()
    for i, line in enumerate(lines):
        if BAD.search(line):
            return lines[max(0, i - 1) : i + around]
    return []


def command_line(qemu, arch, accel, kernel, initrd, append, files, memory=512, cpus=1):
    """QEMU's arguments; `files` are the console and channel paths, or None for a console on stdio."""
    command = [*qemu.command, *machine(arch, accel, qemu.version, memory, cpus)]
    command += ["-kernel", kernel, "-initrd", initrd, "-append", append]
    if files is None:
        command += ["-serial", "mon:stdio"]
        # The null device counts as nobody listening, and a write would wait for somebody.
        channel = "file,id=channel,path=/dev/null"
    else:
        command += ["-chardev", f"file,id=console,path={files[0]}", "-serial", "chardev:console"]
        channel = f"file,id=channel,path={files[1]}"
    command += [
        "-device", "virtio-serial-pci", "-chardev", channel,
        "-device", "virtserialport,chardev=channel,name=oarbank",
    ]  # fmt: skip
    if files is not None and len(files) > 2:
        command += ["-chardev", f"file,id=second,path={files[2]}", "-serial", "chardev:second"]
    return command


def waited(pid):
    """Seconds that the thread which waited longest for a processor has waited, of a process's threads."""
    longest = 0
    for path in glob.glob(f"/proc/{pid}/task/*/schedstat"):
        with contextlib.suppress(OSError, ValueError, IndexError), open(path) as f:
            longest = max(longest, int(f.read().split()[1]))
    return longest / 1e9


_running = set()
_over = threading.Event()


def end_all():
    """End the machines of all threads, and let none start again."""
    _over.set()
    for process in list(_running):
        process.kill()


def boot(command, files, seconds, state=lambda word: None):
    """Run QEMU until it ends or its time is up: its own time, for what it waits for a processor of a busy host
    is given to it. After ten times as long it is over in any case."""
    start = time.monotonic()
    for path in files:
        open(path, "wb").close()
    if _over.is_set():
        raise BootError("the run is over")
    process = subprocess.Popen(mortal(command), stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)
    _running.add(process)
    timed_out = flooded = False
    try:
        while True:
            try:
                process.wait(0.1)
                break
            except subprocess.TimeoutExpired:
                state(last_begun(_channel(files)) or "booting")
            said = sum(os.path.getsize(path) for path in files)
            if said > OUTPUT_BYTES_MAX:
                flooded = True
                process.kill()
                process.wait()
                break
            passed = time.monotonic() - start
            if passed > seconds and (passed - waited(process.pid) > seconds or passed > 10 * seconds):
                timed_out = True
                process.kill()
                process.wait()
                break
    except BaseException:
        process.send_signal(signal.SIGKILL)
        process.wait()
        raise
    finally:
        _running.discard(process)
        errors = process.stderr.read().decode(errors="replace")
        process.stderr.close()
    with open(files[0], "rb") as f:
        console = f.read(OUTPUT_BYTES_MAX).decode(errors="replace")
    outcome = Outcome(time.monotonic() - start, timed_out, process.returncode, console.replace("\r", ""))
    parse_channel(_channel(files), outcome)
    if flooded:
        outcome.problems.append(f"it said more than {OUTPUT_BYTES_MAX >> 20} MiB, and was ended")
    elif process.returncode and not timed_out:
        outcome.problems.append(f"QEMU ended with {process.returncode}: {errors.strip()[-300:]}")
    return outcome


def _channel(files):
    data = b""
    for path in files[1:]:
        with open(path, "rb") as f:
            data += f.read(OUTPUT_BYTES_MAX)
    return data


def crashed(outcome):
    """Whether the machine died before it was done: the one thing a second boot is allowed for."""
    return not outcome.done and (not outcome.timed_out or bool(CRASH.search(outcome.console)))
