"""A run of the matrix: rows to kernels, kernels to machines, machines to verdicts."""
import concurrent.futures
import contextlib
import dataclasses
import fcntl
import functools
import glob
import os
import re
import shutil
import subprocess
import sys
import time

from . import arch as arches
from . import compare, cross, debian, fetch, image, limit, payload, qemu, record, show
from . import rows as tables
from .arch import ARCHES
from .debian import DebianError

# What nobody here uses and takes half a second under emulation: self-tests and entropy of the cryptography, the
# certificates for signed modules (those without are loaded too), tracing.
IDLE = "jent_mod_init,crypto_kdf108_init,load_system_certificate_list,trace_eval_init,init_blk_tracer"
APPEND = f"panic=-1 quiet cryptomgr.notests initcall_blacklist={IDLE}"
# Many times what a row takes; the time it waits for a processor is not counted.
SECONDS = 100
FULL_SECONDS = 500
# What the machine's way out stands on; loaded first where it is not built in.
CHANNEL_OPTIONS = ("VIRTIO_PCI", "VIRTIO_CONSOLE")
SYSTEMD = "rdinit=/lib/systemd/systemd systemd.unit=oarbank.target systemd.log_level=warning"
FAULTS = (fetch.FetchError, DebianError, payload.PayloadError, image.ImageError, qemu.BootError, limit.LimitError, cross.CrossError, record.RecordError, OSError)


def expand(runs, row, full=False):
    """The runs of one row: each as one user, with the name it has in the results. `full`: those of
    when=full=yes too."""
    only = None if runs == [record.RUN] else row.has("only")
    expanded = []
    for run in runs:
        if not (row.fits(run.when) or (full and run.when == "full=yes")) or (only and run.name not in only.split(",")):
            continue
        whos = {"row": [row.has("user") or "user"], "both": ["root", "user"]}.get(run.who, [run.who])
        if row.has("pid1"):
            whos = ["user"] if "user" in whos else []
        for who in whos:
            name = f"{run.name}-{who}" if run.who == "both" else run.name
            expanded.append(dataclasses.replace(run, name=name, who=who))
    return expanded


def row_file(row, runs, modules):
    """The file /row that init carries out."""
    lines = [f"cgroup\t{row.has('cgroup') or 'unified'}"]
    lines += [f"module\t{path}" + (f"\t{arguments}" if arguments else "") for path, arguments in modules]
    for setting in row.machine.get("sysctl", []):
        name, _, value = setting.partition(":")
        lines.append(f"sysctl\t{name}\t{value}")
    if row.has("module"):
        lines += [f"mode\t/dev/dri/{node}\t0666" for node in ("renderD128", "card0")]
    for run in runs:
        uid = 0 if run.who == "root" else image.USER
        abi = "-" if row.abi is None else str(row.abi if isinstance(row.abi, int) else 0)
        command = [word.replace("{abi}", abi) for word in run.command]
        if row.has("wrap"):
            command = ["/oarbank/contain", row.has("wrap"), str(uid), *command]
            uid = 0
        lines.append("\t".join(["run", run.name, str(uid), str(run.seconds), *command]))
    return "\n".join(lines) + "\n"


def length(row):
    """For an order in which rows end together: those that take long first."""
    return bool(row.has("pid1")), bool(row.has("module")), compare.has_backend(row.abi)


class Board:
    """The files every machine of one architecture has, from the build directory and the source."""

    def __init__(self, arch, build, source, runs, store):
        self.arch, self.build, self.source, self.store = arch, build, source, store
        self.root = "" if arch == arches.host() else cross.sysroot(store, arch, source)
        self.output = build if arch == arches.host() else os.path.join(build, "cross", arch)
        programs = {"init": os.path.join(self.output, "vm", "bin", "init")}
        programs["oarbank/contain"] = os.path.join(self.output, "vm", "bin", "contain")
        for run in runs:
            for path in [run.command[0], *run.files]:
                programs.update(self._files(path))
        busybox = store.closure("busybox", ["busybox-static"], [ARCHES[arch].suite], arch, patterns=("./*bin/busybox",))
        strip = ["strip"] if arch == arches.host() else [os.path.join(cross.wrappers(build, arch), "strip")]
        self.base = image.base(programs, os.path.join(busybox, "bin", "busybox"), arch, self.root, strip)

    @functools.cached_property
    def systemd(self):
        return image.systemd(self.store.closure("systemd", ["systemd"], [ARCHES[self.arch].suite], self.arch))

    def _files(self, path):
        """{path in the machine: file here} for what runs.tsv names."""
        if path in ("/bin/sh", "/bin/busybox"):
            return {}
        for prefix, directory in (("/build/", self.output), ("/src/", self.source), ("/oarbank/", f"{self.output}/vm/bin")):
            if path.startswith(prefix):
                here = os.path.join(directory, path[len(prefix) :])
                break
        else:
            here = self.root + path
        if os.path.isdir(here):
            inside = [p for p in glob.glob(here + "/**", recursive=True) if os.path.isfile(p)]
            return {path.rstrip("/") + p[len(here.rstrip("/")) :]: p for p in inside}
        if not os.path.exists(here):
            raise image.ImageError(f"{path} (here {here}) is not there: build it, or take it out of runs.tsv")
        return {path: here}


class Matrix:
    def __init__(self, arguments, here):
        self.build = os.path.abspath(arguments.build)
        self.source = os.path.dirname(here)
        self.jobs, self.full = max(1, arguments.jobs), arguments.full
        self.table = tables.parse(tables.read(os.path.join(here, "rows.tsv")))
        self.runs = tables.parse_runs(tables.read(os.path.join(here, "runs.tsv")))
        tables.check_together(self.table, self.runs)
        if arguments.verb == "record":
            self.runs = [record.RUN]
        self.rows = list(self.table.rows)
        if arguments.kernel_dir:
            self.rows += dropped_in(arguments.kernel_dir, lambda text: print(f"vm: {text}", file=sys.stderr))
        if arguments.row:
            unknown = set(arguments.row) - {row.name for row in self.rows}
            if unknown:
                raise tables.TableError(f"no row {', '.join(sorted(unknown))}; there are {' '.join(r.name for r in self.rows)}")
            self.rows = [row for row in self.rows if row.name in arguments.row]
        elif arguments.verb != "fetch" or arguments.arch:
            wanted = arguments.arch or [arches.host()]
            self.rows = [row for row in self.rows if row.arch in wanted]
            if not self.rows:
                raise tables.TableError(f"no row for {' '.join(wanted)}; there are rows for {' '.join(sorted({r.arch for r in self.table.rows}))}")
        self.out = os.path.join(self.build, "vm")
        self.progress = show.Progress(len(self.rows))
        self.store = fetch.Store(self.build, say=self.progress.say)
        self.boards, self.qemus, self.accels, self.kernels, self.modules = {}, {}, {}, {}, {}

    def prepare(self, refresh=False):
        """Everything the rows need, before the first boots."""
        with self.store.locked():
            wanted = sorted({row.arch for row in self.rows})
            for arch in wanted:
                self.qemus[arch] = self._qemu(arch)
            self.kernels = self.store.kernels(self.rows, refresh)
            for arch in wanted:
                self.boards[arch] = Board(arch, self.build, self.source, self.runs, self.store)
                self.accels[arch] = self._accelerator(arch)
            for row in self.rows:
                self.modules[row.name] = self._modules(row)
                if row.has("pid1"):
                    self.boards[row.arch].systemd  # noqa: B018 (fetched now, not by the rows)

    def _qemu(self, arch):
        try:
            tree = self.store.closure(
                "qemu", [*ARCHES[arch].qemu, "zstd"], ["trixie", "trixie-backports"], arches.host(), "trixie-backports"
            )
            # Kernels are unpacked with what came along.
            payload.elsewhere["zstd"] = [*arches.start(tree), os.path.join(tree, "usr", "bin", "zstd")]
            return qemu.unpacked(tree, arch)
        except FAULTS as problem:
            found = qemu.installed(arch)
            self.progress.say(f"using {found.where}, version {found.version[0]}.{found.version[1]}: {problem}")
            return found

    def _accelerator(self, arch):
        kernel = next((k for k in self.kernels.values() if isinstance(k, fetch.Kernel) and k.arch == arch), None)
        if not kernel:
            return "tcg"
        os.makedirs(self.out, exist_ok=True)
        initrd = os.path.join(self.out, f"base-{arch}.cpio")
        with open(initrd, "wb") as f:
            f.write(self.boards[arch].base)
        remember = os.path.join(self.out, f"accelerator-{arch}.json")
        return qemu.accelerator(self.qemus[arch], arch, kernel.boot, initrd, remember)

    # ---- one row ----

    def _modules(self, row):
        """([(path in the machine, arguments)], [(path, bytes)]) of what the row loads, or why not."""
        kernel = self.kernels[row.source, row.arch]
        if not isinstance(kernel, fetch.Kernel):
            return kernel
        try:
            return self._load(row, kernel)
        except FAULTS as problem:
            return problem

    def _load(self, row, kernel):
        order, files = [], []
        early = kernel.as_modules(CHANNEL_OPTIONS)
        suite = fetch.parse_source(row.source)[1].get("suite")
        if early:
            tree = self.store.modules(kernel, suite)
            for i, (_, data) in enumerate(image.module_order(early, image.module_files(tree))):
                files.append((f"/early/{i}.ko", data))
        if row.limit:
            data = limit.module(self.store, kernel, suite, self.source)
            order.append(("/lib/modules/oarbank_abi_limit.ko", f"abi={row.limit}"))
            files.append((order[-1][0], data))
        if row.has("module"):
            tree = self.store.modules(kernel, suite)
            for name, data in image.module_order(row.machine["module"], image.module_files(tree)):
                order.append((f"/lib/modules/{name}.ko", ""))
                files.append((order[-1][0], data))
        return order, files

    def machine(self, row, extra=""):
        """(kernel, initrd path, runs) of the row; `extra` is added to its /row file."""
        kernel = self.kernels[row.source, row.arch]
        if not isinstance(kernel, fetch.Kernel):
            raise kernel
        if kernel.arch != row.arch:
            raise fetch.FetchError(f"{kernel.origin} is for {kernel.arch}")
        if isinstance(self.modules[row.name], Exception):
            raise self.modules[row.name]
        runs = expand(self.runs, row, self.full)
        order, files = self.modules[row.name]
        archive = image.cpio.Archive()
        for path, data in files:
            archive.file(path, data)
        if row.has("wrap"):
            archive.file(".dockerenv", b"")
        text = row_file(row, [] if extra else runs, order)
        archive.file("row", (text + extra).encode())
        directory = os.path.join(self.out, "rows", row.name)
        shutil.rmtree(directory, ignore_errors=True)
        os.makedirs(directory)
        initrd = os.path.join(directory, "initrd")
        with open(initrd, "wb") as f:
            if row.has("pid1"):
                f.write(self.boards[row.arch].systemd)
            f.write(self.boards[row.arch].base)
            f.write(archive.bytes())
        return kernel, initrd, runs

    def command(self, row, kernel, initrd, files):
        words = [f"console={ARCHES[row.arch].console}", APPEND, qemu.boot_words(row.arch, self.accels[row.arch]), row.boot]
        append = " ".join(filter(None, words))
        if row.has("pid1"):
            append += f" {SYSTEMD}"
        memory, cpus = int(row.has("mem") or 512), int(row.has("cpus") or 1)
        return qemu.command_line(
            self.qemus[row.arch], row.arch, self.accels[row.arch], kernel.boot, initrd, append, files, memory, cpus
        )

    def check(self, row):
        """The verdict on one row. A machine that crashed gets a second boot, and that is said."""
        directory = os.path.join(self.out, "rows", row.name)
        try:
            self.progress.state(row.name, "preparing")
            kernel, initrd, runs = self.machine(row)
            names = ["console.log", "channel"] + ["channel-serial"] * ARCHES[row.arch].second_serial
            files = [os.path.join(directory, name) for name in names]
            command = self.command(row, kernel, initrd, files)
            seconds = int(row.has("seconds") or SECONDS) + (FULL_SECONDS if self.full or row.has("full") else 0)
            outcome = qemu.boot(command, files, seconds, lambda word: self.progress.state(row.name, word))
            notes = []
            if qemu.crashed(outcome):
                last = next((s for s in qemu.bad_lines(outcome.console) if qemu.BAD.search(s)), "no word")
                notes.append(f"crashed once ({last.strip()}), booted again")
                os.replace(files[0], files[0] + ".first")
                outcome = qemu.boot(command, files, seconds, lambda word: self.progress.state(row.name, word + " again"))
            verdict = compare.judge(row, self.table, runs, outcome)
            verdict.notes, verdict.kernel = notes, verdict.kernel or kernel.release
            keep(directory, outcome, verdict)
            os.unlink(initrd)
        except FAULTS as problem:
            verdict = compare.Verdict()
            verdict.problems.append(f"could not be booted: {problem}")
        except Exception as problem:  # what nobody thought of costs its own row
            verdict = compare.Verdict()
            verdict.problems.append(f"could not be judged: {type(problem).__name__}: {problem}")
        self.progress.finish(row.name, verdict)
        return verdict

    def check_all(self):
        with concurrent.futures.ThreadPoolExecutor(self.jobs) as pool:
            futures = {row.name: pool.submit(self.check, row) for row in sorted(self.rows, key=length, reverse=True)}
            try:
                return {row.name: futures[row.name].result() for row in self.rows}
            except BaseException:
                # Who presses Ctrl-C wants none of the others either.
                pool.shutdown(wait=False, cancel_futures=True)
                qemu.end_all()
                raise

    def write(self, verdicts, wall):
        accel = "/".join(sorted(set(self.accels.values())))
        heading = f"Kernel matrix: {show.count(len(verdicts), 'row')} in {wall:.0f} s ({accel})"
        for name, text in (
            ("matrix.md", show.markdown(self.table, verdicts, heading)),
            ("matrix.html", show.page(self.table, verdicts, heading)),
            ("junit.xml", show.junit(verdicts, wall)),
        ):
            with open(os.path.join(self.out, name), "w", encoding="utf-8") as f:
                f.write(text)
        print(show.matrix_text(self.table, verdicts))
        for line in show.skips(verdicts, os.path.relpath(os.path.join(self.out, "matrix.md"))):
            print(line)
        print(show.summary(verdicts, wall, accel))


def keep(directory, outcome, verdict):
    """Every program's output, the report, and the kernel's log, as files."""
    for name, program in outcome.programs.items():
        with open(os.path.join(directory, f"{name}.out"), "w", encoding="utf-8") as f:
            f.write(program["out"])
        if program["err"]:
            with open(os.path.join(directory, f"{name}.err"), "w", encoding="utf-8") as f:
                f.write(program["err"])
    with open(os.path.join(directory, "problems"), "w", encoding="utf-8") as f:
        f.write("".join(line + "\n" for line in verdict.problems + verdict.lines))
    with open(os.path.join(directory, "kernel.log"), "w", encoding="utf-8") as f:
        f.write(outcome.kmsg)


def _dropped_arch(path):
    """The architecture of what may be a kernel; ours where a .deb or a file does not let itself be read, which then
    fails as a row; None of what is no kernel."""
    if not os.path.isfile(path):
        return None
    if path.endswith(".deb"):
        arch = debian.architecture(path)
        return arch if arch in ARCHES else arches.host()
    try:
        with open(path, "rb") as f:
            return fetch.payload.arch_of(f.read(4096))
    except OSError:
        return arches.host()


def dropped_in(directory, say):
    """A row for every kernel image and .deb in a directory; what its ABI entitles it to is expected. A .deb
    that cannot be read is a row too, one that fails; what is no kernel is left out, and that is said."""
    rows = {}
    for path in sorted(glob.glob(os.path.join(glob.escape(directory), "*"))):
        base = os.path.basename(path)
        if os.path.isdir(path):
            continue
        arch = _dropped_arch(path)
        if not arch:
            say(f"{path} is no kernel image and no .deb: left out")
            continue
        stem = re.sub(r"^(linux-(image|binary)|vmlinu[xz])-|(-unsigned)?_.*|\.deb$", "", base)
        name = "dir-" + re.sub(r"[^a-z0-9._-]", "-", stem.lower())
        name = next(n for n in (name, *(f"{name}-{i}" for i in range(2, len(rows) + 3))) if n not in rows)
        rows[name] = tables.Row(name, arch, f"file:{os.path.abspath(path)}", "", {}, None, None, None, {})
    if not rows:
        raise fetch.FetchError(f"{directory}: no kernel image and no .deb in it")
    return list(rows.values())


def run(arguments, here):
    """What `vm` does; returns its exit code."""
    try:
        return _run(arguments, here)
    except (tables.TableError, *FAULTS) as problem:
        print(f"vm: {problem}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        print("vm: interrupted", file=sys.stderr)
        return 130


def _run(arguments, here):
    if arguments.verb == "cross":
        return write_toolchains(arguments, os.path.dirname(here))
    matrix = Matrix(arguments, here)
    matrix.prepare(refresh=arguments.verb == "fetch")
    if arguments.verb == "fetch":
        with matrix.store.locked():
            matrix.store.prune()
        matrix.progress.close()
        return report_fetch(matrix)
    if arguments.verb == "shell":
        return shell(matrix)
    with alone(matrix):
        start = time.monotonic()
        try:
            verdicts = matrix.check_all()
        finally:
            matrix.progress.close()
        if arguments.verb == "record":
            keep_recordings(matrix, verdicts, os.path.abspath(arguments.into))
        else:
            matrix.write(verdicts, time.monotonic() - start)
    return 0 if verdicts and all(v.good for v in verdicts.values()) else 1


@contextlib.contextmanager
def alone(matrix):
    """One run at a time writes results into a build directory."""
    with open(os.path.join(matrix.out, "lock"), "w") as f:
        try:
            fcntl.flock(f, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError:
            matrix.progress.say(f"waiting for another run that writes to {matrix.out}")
            fcntl.flock(f, fcntl.LOCK_EX)
        yield


def write_toolchains(arguments, source):
    store = fetch.Store(arguments.build, say=lambda text: print(f"vm: {text}", file=sys.stderr))
    with store.locked():
        for arch in arguments.arch:
            if arch != arches.host():
                cross.toolchain(store, arches.host(), arch, os.path.abspath(arguments.build), source)
                print(ARCHES[arch].triplet)
    return 0


def report_fetch(matrix):
    bad = 0
    for row in matrix.rows:
        kernel = matrix.kernels[row.source, row.arch]
        good = isinstance(kernel, fetch.Kernel)
        bad += not good
        print(f"{row.name:<22} {kernel.origin if good else f'FAILED: {kernel}'}")
    return 1 if bad else 0


def keep_recordings(matrix, verdicts, into):
    """Of every row that went well, its machine as a directory vm-NAME below `into`."""
    for row in matrix.rows:
        if not verdicts[row.name].good:
            continue
        with open(os.path.join(matrix.out, "rows", row.name, "record.out"), encoding="utf-8") as f:
            output = f.read()
        directory = os.path.join(into, f"vm-{row.name}")
        try:
            record.write(output, directory, f"The machine of the row {row.name} of vm-tests/rows.tsv.")
            print(directory)
        except record.RecordError as problem:
            verdicts[row.name].problems.append(str(problem))
            print(f"vm: {row.name}: {problem}", file=sys.stderr)


def shell(matrix):
    """A prompt on the row's kernel, with what the row mounts and loads; init is ours even where it is not."""
    if len(matrix.rows) != 1:
        raise tables.TableError(f"a prompt is on one row, not on {len(matrix.rows)}: make vm-shell ROW=name")
    row = matrix.rows[0]
    row.machine.pop("pid1", None)
    kernel, initrd, _ = matrix.machine(row, extra="shell\n")
    matrix.progress.close()
    print(f"{row.name}: {kernel.release}; exit or poweroff ends it, C-a x kills it", file=sys.stderr)
    code = subprocess.run(matrix.command(row, kernel, initrd, None)).returncode
    os.unlink(initrd)
    return code
