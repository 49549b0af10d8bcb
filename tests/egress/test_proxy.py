#!/usr/bin/env python3
"""oarbank-egress from outside: what it connects, what it refuses and how it says so, and that it ends."""
import json
import os
import socket
import struct
import subprocess
import sys
import threading
import time

from place import (BUILD, PUBLIC, PUBLIC6, Names, Proxy, Server, Skip, check, echo, enter, is_readable, read_all,
                   run_tests, tell, test, wait_until)

enter()
names = Names()
names.table.update({
    "a.example": [PUBLIC[0]],
    "deep.sub.b.example": [PUBLIC[0]],
    "silent.example": None,
})
echo_server = Server(echo)
ECHO = f"a.example:{echo_server.port}"


def get(port, host="a.example", more=""):
    return f"GET http://{host}:{port}/x?y HTTP/1.1\r\nHost: other.example\r\n{more}\r\n"


def refused(proxy, head, status, reason, **wanted):
    """The request is refused in one line, and so it is in the log."""
    before = len(proxy.lines())
    answer = proxy.ask(head)
    top, _, body = answer.partition(b"\r\n\r\n")
    fields = dict(line.split(b": ", 1) for line in top.split(b"\r\n")[1:])
    check(top.startswith(f"HTTP/1.1 {status} ".encode()), (head, answer))
    check(fields[b"Connection"] == b"close" and int(fields[b"Content-Length"]) == len(body), answer)
    check(body.count(b"\n") == 1 and body.endswith(b"\n"), answer)
    wait_until(lambda: len(proxy.lines()) == before + 1, proxy.lines())
    line = json.loads(proxy.lines()[-1])
    check((line["status"], line["reason"]) == (status, reason), (head, line))
    check(line["event"] == ("failed" if status in (502, 504) else "refused"), line)
    for key, value in wanted.items():
        check(line[key] == value, (head, line))


@test
def a_tunnel_carries_bytes_both_ways_and_keeps_half_closed():
    with Proxy(ECHO) as proxy:
        with proxy.tunnel(ECHO.upper()) as s:
            for size in (1, 1000, 1000000):
                data = os.urandom(size)
                sender = threading.Thread(target=s.sendall, args=(data,))
                sender.start()
                got = b""
                while len(got) < size:
                    got += s.recv(1 << 20)
                sender.join()
                check(got == data, size)
            s.sendall(b"last")
            s.shutdown(socket.SHUT_WR)
            check(read_all(s) == b"last", "the other half went with the first")
        # Bytes that come in one piece with the head are not lost.
        with proxy.connect() as s:
            s.sendall(f"CONNECT {ECHO} HTTP/1.1\r\n\r\nearly".encode())
            s.shutdown(socket.SHUT_WR)
            check(read_all(s).endswith(b"\r\n\r\nearly"), "early bytes")
        check(proxy.lines() == [], proxy.lines())


@test
def a_server_that_speaks_first_and_ends_first():
    server = Server(tell(b"hello"))
    with Proxy(f"a.example:{server.port}") as proxy, proxy.tunnel(f"a.example:{server.port}") as s:
        check(read_all(s) == b"hello", "not said")
    server.close()


@test
def plain_http_reaches_the_server_in_its_own_form():
    seen = []

    def serve(connection):
        head = b""
        while not head.endswith(b"body"):
            head += connection.recv(65536)
        seen.append(head)
        connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: close\r\n\r\nok")

    server = Server(serve)
    with Proxy(f"a.example:{server.port}") as proxy:
        more = "Proxy-Authorization: Basic c2VjcmV0\r\nProxy-Connection: keep-alive\r\nContent-Length: 4\r\n"
        answer = proxy.ask(get(server.port, more=more) + "body")
        check(answer.endswith(b"\r\n\r\nok"), answer)
        check(seen == [f"GET /x?y HTTP/1.1\r\nHost: a.example:{server.port}\r\nConnection: close\r\n"
                       "Content-Length: 4\r\n\r\nbody".encode()], seen)
    server.close()


@test
def a_request_behind_another_reaches_no_server():
    """A server that keeps the connection would get what is meant for the next, and its cookies."""
    seen = []

    def serve(connection):
        while data := connection.recv(65536):
            seen.append(data)
            if data.endswith((b"\r\n\r\n", b"body")):
                connection.sendall(b"HTTP/1.1 200 OK\r\nContent-Length: 2\r\nConnection: keep-alive\r\n\r\nok")

    server, other = Server(serve), Server(serve, address=PUBLIC[1])
    names.table["o.example"] = [PUBLIC[1]]
    second = get(other.port, "o.example", "Cookie: secret\r\n").encode()
    firsts = [get(server.port), get(server.port, more="Content-Length: 4\r\n") + "body",
              get(server.port, more="Transfer-Encoding: chunked\r\n") + "4\r\nbody\r\n0\r\n\r\n"]
    with Proxy(f"a.example:{server.port}", f"o.example:{other.port}") as proxy:
        for first in firsts:
            for pause in (False, True):
                seen.clear()
                with proxy.connect() as s:
                    s.sendall(first.encode() + (b"" if pause else second))
                    if pause:
                        check(s.recv(1000).endswith(b"ok"), "no answer")
                        s.sendall(second)
                    answers = read_all(s)
                    check(answers.endswith(b"ok") or pause, answers)
                check(b"".join(seen).count(b" HTTP/1.1") == 1 and b"secret" not in b"".join(seen), seen)
        check(other.count == 0, "reached")
        # Chunks that are none: nobody can tell where such a request ends.
        refused(proxy, get(server.port, more="Transfer-Encoding: chunked\r\n") + "4\nbody\r\n0\r\n\r\n", 400, "malformed")
    server.close()
    other.close()


@test
def large_bodies_reach_the_server():
    whole = os.urandom(1 << 20)

    def serve(connection):
        data = b""
        while len(data) < wanted:
            data += connection.recv(1 << 20)
        got.append(data[data.index(b"\r\n\r\n") + 4:])
        connection.sendall(b"HTTP/1.0 200 OK\r\n\r\nok")

    server = Server(serve)
    chunks = b"".join(b"%x\r\n%s\r\n" % (len(part), part) for part in
                      (whole[:1], whole[1:100], whole[100:5000], whole[5000:300000], whole[300000:])) + b"0\r\nT: x\r\n\r\n"
    with Proxy(f"a.example:{server.port}") as proxy:
        for more, body in ((f"Content-Length: {len(whole)}\r\n", whole), ("Transfer-Encoding: chunked\r\n", chunks)):
            head = get(server.port, more=more)
            got = []
            wanted = len(body) + len(f"GET /x?y HTTP/1.1\r\nHost: a.example:{server.port}\r\nConnection: close\r\n{more}\r\n")
            answer = proxy.ask(head.encode() + body)
            check(answer.endswith(b"ok") and got == [body], (answer, more))
    server.close()


@test
def only_what_is_allowed_is_connected():
    with Proxy("a.example", "*.b.example:8443", "a.example:80") as proxy:
        for target in ("c.example:443", "a.example:444", "b.example:8443", "x.b.example:443", "xb.example:8443",
                       "a.example.evil:443", "localhost:443"):
            host, port = target.split(":")
            refused(proxy, f"CONNECT {target} HTTP/1.1\r\n\r\n", 403, "not_allowed", host=host, port=int(port))
        refused(proxy, get(81), 403, "not_allowed", port=81)
        # Allowed, and nobody is there.
        refused(proxy, get(80), 502, "connect", host="a.example", detail="ECONNREFUSED")
        refused(proxy, "CONNECT Deep.Sub.B.Example.:8443 HTTP/1.1\r\n\r\n", 502, "connect",
                host="deep.sub.b.example")
        check([json.loads(line)["number"] for line in proxy.lines()] == list(range(1, 11)), proxy.lines())


@test
def addresses_are_refused_in_every_spelling():
    listener = Server(echo, address="127.0.0.1")
    with Proxy("*.1", "*.0x1", "a.example") as proxy:
        for host in ("127.0.0.1", "127.1", "127.0.1", "2130706433", "0x7f000001", "0x7F.0.0.1", "017700000001",
                     "0177.0.0.01", "127.0.0.0x1", "127.0.0.1.", "127.000.000.001", PUBLIC[0], "[::1]", "[::]",
                     "[::ffff:127.0.0.1]", "[::127.0.0.1]", "[64:ff9b::7f00:1]", "[fe80::1%25lo]", "[fe80::1%lo]",
                     "0", "1.1"):
            refused(proxy, f"CONNECT {host}:{listener.port} HTTP/1.1\r\n\r\n", 403, "address", port=listener.port)
            refused(proxy, f"GET http://{host}:{listener.port}/ HTTP/1.1\r\n\r\n", 403, "address")
        refused(proxy, f"CONNECT ::1:{listener.port} HTTP/1.1\r\n\r\n", 403, "address")
    check(listener.count == 0, "reached")
    listener.close()


@test
def a_name_with_an_answer_that_is_not_public_is_refused():
    listener = Server(echo, address="127.0.0.1")
    private = ["127.0.0.1", "127.0.0.2", "0.0.0.0", "10.1.2.3", "172.16.0.1", "192.168.1.1", "169.254.169.254",
               "100.64.0.1", "192.0.2.1", "198.51.100.1", "203.0.113.1", "198.18.0.1", "224.0.0.1",
               "255.255.255.255", "::1", "::ffff:127.0.0.1", "::ffff:93.184.216.34", "::93.184.216.34",
               "64:ff9b::5db8:d822", "64:ff9b::7f00:1", "2002:7f00:1::", "2001:db8::1", "fe80::1", "fec0::1",
               "fc00::1", "ff02::1", "2001::1"]
    with Proxy(f"n.example:{listener.port}", f"localhost:{listener.port}") as proxy:
        for address in private:
            if ":" in address and not PUBLIC6:
                continue
            for answers in ([address], [PUBLIC[0], address], [address, PUBLIC[0]]):
                names.table["n.example"] = answers
                refused(proxy, get(listener.port, "n.example"), 403, "not_public", host="n.example")
        refused(proxy, f"CONNECT localhost:{listener.port} HTTP/1.1\r\n\r\n", 403, "not_public")
    check(listener.count == 0, "reached")
    listener.close()


@test
def a_name_that_changes_is_connected_where_it_was_checked():
    """Rebinding: public at first, loopback from the second lookup on, or the other way round."""
    outside = Server(tell(b"outside"))
    inside = Server(tell(b"inside"), address="127.0.0.1", port=outside.port)
    target = f"r.example:{outside.port}"
    with Proxy(target) as proxy:
        names.table["r.example"] = lambda times: [PUBLIC[0]] if times == 0 else ["127.0.0.1"]
        with proxy.tunnel(target) as s:
            check(read_all(s) == b"outside", "not where it was checked")
        for _ in range(3):
            refused(proxy, get(outside.port, "r.example"), 403, "not_public")
        names.asked.clear()
        names.table["r.example"] = lambda times: ["127.0.0.1"] if times % 2 else [PUBLIC[0]]
        for _ in range(20):
            answer = proxy.ask(f"CONNECT {target} HTTP/1.1\r\n\r\n")
            check(answer.endswith(b"outside") or answer.startswith(b"HTTP/1.1 403 "), answer)
    check(inside.count == 0, "reached")
    outside.close()
    inside.close()


@test
def the_next_address_is_tried_and_ipv6_works():
    server = Server(tell(b"second"), address=PUBLIC[1])
    names.table["two.example"] = [PUBLIC[0], PUBLIC[1]]
    with Proxy(f"two.example:{server.port}") as proxy, proxy.tunnel(f"two.example:{server.port}") as s:
        check(read_all(s) == b"second", "the second address")
    server.close()
    if not PUBLIC6:
        raise Skip("no IPv6 here")
    server = Server(tell(b"six"), address=PUBLIC6[0])
    names.table["six.example"] = [PUBLIC6[0]]
    with Proxy(f"six.example:{server.port}") as proxy, proxy.tunnel(f"six.example:{server.port}") as s:
        check(read_all(s) == b"six", "IPv6")
    server.close()


@test
def what_is_no_request_for_it_is_refused():
    with Proxy(ECHO) as proxy:
        for head in ("GET / HTTP/1.1\r\nHost: a.example\r\n\r\n", "GET https://a.example/ HTTP/1.1\r\n\r\n",
                     "OPTIONS * HTTP/1.1\r\n\r\n"):
            refused(proxy, head, 403, "method")
        for head in ("\r\n\r\n", "CONNECT a.example:443\r\n\r\n", f"CONNECT {ECHO} HTTP/1.1\n\n",
                     f"CONNECT {ECHO} HTTP/1.1\r\n folded\r\n\r\n", f"CONNECT u:secret@{ECHO} HTTP/1.1\r\n\r\n",
                     f"GET http://u:secret@{ECHO}/ HTTP/1.1\r\n\r\n", "CONNECT a.example:x HTTP/1.1\r\n\r\n",
                     "CONNECT a.example:99999 HTTP/1.1\r\n\r\n", "\x16\x03\x01\x02\x00\x01\x00\r\n\r\n",
                     "GET http://a.example/\0 HTTP/1.1\r\n\r\n"):
            refused(proxy, head, 400, "malformed")
        with open(proxy.log, encoding="utf-8") as f:
            check("secret" not in f.read(), "a secret in the log")


@test
def limits_on_the_head():
    with Proxy(ECHO, options=("--head-bytes", "1000", "--head-timeout", "1")) as proxy:
        fitting = f"CONNECT {ECHO} HTTP/1.1\r\nX: "
        fitting += "x" * (1000 - len(fitting) - 4) + "\r\n\r\n"
        with proxy.connect() as s:
            s.sendall(fitting.encode())
            check(s.recv(12) == b"HTTP/1.1 200", "a head that just fits")
        refused(proxy, fitting.replace("X: ", "X: x"), 431, "head_size")
        refused(proxy, "X" * 100000, 431, "head_size")
        start = time.monotonic()
        with proxy.connect() as s:
            for byte in b"CONNECT a.example:443 HTTP/1.1\r\n":  # one that never ends its head
                s.sendall(bytes([byte]))
                if is_readable(s, 0.05):
                    break
            check(read_all(s).startswith(b"HTTP/1.1 408 "), "408")
        check(0.9 < time.monotonic() - start < 5, "the head's time")
        with proxy.connect() as s:  # and one that says nothing
            check(read_all(s).startswith(b"HTTP/1.1 408 "), "408")


@test
def limits_on_time():
    full = socket.socket()
    full.bind((PUBLIC[0], 0))
    full.listen(0)
    port = full.getsockname()[1]
    waiting = []
    for _ in range(8):  # until nothing more is accepted
        s = socket.socket()
        s.setblocking(False)
        s.connect_ex((PUBLIC[0], port))
        waiting.append(s)
    options = ("--connect-timeout", "1", "--idle-timeout", "1")
    with Proxy(ECHO, f"a.example:{port}", "silent.example:80", "no.example:80", options=options) as proxy:
        refused(proxy, get(port), 504, "connect_time", host="a.example", port=port)
        refused(proxy, get(80, "silent.example"), 504, "lookup_time", host="silent.example")
        refused(proxy, get(80, "no.example"), 502, "lookup", host="no.example")
        with proxy.tunnel(ECHO) as s:
            start = time.monotonic()
            for _ in range(4):  # every byte counts
                time.sleep(0.4)
                s.sendall(b"x")
                check(s.recv(1) == b"x", "still there")
            try:
                check(s.recv(1) == b"", "more than was sent")
            except ConnectionResetError:
                pass
            check(2.4 < time.monotonic() - start < 8, "the idle time")
    for s in [*waiting, full]:
        s.close()


@test
def limits_on_connections():
    with Proxy(ECHO, options=("--max-connections", "3")) as proxy:
        held = [proxy.tunnel(ECHO) for _ in range(3)]
        refused(proxy, f"CONNECT {ECHO} HTTP/1.1\r\n\r\n", 503, "connections")
        held.pop().close()

        def one_more():
            with proxy.connect() as s:
                s.sendall(f"CONNECT {ECHO} HTTP/1.1\r\n\r\n".encode())
                return s.recv(12) == b"HTTP/1.1 200"

        wait_until(one_more, "no place is free again")
        for s in held:
            s.close()


@test
def a_process_of_another_user_is_refused():
    if os.geteuid() != 0 or open("/proc/self/uid_map", encoding="ascii").read().split()[2] == "1":
        raise Skip("needs a second user")
    with Proxy(ECHO) as proxy:
        pid = os.fork()
        if pid == 0:
            os.setgid(65534)
            os.setuid(65534)
            answer = proxy.ask(f"CONNECT {ECHO} HTTP/1.1\r\n\r\n")
            os._exit(0 if answer.startswith(b"HTTP/1.1 403 ") else 1)
        check(os.waitpid(pid, 0)[1] == 0, "a stranger was served")
        check(json.loads(proxy.lines()[0])["reason"] == "stranger", proxy.lines())
        proxy.tunnel(ECHO).close()


def as_user(user, function):
    """Run it in a process of that user's."""
    pid = os.fork()
    if pid == 0:
        if user is not None:
            os.setgid(user)
            os.setuid(user)
        function()
        os._exit(0)
    check(os.waitpid(pid, 0)[1] == 0, "the client failed")


def send_and_close(proxy, data, count=500):
    for _ in range(count):
        with socket.socket() as s:
            s.connect(("127.0.0.1", proxy.port))
            s.sendall(data)


@test
def a_client_that_is_gone_is_no_stranger_and_no_strangers_request_is_served():
    """Of a socket that nobody has any more the kernel says that it is root's."""
    users = [None]
    if os.geteuid() == 0 and open("/proc/self/uid_map", encoding="ascii").read().split()[2] != "1":
        users.append(65534)
    seen = []
    server = Server(lambda connection: seen.append(connection.recv(1000)))
    target = f"a.example:{server.port}"
    for user in users:
        with Proxy(target, user=user) as proxy:
            as_user(user, lambda: send_and_close(proxy, b""))
            check(proxy.lines() == [], proxy.lines()[:3])
            # What it asked for in vain is still counted.
            as_user(user, lambda: send_and_close(proxy, b"CONNECT c.example:443 HTTP/1.1\r\n\r\n", 100))
            wait_until(lambda: len(proxy.lines()) == 100, len(proxy.lines()))
            check({json.loads(line)["reason"] for line in proxy.lines()} == {"not_allowed"}, proxy.lines()[:3])
    seen.clear()
    if len(users) > 1:
        with Proxy(target) as proxy:
            as_user(users[1], lambda: send_and_close(proxy, get(server.port).encode()))
            proxy.tunnel(target).close()
            check(b"GET" not in b"".join(seen), "a stranger's request was carried out")
    server.close()


@test
def a_reset_is_passed_on_in_both_directions():
    def reset(s):
        s.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, struct.pack("ii", 1, 0))
        s.close()

    seen = []

    def serve(connection):
        try:
            if connection.recv(10) == b"reset":
                reset(connection)
            else:
                seen.append(connection.recv(10))
        except ConnectionResetError:
            seen.append("reset")

    server = Server(serve)
    target = f"a.example:{server.port}"
    with Proxy(target) as proxy:
        with proxy.tunnel(target) as s:
            s.sendall(b"reset")
            try:
                check(s.recv(10) is None, "no reset came")
            except ConnectionResetError:
                pass
        s = proxy.tunnel(target)
        s.sendall(b"mine")
        time.sleep(0.1)
        reset(s)
        wait_until(lambda: seen == ["reset"], seen)
        wait_until(lambda: proxy.descriptors() < 20, "descriptors are left")
    server.close()


@test
def slow_sides_hold_nobody_else_up():
    """Receivers that do not read, with more on its way than the pipes hold; then they read it all."""
    data = os.urandom(1 << 16) * 64
    server = Server(tell(data))
    target = f"a.example:{server.port}"
    with Proxy(target, ECHO) as proxy:
        before = proxy.descriptors()
        slow = [proxy.tunnel(target) for _ in range(20)]
        with proxy.tunnel(ECHO) as s:
            s.sendall(b"quick")
            check(s.recv(5) == b"quick", "held up")
        for s in slow:
            check(read_all(s) == data, "bytes were lost")
            s.close()
        wait_until(lambda: proxy.descriptors() <= before + 64, "descriptors are left")
    server.close()


@test
def many_at_once():
    with Proxy(ECHO) as proxy:
        for _ in range(2):
            held = [proxy.tunnel(ECHO) for _ in range(200)]
            for i, s in enumerate(held):
                s.sendall(b"%04d" % i)
            for i, s in enumerate(held):
                check(s.recv(4) == b"%04d" % i, i)
                s.close()
        wait_until(lambda: proxy.descriptors() < 200, "descriptors are left")
        check(proxy.lines() == [], proxy.lines())


@test
def it_ends_when_it_is_told_to():
    with Proxy(ECHO, options=("--stop-grace", "10")) as proxy:
        s = proxy.tunnel(ECHO)
        waiting = proxy.connect()
        proxy.process.terminate()
        check(is_readable(waiting, 5), "a client without a request is kept")
        s.sendall(b"still relayed")
        check(s.recv(20) == b"still relayed", "no grace")
        try:
            socket.create_connection(("127.0.0.1", proxy.port), 5)
            raise AssertionError("still listening")
        except ConnectionRefusedError:
            pass
        s.close()
        proxy.ended()
        end = json.loads(proxy.lines()[-1])
        check(end == {"event": "end", "connections": 2, "served": 1, "refused": 0, "failed": 0, "unlogged": 0}, end)
    with Proxy(ECHO, options=("--stop-grace", "1")) as proxy, proxy.tunnel(ECHO) as s:
        proxy.stop()
    with Proxy(ECHO, options=("--stop-grace", "60")) as proxy, proxy.tunnel(ECHO) as s:
        proxy.process.terminate()
        check(not is_readable(s, 0.2), "no grace")
        proxy.stop()
    with Proxy("silent.example:80") as proxy, proxy.connect() as s:  # with a lookup in the air
        s.sendall(get(80, "silent.example").encode())
        time.sleep(0.2)
        start = time.monotonic()
        proxy.stop()
        check(time.monotonic() - start < 1, "waited for a name server")


@test
def it_ends_with_its_parent():
    ours, its = socket.socketpair()
    with Proxy(ECHO, options=("--control-fd", str(its.fileno())), pass_fds=(its.fileno(),)) as proxy:
        its.close()
        s = proxy.tunnel(ECHO)
        ours.close()
        proxy.ended()
        s.close()


@test
def a_proxy_that_is_killed_leaves_no_client_waiting():
    with Proxy(ECHO) as proxy:
        held = [proxy.tunnel(ECHO) for _ in range(50)]
        proxy.process.kill()
        proxy.process.wait()
        for s in held:
            check(is_readable(s, 5), "left waiting")
            s.close()


@test
def a_log_that_nobody_reads_holds_nothing_up():
    reading, writing = os.pipe()
    with Proxy(ECHO, options=("--log", f"/proc/self/fd/{writing}"), pass_fds=(writing,)) as proxy:
        for _ in range(1000):  # more than a pipe holds
            check(proxy.ask("CONNECT c.example:443 HTTP/1.1\r\n\r\n").startswith(b"HTTP/1.1 403 "), "not answered")
    os.close(writing)
    with open(reading, "rb") as f:
        lines = f.read().splitlines()
    check(100 < len(lines) < 1000 and all(json.loads(line) for line in lines), len(lines))


@test
def wrong_usage_is_told():
    program = os.path.join(BUILD, "dev", "oarbank-egress")
    for args in ([], ["--allow"], ["--allow", "1.2.3.4"], ["--allow", "a b"], ["--port", "65536", "--allow", "a"],
                 ["--no-such"], ["--allow-file", "/no/such/file"], ["--allow", "a", "--head-timeout", "0"],
                 ["--allow", "a", "more"]):
        done = subprocess.run([program, *args], capture_output=True, timeout=20)
        err = done.stderr.decode()
        check(done.returncode == 64 and err.startswith("oarbank-egress: ") and err.count("\n") == 1, (args, err))
        check(done.stdout == b"", args)
    done = subprocess.run([program, "--help"], capture_output=True, timeout=20)
    check(done.returncode == 0 and b"--allow-file" in done.stdout, done)


sys.exit(run_tests())
