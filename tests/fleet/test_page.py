#!/usr/bin/env python3
"""The audit's page in a headless Chromium: a filter is clicked, and a picture taken.

tests/fleet/test_page.py PICTURE writes the picture the README shows.
"""
import os
import shutil
import subprocess
import sys
import tempfile

HERE = os.path.dirname(os.path.abspath(__file__))
TOP = os.path.dirname(os.path.dirname(HERE))
BUILD = os.path.join(TOP, os.environ.get("BUILD", "build"))
PROBE = os.path.join(BUILD, "oarbank-probe")
sys.path.insert(0, HERE)
import browser  # noqa: E402

bad = 0


def say(ok, name, *more):
    global bad
    bad += not ok
    print(("ok - " if ok else "not ok - ") + name)
    if not ok:
        print("#", *more)


def look(b, dir, picture):
    page = os.path.join(dir, "fleet.html")
    fleet = subprocess.run([sys.executable, os.path.join(HERE, "make_fleet.py"), "480", PROBE, "0", *(["recorded"] if picture else [])], capture_output=True, check=True).stdout
    modules = os.path.join(TOP, "tests", "golden", "modules")
    subprocess.run([PROBE, "audit", "--html", page, "--module", modules + "/gpu.toml", "--module", modules + "/egress.toml"],
                   input=fleet, check=True, stdout=subprocess.DEVNULL)
    count = "document.getElementById('count').textContent"
    rows = "document.querySelectorAll('tr.profile').length"
    b.open(page)
    say(b.run(count) == "480 nodes", "the page counts its nodes", b.run(count))
    everything = b.run(rows)
    b.click('button[data-capability="ipc"]')
    only = b.run(count)
    say(only.endswith(" of 480 nodes") and b.run(rows) < everything, "a click on a capability filters", only)
    say(b.run("[...document.querySelectorAll('tr.profile')].every(r => r.cells[5].textContent === '✓')"), "every row left enforces it")
    b.click('button[data-capability="ipc"]')
    other = b.run(count)
    say(int(only.split()[0]) + int(other.split()[0]) == 480, "the second click shows the others", only, other)
    b.click("tr.profile")
    say(b.run("document.querySelectorAll('tr.more dd').length") > 0, "a row opens and says why not")
    shot = os.path.join(dir, "page.png")
    b.picture(shot)
    data = open(shot, "rb").read()
    say(data.startswith(b"\x89PNG") and len(data) > 20000, "a picture is taken", len(data))
    b.click("#reset")
    say(b.run(count) == "480 nodes", "show all shows all")
    b.run("""(() => { const e = document.getElementById('name'); e.value = 'NODE-00001'; e.dispatchEvent(new Event('input')); })()""")
    say(b.run(count) == "10 of 480 nodes", "a name filters", b.run(count))
    b.click("#reset")
    b.run("""(() => { const e = document.getElementById('module'); e.value = '0:not'; e.dispatchEvent(new Event('change')); })()""")
    say(b.run(rows) > 0 and b.run(rows) < everything, "a module filters")
    b.click("#reset")
    say(not b.trouble(), "the page asks for nothing and complains of nothing", *b.trouble())
    if picture:
        b.picture(picture)


def main():
    if not browser.find():
        print("ok - the page in a browser # SKIP no chromium here (.ci/deps ci installs one)")
        return 0
    dir = tempfile.mkdtemp()
    try:
        b = browser.Browser(1210, 760)
        try:
            look(b, dir, sys.argv[1] if len(sys.argv) > 1 else None)
        finally:
            b.close()
    finally:
        shutil.rmtree(dir)
    return 1 if bad else 0


sys.exit(main())
