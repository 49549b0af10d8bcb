#!/usr/bin/env python3
"""What other programs read of us, read by those programs: promtool, node_exporter, Ansible; and what
node-feature-discovery accepts, by its rules."""
import json
import os
import re
import shutil
import socket
import subprocess
import sys
import tempfile
import time
import urllib.request

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
PROBE = os.path.join(BUILD, "oarbank-probe")
TREE = os.path.join(TOP, "tests", "fake", "trees", "systemd-user")
EXAMPLES = os.path.join(TOP, "docs", "examples")
MODULES = os.path.join(TOP, "tests", "golden", "modules")
bad = 0


def say(ok, name, *more):
    global bad
    bad += not ok
    print(("ok - " if ok else "not ok - ") + name)
    if not ok:
        for line in more:
            print("#", str(line)[:400])


def skip(name, why):
    print(f"ok - {name} # SKIP {why}")


def run(*args, **more):
    return subprocess.run(args, capture_output=True, timeout=60, **more)


def recipe(unit, dir):
    """The command of an example unit, as systemd would start it, in `dir`."""
    text = open(os.path.join(EXAMPLES, unit)).read()
    command = re.search(r"^ExecStart=/bin/sh -ec '(.*)'$", text, re.M).group(1)
    env = dict(os.environ, PATH=os.path.dirname(PROBE) + ":/usr/bin:/bin")
    return run("/bin/sh", "-ec", command, cwd=dir, env=env)


def openmetrics(dir):
    r = run(PROBE, "--format", "openmetrics", "--root", TREE, "--module", MODULES + "/gpu.toml", "--module", MODULES + "/egress-any.toml")
    text = r.stdout.decode()
    say(r.returncode == 0 and text.endswith("# EOF\n"), "metrics end as OpenMetrics wants it")
    doc = json.loads(run(PROBE, "--json", "--root", TREE).stdout)
    values = {"enforced": "2", "cooperative": "1", "unavailable": "0"}
    wrong = [c["name"] for c in doc["capabilities"]
             if f'oarbank_capability_status{{capability="{c["name"]}"}} {values[c["status"]]}\n' not in text]
    say(not wrong, "every capability has its number", wrong)
    say(text.count("oarbank_finding{") == len(doc["findings"]), "every finding has a line")
    say(re.search(r'oarbank_module_runs\{module="train".*\} 1\n', text) and re.search(r'oarbank_module_runs\{.*code="CAPABILITY_NOT_ENFORCED"\} 0\n', text),
        "a module runs or does not", text[-900:])
    if shutil.which("promtool"):
        for name, args in (("of this node", []), ("of a recorded one", ["--root", TREE, "--module", MODULES + "/gpu.toml"])):
            metrics = run(PROBE, "--format", "openmetrics", *args).stdout
            r = run("promtool", "check", "metrics", input=metrics)
            say(r.returncode == 0 and not r.stdout + r.stderr, f"promtool finds nothing to say about the metrics {name}", r.stdout, r.stderr)
        r = run("promtool", "check", "metrics", input=text.replace("# TYPE", "# TYP", 1).replace("} 2", "} two", 1).encode())
        say(r.returncode != 0, "and it does about broken ones")
    else:
        skip("promtool", "no promtool here (.ci/tools fetches it)")
    r = recipe("oarbank-metrics.service", dir)
    say(r.returncode == 0 and os.listdir(dir) == ["oarbank.prom"], "the unit for the textfile collector leaves one file", r.stderr, os.listdir(dir))


def odd(dir):
    """Of a machine that says what is no UTF-8, and a module with a long name."""
    tree = os.path.join(dir, "tree")
    shutil.copytree(TREE, tree)
    with open(tree + "/etc/os-release", "ab") as f:
        f.write(b'VERSION_ID="13 \xff\xc3\xa9 \xe2\x82"\nID="d\xfen"\n')
    manifest = os.path.join(dir, "long.toml")
    name = "-.".join(["long"] * 12)
    open(manifest, "w").write(f'name = "{name}"\n[requires]\nplatforms = ["linux-amd64"]\n')
    r = run(PROBE, "--format", "openmetrics", "--root", tree, "--module", manifest)
    text = r.stdout.decode(errors="replace")
    say(text.encode() == r.stdout and 'os_version="13 \ufffd\xe9 \ufffd\ufffd"' in text and 'os="d\ufffdn"' in text,
        "metrics are UTF-8 whatever the machine says", text[:400].encode())
    if shutil.which("promtool"):
        r = run("promtool", "check", "metrics", input=r.stdout)
        say(r.returncode == 0 and not r.stdout + r.stderr, "and promtool finds nothing to say", r.stdout, r.stderr)
    lines = run(PROBE, "--format", "nfd", "--root", tree, "--module", manifest).stdout.decode().splitlines()
    label = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    wrong = [l for l in lines if not re.fullmatch(rf"{label}=({label})?", l)]
    say([l for l in lines if l.startswith("oarbank-module.long-")] and not wrong, "a long name is cut to a label", *wrong)


def unknown(dir):
    """What could not be found out is no "no", and no 0."""
    tree = os.path.join(dir, "tree")
    shutil.copytree(TREE.replace("systemd-user", "two-gpus"), tree)
    calls = open(tree + "/kernel.calls").read()
    open(tree + "/kernel.calls", "w").write(re.sub(r"^(access|open) /dev/nvidia0 .*\n", "", calls, flags=re.M))
    page = run(PROBE, "--root", tree).stdout.decode()
    text = run(PROBE, "--format", "openmetrics", "--root", tree).stdout.decode()
    say("? NVIDIA /dev/nvidia0" in page and "✗ AMD" in page and "not known whether it can be opened" in " ".join(page.split()),
        "a GPU that was not tried is marked as such", page[-1500:])
    say("oarbank_gpus_usable 0\n" in text and "oarbank_gpus_unknown 1\n" in text, "and counted as such", text[-900:])
    bare = os.path.join(dir, "bare")
    os.makedirs(bare + "/proc")
    text = run(PROBE, "--format", "openmetrics", "--root", bare).stdout.decode() + run(PROBE, "--format", "nfd", "--root", bare).stdout.decode()
    say("oarbank_sandbox_backend 0" in text and "landlock_abi" not in text and "landlock-abi" not in text,
        "an ABI that is unknown is not 0", text[:600])


def scrape(dir):
    exporter = shutil.which("prometheus-node-exporter")
    if not exporter:
        return skip("node_exporter", "not here (.ci/tools fetches it)")
    with socket.socket() as s:
        s.bind(("127.0.0.1", 0))
        address = "127.0.0.1:%d" % s.getsockname()[1]
    process = subprocess.Popen([exporter, "--collector.disable-defaults", "--collector.textfile", "--collector.textfile.directory=" + dir,
                                "--web.listen-address=" + address], stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
    text = ""
    try:
        for _ in range(100):
            try:
                text = urllib.request.urlopen(f"http://{address}/metrics", timeout=5).read().decode()
                break
            except OSError:
                time.sleep(0.1)
    finally:
        process.terminate()
        process.wait(10)
    say('oarbank_capability_status{capability="filesystem"}' in text and "node_textfile_scrape_error 0" in text,
        "node_exporter serves what the recipe wrote", text[-300:])


def features(dir):
    r = recipe("oarbank-features.service", dir)
    say(r.returncode == 0 and os.listdir(dir) == ["oarbank"], "the unit for node-feature-discovery leaves one file", r.stderr)
    text = open(os.path.join(dir, "oarbank")).read()
    lines = text.splitlines()
    name = r"[A-Za-z0-9]([-A-Za-z0-9_.]{0,61}[A-Za-z0-9])?"
    wrong = [l for l in lines if not re.fullmatch(rf"{name}=({name})?", l)]
    say(lines and not wrong, "every line is a label Kubernetes accepts", *wrong)
    say(len({l.split('=')[0] for l in lines}) == len(lines), "each once")
    text = run(PROBE, "--format", "nfd", "--root", TREE, "--module", MODULES + "/gpu.toml").stdout.decode()
    say("oarbank-capability.ipc=enforced\n" in text and "oarbank-module.train=true\n" in text and "oarbank-landlock-abi=6\n" in text,
        "capabilities and modules are labels", text)


def ansible(dir):
    if not shutil.which("ansible"):
        return skip("Ansible", "not here (.ci/deps ci installs it)")
    shutil.copy(os.path.join(EXAMPLES, "oarbank.fact"), dir)
    env = dict(os.environ, PATH=os.path.dirname(PROBE) + ":" + os.environ["PATH"], HOME=dir, ANSIBLE_LOCAL_TEMP=dir, ANSIBLE_REMOTE_TEMP=dir)
    r = run("ansible", "localhost", "-c", "local", "-i", "localhost,", "-m", "setup", "-a", f"filter=ansible_local fact_path={dir}",
            "-e", "ansible_python_interpreter=auto_silent", env=env)
    text = r.stdout.decode()
    facts = json.loads(text[text.index("{"):])["ansible_facts"]["ansible_local"]["oarbank"] if "{" in text else {}
    say(facts.get("facts") == 2 and "enforcement" in facts.get("sandbox", {}), "Ansible has the report as a local fact", r.returncode, text[:300], r.stderr)


def main():
    dir = tempfile.mkdtemp()
    try:
        for name in ("metrics", "features", "ansible", "odd", "unknown"):
            os.mkdir(os.path.join(dir, name))
        openmetrics(os.path.join(dir, "metrics"))
        odd(os.path.join(dir, "odd"))
        unknown(os.path.join(dir, "unknown"))
        scrape(os.path.join(dir, "metrics"))
        features(os.path.join(dir, "features"))
        ansible(os.path.join(dir, "ansible"))
    finally:
        shutil.rmtree(dir)
    return 1 if bad else 0


sys.exit(main())
