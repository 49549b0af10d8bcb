"""A network of the test's own: public addresses that are really here, and a name server that says what
the test wants. The programs under test are those that are installed; nothing in them knows of tests.

enter() puts this process into new network and mount namespaces, as root or, where users may have them,
as a user; or says why it cannot.
"""
import ctypes
import fcntl
import os
import select
import shutil
import signal
import socket
import struct
import subprocess
import sys
import tempfile
import threading
import time
import traceback

BUILD = os.path.abspath(os.environ.get("BUILD", "build"))
# Any addresses out there will do; in the namespace they are ours.
PUBLIC = ["93.184.216.34", "93.184.216.35", "8.8.4.4"]
PUBLIC6 = ["2606:2800:220:1::1"]
MARK = "OARBANK_TEST_NAMESPACE"
SECONDS = 20

tests = []
failed = False


def test(function):
    tests.append(function)
    return function


class Skip(Exception):
    pass


def check(condition, what):
    assert condition, what


def run_tests():
    """Returns the exit code."""
    global failed
    for function in tests:
        try:
            function()
            print(f"ok - {function.__name__}")
        except Skip as why:
            print(f"ok - {function.__name__} # SKIP {why}")
        except Exception:  # every failure is a line of its own
            failed = True
            print(f"not ok - {function.__name__}")
            for line in traceback.format_exc().splitlines():
                print(f"# {line}")
        sys.stdout.flush()
    return int(failed)


# ---- the namespace ----

def enter():
    """Only the copy of this program inside the namespaces returns."""
    if os.environ.get(MARK):
        furnish()
        return
    how = ["unshare", "-n", "-m"] if os.geteuid() == 0 else ["unshare", "-U", "-r", "-n", "-m"]
    if not shutil.which("unshare") or subprocess.run([*how, "true"], stderr=subprocess.DEVNULL).returncode:
        print(f"ok - {os.path.basename(sys.argv[0])} # SKIP no network namespace can be had here")
        sys.exit(0)
    os.environ[MARK] = "1"
    os.execvp(how[0], [*how, "--kill-child", "--fork", sys.executable, *sys.argv])


def add_addresses():
    with socket.socket(socket.AF_INET, socket.SOCK_DGRAM) as s:
        fcntl.ioctl(s, 0x8914, struct.pack("16sH14x", b"lo", 0x49))  # SIOCSIFFLAGS: up, running
        for i, address in enumerate(PUBLIC):
            name = f"lo:{i}".encode()
            fcntl.ioctl(s, 0x8916, struct.pack("16sHH4s8x", name, socket.AF_INET, 0, socket.inet_aton(address)))
            fcntl.ioctl(s, 0x891c, struct.pack("16sHH4s8x", name, socket.AF_INET, 0, b"\xff" * 4))
    try:
        with socket.socket(socket.AF_INET6, socket.SOCK_DGRAM) as s:
            for address in PUBLIC6:
                fcntl.ioctl(s, 0x8916, struct.pack("=16sIi", socket.inet_pton(socket.AF_INET6, address), 128, 1))
    except OSError:
        PUBLIC6.clear()


def furnish():
    libc = ctypes.CDLL(None, use_errno=True)
    place = tempfile.mkdtemp(prefix="egress-")

    def mount(source, target, kind, flags):
        if libc.mount(source.encode(), target.encode(), kind, flags, None):
            raise OSError(ctypes.get_errno(), target)

    mount("none", "/", None, 0x4000 | 0x40000)  # MS_REC | MS_PRIVATE
    files = {"resolv.conf": "nameserver 127.0.0.1\noptions timeout:1 attempts:2\n",
             "hosts": "127.0.0.1 localhost\n",
             "nsswitch.conf": "hosts: files dns\n"}
    for name, text in files.items():
        target = os.path.realpath(f"/etc/{name}")
        with open(os.path.join(place, name), "w", encoding="ascii") as f:
            f.write(text)
        if os.path.exists(target):
            mount(os.path.join(place, name), target, None, 0x1000)  # MS_BIND
    shutil.rmtree(place)
    add_addresses()


# ---- a name server ----

class Names:
    """Answers from `table`: a name has a list of addresses; or a function of how often it was asked for
    IPv4 addresses, from 0, that returns one; None is silence. Other names do not exist."""

    def __init__(self):
        self.table = {}
        self.asked = {}
        self.socket = socket.socket(socket.AF_INET, socket.SOCK_DGRAM)
        self.socket.bind(("127.0.0.1", 53))
        threading.Thread(target=self.serve, daemon=True).start()

    def answers(self, name, kind):
        found = self.table.get(name, [])
        if callable(found):
            times = self.asked.get(name, 0)
            if kind == 1:
                self.asked[name] = times + 1
            found = found(times)
        if found is None:
            return None
        family = socket.AF_INET if kind == 1 else socket.AF_INET6
        packed = []
        for address in found:
            try:
                packed.append(socket.inet_pton(family, address))
            except OSError:
                pass
        return packed if kind in (1, 28) else []

    def serve(self):
        while True:
            data, peer = self.socket.recvfrom(512)
            labels, at = [], 12
            while data[at]:
                labels.append(data[at + 1:at + 1 + data[at]])
                at += 1 + data[at]
            name = b".".join(labels).decode().lower()
            kind = struct.unpack("!H", data[at + 1:at + 3])[0]
            found = self.answers(name, kind)
            if found is None:
                continue
            code = 0 if name in self.table else 3
            head = data[:2] + struct.pack("!HHHHH", 0x8180 | code, 1, len(found), 0, 0)
            body = data[12:at + 5]
            for address in found:
                body += b"\xc0\x0c" + struct.pack("!HHIH", kind, 1, 0, len(address)) + address
            self.socket.sendto(head + body, peer)


# ---- servers ----

class Server:
    """Each connection to `address` is handled by `serve(connection)`, in a thread."""

    def __init__(self, serve, address=PUBLIC[0], port=0, backlog=512):
        family = socket.AF_INET6 if ":" in address else socket.AF_INET
        self.socket = socket.socket(family, socket.SOCK_STREAM)
        self.socket.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        self.socket.bind((address, port))
        self.socket.listen(backlog)
        self.port = self.socket.getsockname()[1]
        self.count = 0
        self.serve = serve
        threading.Thread(target=self.take, daemon=True).start()

    def take(self):
        while True:
            try:
                connection, _ = self.socket.accept()
            except OSError:
                return
            connection.settimeout(SECONDS)
            self.count += 1
            threading.Thread(target=self.one, args=(connection,), daemon=True).start()

    def one(self, connection):
        with connection:
            try:
                self.serve(connection)
            except OSError:
                pass

    def close(self):
        # Wakes the thread that waits in accept.
        self.socket.shutdown(socket.SHUT_RDWR)
        self.socket.close()


def echo(connection):
    while data := connection.recv(65536):
        connection.sendall(data)
    connection.shutdown(socket.SHUT_WR)


def tell(text):
    """A server that says `text` to everyone."""
    return lambda connection: connection.sendall(text)


# ---- the proxy ----

class Proxy:
    def __init__(self, *allow, options=(), program=None, prepare=None, pass_fds=(), user=None):
        self.place = tempfile.mkdtemp(prefix="egress-")
        if user is not None:
            program = shutil.copy(os.path.join(BUILD, "dev", "oarbank-egress"), self.place)
            os.chown(self.place, user, user)
        self.log = os.path.join(self.place, "log")
        argv = [program or os.path.join(BUILD, "dev", "oarbank-egress"), "--log", self.log, *options]
        for entry in allow:
            argv += ["--allow", entry]
        self.process = subprocess.Popen(argv, stdout=subprocess.PIPE, stderr=subprocess.PIPE, preexec_fn=prepare,
                                        pass_fds=pass_fds, user=user, group=user)
        line = self.process.stdout.readline().decode()
        check(line.startswith("http://127.0.0.1:"), (line, self.process.poll()))
        self.url = line.strip()
        self.port = int(self.url.rsplit(":", 1)[1])

    def __enter__(self):
        return self

    def __exit__(self, *exception):
        try:
            if self.process.poll() is None:
                self.stop()
        finally:
            self.process.kill()
            self.process.wait()
            shutil.rmtree(self.place)

    def stop(self, number=signal.SIGTERM):
        """End it; it must end well, and have nothing to say."""
        self.process.send_signal(number)
        self.ended()

    def ended(self):
        code = self.process.wait(SECONDS)
        err = self.process.stderr.read().decode()
        check(code == 0 and err == "", f"the proxy ended with {code}: {err}")

    def connect(self):
        s = socket.create_connection(("127.0.0.1", self.port), SECONDS)
        s.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        return s

    def ask(self, head):
        """Send a request and return everything that comes back."""
        with self.connect() as s:
            s.sendall(head.encode("latin-1") if isinstance(head, str) else head)
            return read_all(s)

    def tunnel(self, target):
        s = self.connect()
        s.sendall(f"CONNECT {target} HTTP/1.1\r\nHost: {target}\r\n\r\n".encode())
        answer = b""
        while not answer.endswith(b"\r\n\r\n"):
            data = s.recv(1)
            if not data:
                break
            answer += data
        check(answer == b"HTTP/1.1 200 Connection established\r\n\r\n", answer)
        return s

    def lines(self):
        with open(self.log, encoding="utf-8") as f:
            return f.read().splitlines()

    def descriptors(self):
        return len(os.listdir(f"/proc/{self.process.pid}/fd"))


def read_all(s):
    data = b""
    while more := s.recv(65536):
        data += more
    return data


def wait_until(condition, what):
    end = time.monotonic() + SECONDS
    while not condition():
        check(time.monotonic() < end, what)
        time.sleep(0.01)


def is_readable(s, seconds):
    return bool(select.select([s], [], [], seconds)[0])
