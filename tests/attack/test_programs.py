#!/usr/bin/env python3
"""Real programs under a policy as an agent writes it: a bundle, a work directory that is HOME and
TMPDIR too, and no network. A row that works is tried without the sandbox only after it failed, to
tell what the machine itself cannot do; a row that fails has the control first. What fails does so
with an error that says what is wrong: docs/programs.md has the way round.
"""
import concurrent.futures
import dataclasses
import http.server
import json
import os
import re
import shutil
import subprocess
import sys
import tempfile
import threading

BUILD = os.environ.get("BUILD", "build")
PATH = "/usr/bin:/bin:/usr/sbin:/sbin"
USER = 61006
PYTHON = "/usr/bin/python3" if os.path.exists("/usr/bin/python3") else sys.executable


@dataclasses.dataclass
class Row:
    name: str
    script: str  # for /bin/sh -e, in the work directory
    needs: str = "sh"  # a program, or several
    fails: str = ""  # what it says when it fails, as it must
    exec_rw: bool = False
    net: bool = False
    root_only: bool = False
    ro: tuple = ()
    env: dict = dataclasses.field(default_factory=dict)


def prefix_of(python):
    """An interpreter outside the base system is granted by its prefix, as the agent does it."""
    out = subprocess.run(
        [python, "-c", "import sys; print(sys.base_prefix)"], capture_output=True, text=True)
    prefix = out.stdout.strip()
    return () if not prefix or prefix.startswith("/usr") else (prefix,)


def rust():
    """cargo and rustc themselves: what rustup puts on PATH would start them by way of HOME."""
    cargo = shutil.which("cargo")
    if not cargo:
        return None
    out = subprocess.run(["rustc", "--print", "sysroot"], capture_output=True, text=True)
    return out.stdout.strip() or None


RUST = rust()
PYTHON_ROOTS = prefix_of(PYTHON)


def python(name, code, **more):
    return Row("python_" + name, f'"$PYTHON" - <<\'end\'\n{code}\nend\n', needs=PYTHON,
               ro=PYTHON_ROOTS, **more)


ROWS = [
    Row("shell_pipeline", "seq 1000 | sort -rn | head -n 3 | while read n; do echo $n; done | grep 998"),
    Row("shell_job", "sleep 0.1 & wait $!; kill -0 $$; trap 'echo bye' EXIT"),
    Row("shell_limits", "ulimit -n 64; ulimit -c 0; nice -n 1 true; timeout 5 true; setsid true"),
    Row("tar", "mkdir a; seq 99 >a/b; chmod 750 a; tar czf a.tgz a; rm -r a; tar xzf a.tgz; test -s a/b",
        needs="tar gzip"),
    Row("tar_sparse_xattrs", "mkdir a; seq 99 >a/b; tar -c --xattrs -f x.tar a; tar -x --xattrs -f x.tar -C /$PWD",
        needs="tar"),
    Row("cp_archive", "mkdir a; seq 99 >a/b; ln -s b a/c; cp -a a d; cp -p a/b e; test -L d/c; cmp a/b e"),
    Row("cp_from_bundle", 'cp -a "$BUNDLE" copy; test -s copy/hello.c; mv copy moved; rm -r moved'),
    Row("find_xargs", 'mkdir a; touch a/1 a/2; test $(find a -type f | xargs -P 2 -n 1 echo | wc -l) = 2',
        needs="find xargs"),
    Row("make_jobs", "printf 'all: a b c\\na b c:\\n\\t+@$(MAKE) --no-print-directory -s x$@\\nx%%:\\n\\t@echo $@ >$@\\n' >Makefile\n"
        "make -j2; test -s xa -a -s xb -a -s xc", needs="make"),
    Row("git", "git init -q a; cd a; git config user.email a@b; git config user.name a; seq 9 >f\n"
        "git add f; git commit -q -m one; cd ..; git clone -q a b; cd b; git log --oneline | grep one\n"
        "git checkout -q -b other; git stash list; git gc -q; git worktree add -q ../c; test -s ../c/f",
        needs="git"),
    Row("perl", "perl -e 'pipe(R,W); fork or exit print W 1; wait; print \"ok\"' | grep ok", needs="perl"),
    Row("openssl", "openssl rand -hex 8; openssl genrsa 2048 >key; openssl dgst -sha256 key",
        needs="openssl"),

    Row("stdio_by_name", "(echo x | tee /dev/fd/2 | cat /dev/fd/0 >/dev/fd/1) 2>&1 | cat >out; test $(wc -l <out) = 2"),
    Row("ps", "ps -ef | grep -q ps; df . >df; id; date; uname -a; getent passwd 0", needs="ps"),
    Row("renice", "renice -n 5 -p $$", needs="renice", fails="(?i)permission denied|not permitted"),
    Row("taskset_pid", "taskset -p 1 $$", needs="taskset", fails="not permitted"),
    Row("taskset", "taskset -c 0 true; nice -n 5 ionice -c 3 true", needs="taskset ionice"),
    Row("tar_owner_unknown", "seq 9 >a; tar --owner=61007 --group=61007 -cf a.tar a; tar xf a.tar", needs="tar",
        root_only=True, fails="Cannot change ownership"),
    Row("tar_owner_ignored", "seq 9 >a; tar --owner=61007 --group=61007 -cf a.tar a; tar xf a.tar --no-same-owner",
        needs="tar"),
    Row("su", "su -s /bin/true nobody", needs="su", root_only=True, fails="su: "),

    Row("gcc_compile", 'gcc -O1 -o hello "$BUNDLE/hello.c"; test -x hello', needs="gcc"),
    Row("gcc_run", 'gcc -o hello "$BUNDLE/hello.c"; ./hello | grep hello', needs="gcc",
        fails="hello: Permission denied"),
    Row("gcc_run_exec_rw", 'gcc -o hello "$BUNDLE/hello.c"; ./hello | grep hello', needs="gcc", exec_rw=True),
    Row("leak_sanitizer", 'gcc -fsanitize=address -o hello "$BUNDLE/hello.c"; ./hello', needs="gcc", exec_rw=True,
        fails="LeakSanitizer"),
    Row("address_sanitizer", 'gcc -fsanitize=address,undefined -o hello "$BUNDLE/hello.c"; ASAN_OPTIONS=detect_leaks=0 ./hello',
        needs="gcc", exec_rw=True),
    Row("gdb", 'gcc -g -o hello "$BUNDLE/hello.c"; gdb -batch -ex run ./hello | grep "exited normally"',
        needs="gcc gdb", exec_rw=True, fails="Operation not permitted|not permitted"),
    Row("strace", "strace -o log true", needs="strace", fails="Operation not permitted"),
    Row("unshare", "unshare -r true", needs="unshare", fails="Operation not permitted"),

    python("subprocess", """
import subprocess
assert subprocess.run(["cat"], input=b"x", capture_output=True).stdout == b"x"
assert subprocess.check_output("echo a | tr a b", shell=True, start_new_session=True) == b"b\\n"
assert subprocess.Popen(["sleep", "9"]).poll() is None"""),
    python("asyncio", """
import asyncio
async def main():
    p = await asyncio.create_subprocess_exec("cat", stdin=-1, stdout=-1)
    out, _ = await p.communicate(b"x")
    await asyncio.get_running_loop().run_in_executor(None, print, "thread")
    assert out == b"x"
asyncio.run(main())"""),
    python("threads", """
import concurrent.futures, threading, queue
with concurrent.futures.ThreadPoolExecutor(8) as pool:
    assert sum(pool.map(int, range(100))) == 4950
q = queue.Queue(); threading.Thread(target=q.put, args=(1,)).start(); q.get()"""),
    python("sqlite", """
import sqlite3
db = sqlite3.connect("a.db"); db.execute("pragma journal_mode=wal")
db.execute("create table t (a)"); db.executemany("insert into t values (?)", [(i,) for i in range(99)])
db.commit(); assert db.execute("select count(*) from t").fetchone() == (99,)"""),
    python("files", """
import os, shutil, tempfile, mmap, fcntl
with tempfile.TemporaryDirectory() as d:
    p = os.path.join(d, "a"); open(p, "w").write("x" * 9)
    shutil.copy2(p, p + "2"); shutil.copytree(d, d + "-copy"); shutil.rmtree(d + "-copy")
    os.replace(p, p + "3"); os.link(p + "3", p); os.symlink("a", p + "4"); os.utime(p); os.chmod(p, 0o600)
    with open(p, "r+b") as f:
        fcntl.flock(f, fcntl.LOCK_EX); mmap.mmap(f.fileno(), 0)[0:1]
    tempfile.TemporaryFile().write(b"x")"""),
    python("machine", """
import os, platform, resource, signal, socket, pwd, time
assert os.cpu_count() and len(os.sched_getaffinity(0)); platform.platform(); pwd.getpwuid(0)
os.sched_setaffinity(0, os.sched_getaffinity(0)); os.nice(1)
resource.setrlimit(resource.RLIMIT_NOFILE, (64, 64)); signal.setitimer(signal.ITIMER_REAL, 9)
a, b = socket.socketpair(); a.send(b"x"); assert b.recv(1) == b"x"
assert socket.gethostname(); time.tzname"""),
    python("extension", """
import os, sys; sys.path.insert(0, os.environ["BUNDLE"])
import spam; assert spam.answer() == 42""", env={"EXTENSION": "1"}),
    Row("python_venv", '"$PYTHON" -m venv v; v/bin/python -m pip --version | grep pip\n'
        'v/bin/python -c "import sys; assert sys.prefix != sys.base_prefix"\nv/bin/pip list 2>&1 | grep pip || true',
        needs=PYTHON, ro=PYTHON_ROOTS),
    Row("python_venv_script", '"$PYTHON" -m venv --without-pip v; printf "#!$PWD/v/bin/python\\nprint(1)\\n" >v/bin/tool\n'
        "chmod +x v/bin/tool; v/bin/tool", needs=PYTHON, ro=PYTHON_ROOTS, fails="Permission denied"),
    Row("python_venv_script_by_name", '"$PYTHON" -m venv --without-pip v; echo "print(1)" >v/bin/tool; v/bin/python v/bin/tool',
        needs=PYTHON, ro=PYTHON_ROOTS),
    Row("python_venv_copies", '"$PYTHON" -m venv --copies --without-pip v; v/bin/python -c 1',
        needs=PYTHON, ro=PYTHON_ROOTS, fails="Permission denied"),
    python("multiprocessing_queue", "import multiprocessing; multiprocessing.Queue()",
           fails="sem_open|PermissionError|Permission denied|Function not implemented"),
    python("process_pool", "import concurrent.futures as f\nwith f.ProcessPoolExecutor(2) as p: print(list(p.map(abs, [1])))",
           fails="PermissionError|Permission denied|Function not implemented"),
    python("multiprocessing_manager", "import multiprocessing; multiprocessing.Manager().list()",
           fails="Operation not permitted|PermissionError"),
    python("multiprocessing_pipe", """
import multiprocessing
a, b = multiprocessing.Pipe()
p = multiprocessing.Process(target=lambda c: c.send("x"), args=(b,)); p.start()
assert a.recv() == "x"; p.join(); assert p.exitcode == 0"""),
    python("terminal", "import pty; pty.openpty()", fails="out of pty devices|Permission denied"),
    python("limits_by_number", "import os, resource; resource.prlimit(os.getpid(), resource.RLIMIT_NOFILE, (64, 64))",
           fails="PermissionError"),
    python("priority_by_number", "import os; os.setpriority(os.PRIO_PROCESS, os.getpid(), 5)",
           fails="PermissionError"),
    python("socket", "import socket; socket.create_server(('127.0.0.1', 0))", fails="PermissionError"),
    python("listen_with_net", "import socket; socket.create_server(('127.0.0.1', 0))", net=True,
           fails="PermissionError"),
    python("lookup", "import socket; socket.getaddrinfo('localhost', 80, proto=socket.IPPROTO_TCP)", net=True),

    Row("node", 'node "$BUNDLE/all.js" | grep "ok thread child"', needs="node"),
    Row("node_http", "node -e 'require(\"http\").createServer().listen(0, () => process.exit())'", needs="node",
        fails="EPERM"),
    Row("java", 'java -Djava.io.tmpdir="$TMPDIR" "$BUNDLE/Hello.java" | grep hello', needs="java javac"),
    Row("java_zgc", "java -XX:+UseZGC -version", needs="java", fails="Permission denied|memfd|ZGC|could not|failed"),
    Row("java_zgc_exec_rw", "java -XX:+UseZGC -version", needs="java", exec_rw=True),
    Row("go", "go version", needs="go"),

    Row("curl_proxy", 'curl -sS -x "http://127.0.0.1:$PROXY" http://example.test/ | grep "GET http://example.test/"',
        needs="curl", net=True),
    Row("curl_proxy_variable", 'http_proxy="http://127.0.0.1:$PROXY" curl -sS http://example.test/ | grep GET',
        needs="curl", net=True),
    Row("curl_other_port", 'curl -sS -m 5 "http://127.0.0.1:$OTHER/" | grep GET', needs="curl", net=True,
        fails="(?i)failed to connect|couldn't connect|could not connect"),
    Row("curl_no_net", 'curl -sS -m 5 -x "http://127.0.0.1:$PROXY" http://example.test/ | grep GET', needs="curl",
        fails="(?i)failed to|couldn't connect|could not connect|not permitted"),
    python("urllib_proxy", """
import os, urllib.request
proxy = urllib.request.ProxyHandler({"http": "http://127.0.0.1:" + os.environ["PROXY"]})
assert b"GET" in urllib.request.build_opener(proxy).open("http://example.test/").read()""", net=True),
    Row("java_proxy", 'java -Dhttp.proxyHost=127.0.0.1 "-Dhttp.proxyPort=$PROXY" "$BUNDLE/Get.java" | grep GET',
        needs="java javac", net=True),
    Row("node_proxy", "node -e 'require(\"http\").get({ host: \"127.0.0.1\", port: process.env.PROXY, path: \"http://example.test/\" },\n"
        "r => r.on(\"data\", d => console.log(\"\" + d)))' | grep GET", needs="node", net=True),
    Row("git_proxy", 'git -c http.proxy="http://127.0.0.1:$PROXY" ls-remote http://example.test/a 2>&1 | grep -i "not valid\\|not a git\\|not found"',
        needs="git", net=True),
]

RUST_BUILD = """export PATH="%s/bin:$PATH"; cargo -q new --vcs none --offline hello; cd hello
echo 'fn main() {}' >build.rs; cargo -q build --offline"""

if RUST:
    ROWS += [
        Row("cargo_version", f'"{RUST}/bin/cargo" --version', needs=f"{RUST}/bin/cargo", ro=(RUST,)),
        Row("cargo_build", f'export PATH="{RUST}/bin:$PATH"; cargo -q new --vcs none --offline hello; cd hello; cargo -q build --offline; test -x target/debug/hello',
            needs=f"{RUST}/bin/cargo gcc", ro=(RUST,), env={"CARGO_HOME": "."}),
        Row("cargo_build_script", RUST_BUILD % RUST, needs=f"{RUST}/bin/cargo gcc", ro=(RUST,),
            env={"CARGO_HOME": "."}, fails="Permission denied"),
        Row("cargo_build_script_exec_rw", RUST_BUILD % RUST, needs=f"{RUST}/bin/cargo gcc", ro=(RUST,),
            env={"CARGO_HOME": "."}, exec_rw=True),
    ]

BUNDLE = {
    "hello.c": '#include <stdio.h>\nint main(void) { puts("hello"); }\n',
    "spam.c": """#include <Python.h>
static PyObject *answer(PyObject *self, PyObject *args) { return PyLong_FromLong(42); }
static PyMethodDef methods[] = { { "answer", answer, METH_NOARGS, 0 }, { 0 } };
static struct PyModuleDef spam = { PyModuleDef_HEAD_INIT, "spam", 0, -1, methods };
PyMODINIT_FUNC PyInit_spam(void) { return PyModule_Create(&spam); }
""",
    "all.js": """const { fork, execSync } = require("child_process");
const { Worker } = require("worker_threads");
const fs = require("fs");
if (process.send) {
	process.send("child");
} else {
	fs.writeFileSync("a", execSync("echo ok"));
	require("crypto").randomBytes(8);
	new Worker("require('worker_threads').parentPort.postMessage('thread')", { eval: true })
		.on("message", thread => fork(__filename).on("message", child =>
			fs.promises.readFile("a").then(ok => console.log(`${ok}`.trim(), thread, child))));
}
""",
    "Hello.java": """public class Hello {
    public static void main(String[] a) throws Exception {
        Thread t = new Thread(() -> System.out.println("hello")); t.start(); t.join();
        new ProcessBuilder("true").start().waitFor();
        java.nio.file.Files.createTempFile("a", "b");
    }
}
""",
    "Get.java": """public class Get {
    public static void main(String[] a) throws Exception {
        System.out.write(new java.net.URL("http://example.test/").openStream().readAllBytes());
        System.out.flush();
    }
}
""",
}


class Echo(http.server.BaseHTTPRequestHandler):
    """Stands in for the agent's proxy: answers with the request line."""

    def do_GET(self):
        self.send_response(404 if "info/refs" in self.path else 200)
        self.end_headers()
        self.wfile.write(self.requestline.encode() + b"\n")

    def log_message(self, *_):
        pass


def serve():
    server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Echo)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def without(code, output):
    """Why a row is skipped: what it said last, where the sandbox had no part in it."""
    said = [line.strip() for line in output.splitlines() if line.strip()]
    return f"exit {code} without the sandbox" + (f": {said[-1][:100]}" if said else "")


class Run:
    """The rows as one user, in a directory of that user's."""

    def __init__(self, parent, uid, ports):
        self.uid, self.ports = uid, ports
        self.word = "root" if uid == 0 else "user"
        self.dir = os.path.join(parent, self.word)
        self.bundle = os.path.join(parent, "bundle")
        self.sandbox = os.path.join(parent, "oarbank-sandbox")
        os.mkdir(self.dir)
        os.chown(self.dir, uid, uid if uid != os.getuid() else -1)

    def policy(self, row, work):
        return {
            "module": row.name, "ro": [self.bundle, *row.ro], "rw": [work],
            "net": "egress-allowlist" if row.net else "none",
            "proxy_port": self.ports[0] if row.net else None, "broker_socket": None,
            "gpu": False, "exec_rw": row.exec_rw, "kind": "runner", "exe": "/bin/sh",
            "rd": [], "wo": [],
        }

    def attempt(self, row, confined):
        work = os.path.join(self.dir, row.name + ("" if confined else "-control"))
        argv = ["/bin/sh", "-e", "-c", row.script]
        env = {"PATH": PATH, "HOME": work, "TMPDIR": work, "LANG": "C.UTF-8", "LC_ALL": "C.UTF-8",
               "BUNDLE": self.bundle, "PYTHON": PYTHON, "PROXY": str(self.ports[0]),
               "OTHER": str(self.ports[1]), **row.env}
        os.mkdir(work)
        user = {}
        if self.uid != os.getuid():
            os.chown(work, self.uid, self.uid)
            user = {"user": self.uid, "group": self.uid, "extra_groups": []}
        if confined:
            policy = work + ".sb"
            with open(policy, "w") as f:
                json.dump(self.policy(row, work), f)
            argv = [self.sandbox, "sandbox-exec", policy, "--", *argv]
        try:
            done = subprocess.run(argv, cwd=work, env=env, stdin=subprocess.DEVNULL, timeout=60,
                                  stdout=subprocess.PIPE, stderr=subprocess.STDOUT, **user)
        except subprocess.TimeoutExpired as late:
            return 124, (late.output or b"").decode(errors="replace") + "\ntimed out"
        return done.returncode, done.stdout.decode(errors="replace")

    def missing(self, row):
        for program in row.needs.split():
            found = shutil.which(program, path=PATH)
            if not found:
                return f"{program} is not installed"
        for root in row.ro:
            if self.uid != 0 and not readable_by_all(root):
                return f"{root} belongs to another user"
        return None

    def judge(self, row):
        """(ok, skip reason, output)"""
        reason = self.missing(row)
        if reason:
            return True, reason, ""
        if row.fails:
            code, output = self.attempt(row, False)
            if code != 0:
                return True, without(code, output), output
            code, output = self.attempt(row, True)
            good = code != 0 and re.search(row.fails, output)
            return bool(good), None, f"exit {code}: {output}"
        code, output = self.attempt(row, True)
        if code == 0:
            return True, None, ""
        control, other = self.attempt(row, False)
        if control != 0:
            return True, without(control, other), other
        return False, None, f"exit {code}: {output}"


def readable_by_all(path):
    while path != "/":
        if not os.stat(path).st_mode & 0o001:
            return False
        path = os.path.dirname(path)
    return True


def fill_bundle(path):
    os.mkdir(path)
    for name, text in BUNDLE.items():
        with open(os.path.join(path, name), "w") as f:
            f.write(text)
    include = subprocess.run(
        [PYTHON, "-c", "import sysconfig; print(sysconfig.get_path('include'))"],
        capture_output=True, text=True).stdout.strip()
    if shutil.which("gcc"):
        subprocess.run(["gcc", "-shared", "-fPIC", "-I", include, "-o", path + "/spam.so",
                        path + "/spam.c"], stderr=subprocess.DEVNULL)


def main():
    failures = 0
    with tempfile.TemporaryDirectory(prefix="oarbank-programs-") as parent:
        parent = os.path.realpath(parent)
        os.chmod(parent, 0o755)
        shutil.copy(os.path.join(BUILD, "oarbank-sandbox"), parent)
        fill_bundle(os.path.join(parent, "bundle"))
        ports = serve(), serve()
        runs = [Run(parent, os.getuid(), ports)]
        if os.getuid() == 0:
            runs.append(Run(parent, USER, ports))
        only = sys.argv[1:]
        todo = [(run, row) for run in runs for row in ROWS
                if (not only or row.name in only) and (run.uid == 0 or not row.root_only)]
        with concurrent.futures.ThreadPoolExecutor(2) as pool:
            for (run, row), (good, skip, output) in zip(todo, pool.map(lambda t: t[0].judge(t[1]), todo)):
                word = "denied" if row.fails else "works"
                print(f"{'ok' if good else 'not ok'} - {word}_{row.name} ({run.word})"
                      + (f" # SKIP {skip}" if skip else ""), flush=True)
                if not good or (only and output):
                    print("".join(f"# {line}\n" for line in output.splitlines()[-25:]), end="")
                failures += not good
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
