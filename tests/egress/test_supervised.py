#!/usr/bin/env python3
"""oarbank-run with its own proxy and supervisor: real clients get through to real servers, and nothing gets
anywhere else; each denial has a control without the sandbox."""
import ctypes
import functools
import http.server
import json
import os
import shutil
import signal
import socket
import ssl
import subprocess
import sys
import tempfile
import threading

from place import (BUILD, PUBLIC, PUBLIC6, SECONDS, Names, Server, Skip, check, echo, enter, run_tests, tell, test,
                   wait_until)

enter()
names = Names()
names.table["a.example"] = [PUBLIC[0]]
home = tempfile.mkdtemp(prefix="supervised-")
work = os.path.join(home, "work")
os.mkdir(work)
PYTHON = os.path.realpath("/usr/bin/python3")


def landlock_abi():
    return ctypes.CDLL(None).syscall(444, None, 0, 1)


def start(*argv, allow=(), options=(), stdout=subprocess.PIPE, **policy):
    whole = {"module": "m", "rw": [work], "net": "egress-allowlist" if allow else "none", "exe": argv[0]}
    whole.update(policy)
    fd, path = tempfile.mkstemp(dir=home)
    with os.fdopen(fd, "w", encoding="utf-8") as f:
        json.dump(whole, f)
    command = [os.path.join(BUILD, "oarbank-run"), "--policy", path, "--container", "group",
               "--egress-log", path + ".log", *options]
    for entry in allow:
        command += ["--egress-allow", entry]
    env = {"PATH": "/usr/bin:/bin", "HOME": work, "TMPDIR": work, "LANG": "C.UTF-8"}
    process = subprocess.Popen([*command, "--", *argv], cwd=work, env=env, stdin=subprocess.DEVNULL, stdout=stdout,
                               stderr=subprocess.STDOUT)
    process.log = path + ".log"
    return process


def run(*argv, **kwargs):
    """Returns the exit code, what was printed, and the lines of the proxy's log but the last."""
    process = start(*argv, **kwargs)
    out = process.communicate(timeout=90)[0].decode(errors="replace")
    lines = []
    if os.path.exists(process.log):
        with open(process.log, encoding="utf-8") as f:
            lines = [json.loads(line) for line in f.read().splitlines()][:-1]
    return process.returncode, out, lines


def script(text, name="script.py"):
    path = os.path.join(work, name)
    with open(path, "w", encoding="utf-8") as f:
        f.write(text)
    return path


def find(program):
    path = shutil.which(program, path="/usr/bin:/bin:/usr/local/go/bin")
    return path and os.path.realpath(path)


def needs(program):
    path = find(program)
    if not path:
        raise Skip(f"{program} is not installed")
    return path


class Web:
    """An HTTP server of files in `work`/www, and another with TLS; both on the public address."""

    def __init__(self):
        self.root = os.path.join(home, "www")
        os.mkdir(self.root)
        with open(os.path.join(self.root, "hello"), "w", encoding="ascii") as f:
            f.write("hello from outside\n")
        handler = functools.partial(Quiet, directory=self.root)
        self.plain = http.server.ThreadingHTTPServer((PUBLIC[0], 0), handler)
        self.secure = http.server.ThreadingHTTPServer((PUBLIC[0], 0), handler)
        key, self.certificate = os.path.join(home, "key"), os.path.join(home, "certificate")
        made = subprocess.run(["openssl", "req", "-x509", "-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:P-256",
                               "-nodes", "-keyout", key, "-out", self.certificate, "-days", "2", "-subj",
                               "/CN=a.example", "-addext", "subjectAltName=DNS:a.example"],
                              capture_output=True, check=False) if shutil.which("openssl") else None
        self.tls = bool(made) and made.returncode == 0
        if self.tls:
            context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
            context.load_cert_chain(self.certificate, key)
            self.secure.socket = context.wrap_socket(self.secure.socket, server_side=True)
            shutil.copy(self.certificate, os.path.join(work, "certificate"))
        for server in (self.plain, self.secure):
            threading.Thread(target=server.serve_forever, daemon=True).start()
        self.http = f"http://a.example:{self.plain.server_port}"
        self.https = f"https://a.example:{self.secure.server_port}"
        self.allow = [f"a.example:{self.plain.server_port}", f"a.example:{self.secure.server_port}"]


class Quiet(http.server.SimpleHTTPRequestHandler):
    def log_message(self, format, *args):
        pass


web = Web()


def gets_hello(*argv, count=1, **kwargs):
    code, out, lines = run(*argv, allow=web.allow, **kwargs)
    check(code == 0 and out.count("hello from outside") == count, (code, out))
    check(lines == [], lines)


# ---- real clients ----

@test
def curl_by_http_and_https():
    curl = needs("curl")
    gets_hello(curl, "-sS", f"{web.http}/hello")
    if web.tls:
        gets_hello(curl, "-sS", "--cacert", os.path.join(work, "certificate"), f"{web.https}/hello")
    gets_hello(curl, "-sS", "-p", f"{web.http}/hello", f"{web.http}/hello", count=2)
    code, out, lines = run(curl, "-sS", "-o", "/dev/null", "-w", "%{http_code}", "http://b.example/",
                           allow=web.allow)
    check(code == 0 and out == "403", (code, out))
    check([line["host"] for line in lines] == ["b.example"], lines)


@test
def python_urllib_and_asyncio():
    gets_hello(PYTHON, script(f"""
import urllib.request
print(urllib.request.urlopen("{web.http}/hello", timeout=20).read().decode())
"""))
    if web.tls:
        gets_hello(PYTHON, script(f"""
import ssl, urllib.request
context = ssl.create_default_context(cafile="certificate")
print(urllib.request.urlopen("{web.https}/hello", timeout=20, context=context).read().decode())
"""))
    gets_hello(PYTHON, script(f"""
import asyncio, os
async def one():
    port = int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1])
    reader, writer = await asyncio.wait_for(asyncio.open_connection("127.0.0.1", port), 20)
    writer.write(b"GET {web.http}/hello HTTP/1.0\\r\\n\\r\\n")
    print((await reader.read()).decode())
    writer.close()
async def main():
    await asyncio.gather(*(one() for _ in range(20)))
asyncio.run(main())
"""), count=20)


@test
def node_through_the_proxy():
    gets_hello(needs("node"), script(f"""
const http = require("http");
const proxy = new URL(process.env.HTTP_PROXY);
http.get({{host: proxy.hostname, port: proxy.port, path: "{web.http}/hello"}},
         (answer) => answer.pipe(process.stdout));
const tunnel = http.request({{host: proxy.hostname, port: proxy.port, method: "CONNECT",
                              path: "{web.allow[0]}"}});
tunnel.on("connect", (answer, socket) => {{
    http.get({{createConnection: () => socket, path: "/hello"}}, (more) => more.pipe(process.stdout));
}});
tunnel.end();
""", "fetch.js"), count=2)


@test
def node_fetch_through_the_proxy():
    # fetch itself knows of no proxy before Node 24: its own agent is given tunnels.
    gets_hello(needs("node"), script(f"""
const http = require("http");
const proxy = new URL(process.env.HTTP_PROXY);
function connect(to, done) {{
    const tunnel = http.request({{host: proxy.hostname, port: proxy.port, method: "CONNECT",
                                  path: to.hostname + ":" + to.port}});
    tunnel.on("connect", (answer, socket) => done(null, socket));
    tunnel.on("error", done);
    tunnel.end();
}}
async function main() {{
    await fetch("data:,");
    const Agent = globalThis[Symbol.for("undici.globalDispatcher.1")].constructor;
    const answer = await fetch("{web.http}/hello", {{dispatcher: new Agent({{connect}})}});
    process.stdout.write(await answer.text());
    process.exit();
}}
main();
""", "fetch.js"))


@test
def node_fetch_cannot_go_around_it():
    code, out, _ = run(needs("node"), script(f"""
fetch("http://127.0.0.2:" + new URL(process.env.HTTP_PROXY).port + "/").then(
    () => console.log("reached"), (why) => console.log(why.cause.code));
""", "fetch.js"), allow=web.allow)
    check(code == 0 and out.strip() == "EACCES", (code, out))


@test
def a_jvm_client():
    java, javac = needs("java"), needs("javac")
    source = script(f"""
import java.net.*;
import java.net.http.*;
public class Fetch {{
    public static void main(String[] args) throws Exception {{
        URI proxy = URI.create(System.getenv("HTTP_PROXY"));
        InetSocketAddress at = new InetSocketAddress(proxy.getHost(), proxy.getPort());
        HttpClient client = HttpClient.newBuilder().proxy(ProxySelector.of(at)).build();
        HttpRequest request = HttpRequest.newBuilder(URI.create("{web.http}/hello")).build();
        System.out.print(client.send(request, HttpResponse.BodyHandlers.ofString()).body());
        URLConnection old = new URL("{web.http}/hello").openConnection(new Proxy(Proxy.Type.HTTP, at));
        System.out.print(new String(old.getInputStream().readAllBytes()));
    }}
}}
""", "Fetch.java")
    subprocess.run([javac, "-d", work, source], check=True, timeout=60)
    gets_hello(java, "-XX:+UseSerialGC", "-XX:TieredStopAtLevel=1", "-cp", work, "Fetch", count=2,
               ro=[os.path.dirname(os.path.dirname(java))])


@test
def git_over_http():
    git = needs("git")
    source, bare = os.path.join(home, "source"), os.path.join(web.root, "repo.git")
    quiet = {"check": True, "capture_output": True, "timeout": 30,
             "env": {"PATH": "/usr/bin:/bin", "HOME": home, "GIT_CONFIG_NOSYSTEM": "1"}}
    subprocess.run([git, "init", "-q", source], **quiet)
    with open(os.path.join(source, "file"), "w", encoding="ascii") as f:
        f.write("from git\n")
    subprocess.run([git, "-C", source, "add", "file"], **quiet)
    subprocess.run([git, "-C", source, "-c", "user.name=n", "-c", "user.email=e", "commit", "-qm", "c"], **quiet)
    subprocess.run([git, "clone", "-q", "--bare", source, bare], **quiet)
    subprocess.run([git, "-C", bare, "update-server-info"], **quiet)
    code, out, lines = run(git, "clone", "-q", f"{web.http}/repo.git", os.path.join(work, "clone"), allow=web.allow)
    check(code == 0 and lines == [], (code, out, lines))
    with open(os.path.join(work, "clone", "file"), encoding="ascii") as f:
        check(f.read() == "from git\n", "another file")


def build_go(source, program):
    go, gccgo = find("go"), find("gccgo")
    if not go and not gccgo:
        raise Skip("neither go nor gccgo is installed")
    command = [go, "build", "-o", program, source] if go else [gccgo, "-static-libgo", "-o", program, source]
    subprocess.run(command, check=True, timeout=80, capture_output=True,
                   env={"PATH": "/usr/bin:/bin", "HOME": home, "GOCACHE": os.path.join(home, "go"),
                        "GO111MODULE": "off", "CGO_ENABLED": "0"})


@test
def a_go_client():
    source = script(f"""
package main
import ("fmt"; "io"; "net/http")
func main() {{
    for i := 0; i < 3; i++ {{
        answer, err := http.Get("{web.http}/hello")
        if err != nil {{ panic(err) }}
        body, _ := io.ReadAll(answer.Body)
        fmt.Print(string(body))
    }}
}}
""", "fetch.go")
    program = os.path.join(home, "fetch")
    build_go(source, program)
    gets_hello(program, count=3)


# ---- nowhere else ----

ATTEMPTS = """
import errno, os, socket, sys
import json
for family, address in json.loads(sys.argv[1]):
    address = tuple(address) if isinstance(address, list) else address
    with socket.socket(getattr(socket, family), socket.SOCK_STREAM) as s:
        s.settimeout(10)
        try:
            s.connect(address)
            print("reached")
        except OSError as e:
            print(errno.errorcode.get(e.errno, e))
"""


def attempts(targets, **kwargs):
    """What each attempt came to: without the sandbox, and in it."""
    path = script(ATTEMPTS, "attempts.py")
    control = subprocess.run([PYTHON, path, json.dumps(targets)], capture_output=True, timeout=60).stdout.decode()
    code, out, _ = run(PYTHON, path, json.dumps(targets), **kwargs)
    check(code == 0, out)
    return control.split(), out.split()


@test
def the_proxys_port_elsewhere():
    """attacks.md: "the right port on the wrong address"."""
    addresses = ["127.0.0.2", "127.255.255.254", PUBLIC[1], PUBLIC[2]]
    addresses6 = ["::1", "::ffff:127.0.0.2", *PUBLIC6] if PUBLIC6 else ["::ffff:127.0.0.2"]
    # The policy's own port, so that others can listen on it before the proxy is there.
    taken = Server(echo, address=addresses[0])
    port = taken.port
    servers = [taken] + [Server(echo, address=a, port=port) for a in addresses[1:]]
    servers += [Server(echo, address=a, port=port) for a in addresses6 if not a.startswith("::ffff")]
    proxy = Server(echo, address="127.0.0.1", port=port)
    targets = [["AF_INET", [a, port]] for a in addresses] + [["AF_INET6", [a, port, 0, 0]] for a in addresses6]
    control, inside = attempts(targets, net="egress-allowlist", proxy_port=port)
    check(control == ["reached"] * len(targets), control)
    check(inside == ["EACCES"] * len(targets), inside)
    targets = [["AF_INET", ["127.0.0.1", port]], ["AF_INET6", ["::ffff:127.0.0.1", port, 0, 0]]]
    control, inside = attempts(targets, net="egress-allowlist", proxy_port=port)
    check(control == inside == ["reached", "reached"], (control, inside))
    for server in [*servers, proxy]:
        server.close()


@test
def other_unix_sockets_once_the_broker_is_granted():
    """attacks.md: "other unix sockets once the broker is granted", also by a link at the broker's path."""
    outside = tempfile.mkdtemp(prefix="sockets-")
    sockets = {}
    for name in ("broker", "other", os.path.join(work, "mine")):
        path = os.path.join(outside, name)
        s = socket.socket(socket.AF_UNIX)
        s.bind(path)
        s.listen(16)
        sockets[name] = s
    broker, other = os.path.join(outside, "broker"), os.path.join(outside, "other")
    targets = [["AF_UNIX", other], ["AF_UNIX", os.path.join(work, "mine")], ["AF_UNIX", broker]]
    control, inside = attempts(targets, broker_socket=broker)
    check(control == ["reached"] * 3, control)
    check(inside == ["EACCES", "EACCES", "reached"], inside)
    os.unlink(broker)
    os.symlink(other, broker)
    path = script(ATTEMPTS, "attempts.py")
    code, out, _ = run(PYTHON, path, json.dumps([["AF_UNIX", broker]]), broker_socket=broker)
    check("reached" not in out, (code, out))
    for s in sockets.values():
        s.close()
    shutil.rmtree(outside)
    os.unlink(os.path.join(work, "mine"))


@test
def a_broker_client():
    path = os.path.join(home, "b")
    s = socket.socket(socket.AF_UNIX)
    s.bind(path)
    s.listen(16)

    def serve():
        while True:
            try:
                connection, _ = s.accept()
            except OSError:
                return
            with connection, connection.makefile("rb") as f:
                request = json.loads(f.readline())
                connection.sendall(json.dumps({"ok": True, "op": request["op"]}).encode() + b"\n")

    threading.Thread(target=serve, daemon=True).start()
    code, out, _ = run(PYTHON, script(f"""
import json, socket
for _ in range(10):
    with socket.socket(socket.AF_UNIX) as s:
        s.settimeout(20)
        s.connect("{path}")
        s.sendall(json.dumps({{"op": "status"}}).encode() + b"\\n")
        print(json.loads(s.makefile().readline())["op"])
"""), broker_socket=path)
    s.shutdown(socket.SHUT_RDWR)
    s.close()
    os.unlink(path)
    check(code == 0 and out.split() == ["status"] * 10, (code, out))


@test
def a_name_that_is_loopback_the_second_time():
    inside = Server(tell(b"inside"), address="127.0.0.1")
    names.table["r.example"] = lambda times: [PUBLIC[0]] if times == 0 else ["127.0.0.1"]

    def serve(connection):
        connection.recv(65536)  # closed with bytes unread, it would be reset
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\noutside\n")

    listener = Server(serve, port=inside.port)
    url = f"http://r.example:{inside.port}/"
    code, out, lines = run(needs("curl"), "-sS", url, "-o", "-", url, allow=[f"r.example:{inside.port}"])
    check(code == 0 and out.startswith("outside") and "non-public" in out, (code, out))
    check([line["reason"] for line in lines] == ["not_public"], lines)
    check(inside.count == 0, "reached")
    inside.close()
    listener.close()


@test
def without_a_supervisor_the_other_addresses_are_open():
    """What the supervisor is for: Landlock knows the port alone."""
    if landlock_abi() < 4:
        raise Skip("Landlock has no rules for ports here")
    server = Server(echo, address="127.0.0.2")
    targets = [["AF_INET", ["127.0.0.2", server.port]]]
    _, inside = attempts(targets, net="egress-allowlist", proxy_port=server.port, options=("--supervise", "none"))
    check(inside == ["reached"], inside)
    _, inside = attempts(targets, net="egress-allowlist", proxy_port=server.port)
    check(inside == ["EACCES"], inside)
    server.close()


# ---- metadata ----

@test
def metadata_outside_is_not_changed():
    """attacks.md: "metadata of the user's own files outside"."""
    outside, mine = os.path.join(home, "outside"), os.path.join(work, "mine")
    for path in (outside, mine):
        with open(path, "w", encoding="ascii"):
            pass
        os.chmod(path, 0o600)
    path = script("""
import os, sys
for path in sys.argv[1:]:
    for what, change in (("chmod", lambda: os.chmod(path, 0o604)),
                         ("chown", lambda: os.chown(path, os.geteuid(), os.getegid())),
                         ("utime", lambda: os.utime(path, (1, 1)))):
        try:
            change()
            print("changed")
        except OSError as e:
            print(type(e).__name__)
""")
    code, out, _ = run(PYTHON, path, mine, outside, options=("--supervise", "metadata"))
    check(code == 0 and out.split() == ["changed"] * 3 + ["PermissionError"] * 3, (code, out))
    check(os.stat(mine).st_mode & 0o777 == 0o604 and os.stat(mine).st_mtime == 1, "not changed")
    check(os.stat(outside).st_mode & 0o777 == 0o600 and os.stat(outside).st_mtime > 1, "changed")
    code, out, _ = run(PYTHON, path, outside)  # the control
    check(code == 0 and out.split() == ["changed"] * 3, (code, out))


@test
def programs_under_supervised_metadata():
    code, out, _ = run("/bin/sh", "-ec", """
        mkdir -p d/e; echo x >d/e/f; chmod 750 d/e/f; touch -d 2001-01-01 d/e/f
        cp -a d copy; test "$(stat -c %a.%Y copy/e/f)" = "$(stat -c %a.%Y d/e/f)"
        tar cf d.tar d; mkdir x; tar xf d.tar -C x --no-same-owner; test -x x/d/e/f
        python3 -c 'import shutil, tempfile, os; shutil.copytree("d", "y"); shutil.copy2("d/e/f", "z")
with tempfile.TemporaryDirectory() as t: os.chmod(t, 0o700)'
        install -m 700 d/e/f i; mv i j; test "$(stat -c %a j)" = 700
        rm -r d copy x y z j d.tar
        echo done""", options=("--supervise", "metadata"))
    check(code == 0 and out.strip().endswith("done"), (code, out))


# ---- the end ----

def children_of(pid):
    try:
        with open(f"/proc/{pid}/task/{pid}/children", encoding="ascii") as f:
            return [int(child) for child in f.read().split()]
    except FileNotFoundError:
        return []


def is_running(pid):
    try:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            return f.read().rsplit(")", 1)[1].split()[0] != "Z"
    except FileNotFoundError:
        return False


@test
def a_proxy_that_is_killed_in_the_middle():
    process = start(PYTHON, script("""
import os, socket, sys
port = int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1])
s = socket.create_connection(("127.0.0.1", port))
print("connected", flush=True)
try:
    s.recv(1)
except ConnectionResetError:
    pass
try:
    while True:  # the listener may be the last that the kernel closes
        socket.create_connection(("127.0.0.1", port)).close()
except OSError as e:
    print(type(e).__name__, flush=True)
"""), allow=web.allow)
    check(process.stdout.readline() == b"connected\n", "not connected")
    os.kill(proxy_of(process), signal.SIGKILL)
    out = process.communicate(timeout=SECONDS)[0].decode()
    check(out.startswith("ConnectionRefusedError") and process.returncode == 0, (process.returncode, out))
    check("the proxy did not end well" in out, out)


def proxy_of(process):
    proxies = [pid for pid in children_of(process.pid)
               if os.readlink(f"/proc/{pid}/exe").endswith("oarbank-egress")]
    check(len(proxies) == 1, proxies)
    return proxies[0]


@test
def whoever_gets_the_port_of_a_proxy_that_has_ended_is_not_reached():
    process = start(PYTHON, script("""
import os, socket, time
port = int(os.environ["HTTP_PROXY"].rsplit(":", 1)[1])
print(port, flush=True)
while not os.path.exists("another"):
    time.sleep(0.01)
for _ in range(100):
    try:
        socket.create_connection(("127.0.0.1", port))
        print("reached")
    except ConnectionRefusedError:
        pass
print("done")
"""), allow=web.allow)
    port = int(process.stdout.readline())
    proxy = proxy_of(process)
    os.kill(proxy, signal.SIGKILL)
    wait_until(lambda: not is_running(proxy), "the proxy is there")
    another = Server(echo, address="127.0.0.1", port=port)
    socket.create_connection(("127.0.0.1", port), SECONDS).close()  # the control
    with open(os.path.join(work, "another"), "w", encoding="ascii"):
        pass
    out = process.communicate(timeout=SECONDS)[0].decode()
    os.unlink(os.path.join(work, "another"))
    another.close()
    check(process.returncode == 0 and out.startswith("done"), (process.returncode, out))
    check(another.count == 1, another.count)


@test
def a_proxy_that_is_stopped_does_not_keep_the_run():
    process = start(PYTHON, "-c", "import time; print('up', flush=True); time.sleep(60)", allow=web.allow)
    check(process.stdout.readline() == b"up\n", "not started")
    os.kill(proxy_of(process), signal.SIGSTOP)
    process.send_signal(signal.SIGTERM)
    out = process.communicate(timeout=SECONDS)[0].decode()
    check("the proxy did not end well" in out, out)


@test
def a_run_that_is_killed_leaves_nothing():
    process = start(PYTHON, "-c", "import time; print('up', flush=True); time.sleep(60)", allow=web.allow)
    check(process.stdout.readline() == b"up\n", "not started")
    below = children_of(process.pid)
    below += [grandchild for child in below for grandchild in children_of(child)]
    check(len(below) >= 3, below)
    process.kill()
    process.wait()
    wait_until(lambda: not any(is_running(pid) for pid in below), "something is left")
    process.stdout.close()


@test
def a_proxy_that_cannot_be_had_is_no_run():
    code, out, _ = run(PYTHON, "-c", "print('ran')", allow=["a.example"], options=("--egress-allow-file", "/no/file"))
    check(code == 70 and "ran" not in out and "the proxy did not start" in out, (code, out))
    code, out, _ = run(PYTHON, "-c", "print('ran')", allow=["a.example"], net="none")
    check(code == 70 and "ran" not in out and "egress-allowlist" in out, (code, out))
    code, out, _ = run(PYTHON, "-c", "print('ran')", options=("--egress-allow", "1.2.3.4"))
    check(code == 64 and "ran" not in out, (code, out))


if landlock_abi() < 3:
    print(f"ok - supervised runs # SKIP Landlock ABI {landlock_abi()} here, 3 is needed")
    sys.exit(0)
try:
    result = run_tests()
finally:
    shutil.rmtree(home)
sys.exit(result)
