#!/usr/bin/env python3
"""oarbank-egress and the supervisor beside their peers, in one run: ratios, never absolute figures.

usage: bench_egress.py BUILD
A network namespace of its own has public addresses (tests/egress/place.py).
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import time

os.environ["BUILD"] = sys.argv[1] if len(sys.argv) > 1 else "build"
sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "egress"))
from place import BUILD, PUBLIC, Proxy, enter, wait_until  # noqa: E402

enter()
LOAD = os.path.join(BUILD, "bench", "load")
PORT = 9000
TARGET = f"a.example:{PORT}"
ROUNDS = int(os.environ.get("ROUNDS_EGRESS", "5"))
# Not by a name server, which would be measured with the proxies.
with open("/etc/hosts", "a", encoding="ascii") as hosts:
    hosts.write(f"{PUBLIC[0]} a.example\n")
# Tens of thousands of connections in a minute: looking for a port that is free would be measured too.
with open("/proc/sys/net/ipv4/ip_local_port_range", "w", encoding="ascii") as ports:
    ports.write("10000 65000")
with open("/proc/sys/net/ipv4/tcp_max_tw_buckets", "w", encoding="ascii") as buckets:
    buckets.write("1000")


def median(values):
    return sorted(values)[len(values) // 2]


def load(*argv):
    done = subprocess.run([LOAD, *map(str, argv)], capture_output=True, check=False, timeout=120)
    if done.returncode:
        raise RuntimeError(f"load {argv}: {done.stderr.decode()}")
    return [float(word) for word in done.stdout.split()]


def cpu(pids):
    total = 0
    for pid in pids:
        with open(f"/proc/{pid}/stat", encoding="ascii") as f:
            fields = f.read().rsplit(")", 1)[1].split()
        total += sum(int(fields[i]) for i in (11, 12, 13, 14))  # its own, and of its ended children
    return total / os.sysconf("SC_CLK_TCK")


def resident(pid):
    with open(f"/proc/{pid}/smaps_rollup", encoding="ascii") as f:
        for line in f:
            if line.startswith("Pss:"):
                return int(line.split()[1]) * 1024
    return 0


class Peer:
    def __init__(self, name, port, target, pid, process=None):
        self.name, self.port, self.target, self.pid, self.process = name, port, target, pid, process


def listens(port):
    with open("/proc/net/tcp", encoding="ascii") as f:
        return any(line.split()[1].endswith(f":{port:04X}") and line.split()[3] == "0A"
                   for line in f.read().splitlines()[1:])


def peers(proxy, place):
    found = [Peer("oarbank-egress", proxy.port, TARGET, proxy.process.pid)]
    if shutil.which("socat"):
        process = subprocess.Popen(["socat", "-b", "65536", "TCP-LISTEN:9003,fork,reuseaddr,backlog=1024,bind=127.0.0.1",
                                    f"TCP:{PUBLIC[0]}:{PORT}"])
        found.append(Peer("socat", 9003, "-", process.pid, process))
    else:
        print("socat: not installed, not measured")
    if shutil.which("tinyproxy"):
        path = os.path.join(place, "tinyproxy.conf")
        with open(path, "w", encoding="ascii") as f:
            f.write(f"Port 9002\nListen 127.0.0.1\nMaxClients 2000\nTimeout 600\nConnectPort {PORT}\n"
                    f"LogFile \"{place}/tinyproxy.log\"\nLogLevel Critical\n")
        process = subprocess.Popen(["tinyproxy", "-d", "-c", path], stderr=subprocess.DEVNULL)
        found.append(Peer("tinyproxy", 9002, TARGET, process.pid, process))
    else:
        print("tinyproxy: not installed, not measured")
    for peer in found[1:]:
        wait_until(lambda: listens(peer.port), f"{peer.name} does not listen")
    return found


def throughput(all_peers, count, bytes_each):
    wall = {peer.name: [] for peer in all_peers}
    for _ in range(ROUNDS):
        for peer in all_peers:
            wall[peer.name].append(load("get", peer.port, peer.target, count, bytes_each)[0])
    total = count * bytes_each
    first = median(wall[all_peers[0].name])
    print(f"{count} connection{'s' if count > 1 else ''}, {total >> 20} MiB in all")
    for peer in all_peers:
        seconds = median(wall[peer.name])
        print(f"  {peer.name:16} {total / seconds / 1e6:8.0f} MB/s   time as a ratio {seconds / first:5.2f}")


def connections(all_peers, at_once, times):
    print(f"{at_once * times} connections, {at_once} at once, 1 byte each")
    first = None
    for peer in all_peers:
        if peer.name == "socat" and at_once > 512:
            print("  socat            a process each, not measured")
            continue
        try:
            start, before = time.monotonic(), cpu([peer.pid])
            for _ in range(times):
                load("get", peer.port, peer.target, at_once, 1)
            wall, used = time.monotonic() - start, cpu([peer.pid]) - before
        except RuntimeError as why:
            print(f"  {peer.name:16} failed: {why}")
            continue
        first = first or wall
        print(f"  {peer.name:16} {at_once * times / wall:8.0f}/s     time as a ratio {wall / first:5.2f}, "
              f"CPU {used * 1e6 / at_once / times:.0f} us each")


def memory(all_peers, count):
    print(f"memory of {count} connections that are held (proportional set size)")
    for peer in all_peers:
        if peer.name == "socat":
            continue
        before = resident(peer.pid)
        holder = subprocess.Popen([LOAD, "get", str(peer.port), peer.target, str(count), "1", "hold"],
                                  stdin=subprocess.PIPE, stdout=subprocess.PIPE)
        holder.stdout.readline()
        after = resident(peer.pid)
        holder.communicate(b"\n", timeout=30)
        print(f"  {peer.name:16} {(after - before) / count:8.0f} bytes each")


def connects(place):
    """connect(2) in the sandbox, made by the supervisor, and made by the module itself."""
    times = 3000
    policy = os.path.join(place, "policy.json")
    results = {"none": [], "auto": []}
    plain = []
    for _ in range(ROUNDS):
        plain.append(load("connect", PORT + 1, times)[1])
        for how in ("none", "auto"):
            with open(policy, "w", encoding="utf-8") as f:
                json.dump({"module": "m", "net": "egress-allowlist", "proxy_port": PORT + 1, "exe": LOAD,
                           "rw": [place]}, f)
            done = subprocess.run([os.path.join(BUILD, "oarbank-run"), "--policy", policy, "--container", "group",
                                   "--supervise", how, "--", LOAD, "connect", str(PORT + 1), str(times)],
                                  capture_output=True, check=True, timeout=120, cwd=place)
            results[how].append(float(done.stdout.split()[1]))
    base = median(results["none"])
    print(f"connect(2), medians of {times}")
    print(f"  no sandbox       {median(plain):8.0f} ns   {median(plain) / base:5.2f}")
    print(f"  sandbox          {base:8.0f} ns    1.00")
    print(f"  supervised       {median(results['auto']):8.0f} ns   {median(results['auto']) / base:5.2f}")


def main():
    place = tempfile.mkdtemp(prefix="bench-egress-")
    os.chmod(place, 0o755)
    servers = [subprocess.Popen([LOAD, "serve", PUBLIC[0], str(PORT)], stdout=subprocess.PIPE),
               subprocess.Popen([LOAD, "serve", "127.0.0.1", str(PORT + 1)], stdout=subprocess.PIPE)]
    others = []
    try:
        for server in servers:
            server.stdout.readline()
        with Proxy(TARGET, program=os.path.join(BUILD, "oarbank-egress")) as proxy:
            all_peers = peers(proxy, place)
            others = [peer.process for peer in all_peers if peer.process]
            memory(all_peers, 1000)
            throughput(all_peers, 1, 1 << 30)
            throughput(all_peers, 200, 8 << 20)
            connections(all_peers, 200, 10)
            connections(all_peers, 1000, 10)
        connects(place)
    finally:
        for process in [*servers, *others]:
            process.terminate()
            process.wait()
        shutil.rmtree(place)


main()
