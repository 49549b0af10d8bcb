#!/usr/bin/env python3
"""The tables a person edits: what is read, and what is refused by line."""
import os
import tempfile

from tap import TOP, main, raises, same

from harness import matrix, rows

HEAD = "capabilities\ta b c\nabi>=4\tEEE\nabi>=0\t---\n"
ROW = "x\tamd64\tdebian:s/p\tlsm=a b\tuser=root module=m1 module=m2\t-\t6\tEC-\ta.b=1\n"


def parsed(change=None, to=""):
    text = HEAD + ROW
    if change:
        assert change in text
        text = text.replace(change, to)
    return rows.parse(text)


def test_a_row_is_read():
    row = parsed().rows[0]
    same((row.name, row.arch, row.boot, row.limit, row.abi), ("x", "amd64", "lsm=a b", None, 6))
    same(row.status, {"a": "enforced", "b": "cooperative", "c": "unavailable"})
    same(row.machine, {"user": "root", "module": ["m1", "m2"]})
    same(row.expect, {"a.b": "1"})


def test_tabs_may_align_and_comments_are_skipped():
    same(parsed("x\tamd64", "# why\n\nx\t\t\tamd64").rows[0].name, "x")


def test_states_instead_of_an_abi():
    same(parsed("\t6\t", "\toff-at-boot\t").rows[0].abi, "off-at-boot")
    raises(rows.TableError, "ABI 'six'", parsed, "\t6\t", "\tsix\t")
    raises(rows.TableError, "ABI '0'", parsed, "\t6\t", "\t0\t")


def test_refusals_name_file_and_line():
    raises(rows.TableError, "rows.tsv:4", parsed, "EC-", "EC")
    raises(rows.TableError, "2 statuses for 3", parsed, "EC-", "EC")
    raises(rows.TableError, "status 'X'", parsed, "EC-", "ECX")
    raises(rows.TableError, "8 columns", parsed, "\ta.b=1", "")
    raises(rows.TableError, "architecture", parsed, "amd64", "vax")
    raises(rows.TableError, "source", parsed, "debian:s/p", "ftp:x")
    raises(rows.TableError, "unknown machine word 'colour'", parsed, "user=root", "colour=red")
    raises(rows.TableError, "user='me'", parsed, "user=root", "user=me")
    raises(rows.TableError, "user twice", parsed, "user=root", "user=root user=user")
    raises(rows.TableError, "not key=value", parsed, "a.b=1", "a.b")
    raises(rows.TableError, "limit '9'", parsed, "\t-\t6", "\t9\t6")
    raises(rows.TableError, "name", parsed, "x\tamd64", "a/b\tamd64")
    raises(rows.TableError, "twice", rows.parse, HEAD + ROW + ROW)
    raises(rows.TableError, "before the line", rows.parse, ROW)


def test_mistakes_that_would_be_silent():
    for source in ("debian:suite", "debian:/x", "url:http://h/x", "url:http://h/x#sha256=12"):
        raises(rows.TableError, f"source '{source}'", parsed, "debian:s/p", source)
    raises(rows.TableError, "a.b twice", parsed, "a.b=1", "a.b=1 a.b=2")
    raises(rows.TableError, "mem='0'", parsed, "user=root", "mem=0")
    raises(rows.TableError, "rows.tsv:2: a second line", rows.parse, "capabilities\ta\ncapabilities\tb\n")
    raises(rows.TableError, "the name of each, once", rows.parse, "capabilities\ta a\n")
    raises(rows.TableError, "the name of each, once", rows.parse, "capabilities\n")
    raises(rows.TableError, "abi>=3 twice", rows.parse, "capabilities\ta\nabi>=3\tE\nabi>=3\tE\n")
    raises(rows.TableError, "run 'report' twice", rows.parse_runs, RUNS + RUNS)
    raises(rows.TableError, "cannot be a run's name", rows.parse_runs, RUNS.replace("report\t", "../report\t", 1))
    raises(rows.TableError, "more than one word", rows.parse_runs, RUNS.replace("module=m1", "module=m1 user=root"))
    table = parsed("user=root", "only=report,repotr")
    raises(rows.TableError, "rows.tsv:4: only=repotr: runs.tsv has no such run", rows.check_together, table, rows.parse_runs(RUNS))


def test_a_table_that_is_no_text():
    with tempfile.TemporaryDirectory() as directory:
        path = os.path.join(directory, "rows.tsv")
        raises(rows.TableError, f"{path}: No such file", rows.read, path)
        with open(path, "wb") as f:
            f.write(b"capabilities\ta\n\xe4\n")
        raises(rows.TableError, f"{path}:2: byte 0xe4", rows.read, path)


def test_what_an_abi_is_entitled_to():
    table = parsed()
    same(set(table.entitled_to(9).values()), {"enforced"})
    same(set(table.entitled_to(4).values()), {"enforced"})
    same(set(table.entitled_to(3).values()), {"unavailable"})
    same(set(table.entitled_to("off-at-boot").values()), {"unavailable"})


RUNS = "report\trow\treport\t20\t-\t-\t/build/p --json\nlaunch\tboth\tlaunch\t10\tmodule=m1\t/src/a /bin/b\t/build/s x\n"


def test_runs_are_read():
    report, launch = rows.parse_runs(RUNS)
    same((report.who, report.kind, report.seconds, report.command), ("row", "report", 20, ["/build/p", "--json"]))
    same((launch.when, launch.files), ("module=m1", ["/src/a", "/bin/b"]))
    raises(rows.TableError, "kind 'song'", rows.parse_runs, RUNS.replace("\treport\t20", "\tsong\t20"))
    raises(rows.TableError, "number of seconds", rows.parse_runs, RUNS.replace("20", "soon"))
    raises(rows.TableError, "row root user both", rows.parse_runs, RUNS.replace("both", "all"))
    raises(rows.TableError, "7 needed", rows.parse_runs, "report\trow\n")
    raises(rows.TableError, "unknown machine word", rows.parse_runs, RUNS.replace("module=m1", "colour=red"))


def test_runs_of_a_row():
    runs = rows.parse_runs(RUNS)
    same([(r.name, r.who) for r in matrix.expand(runs, parsed().rows[0])],
         [("report", "root"), ("launch-root", "root"), ("launch-user", "user")])
    plain = parsed("user=root module=m1 module=m2", "-").rows[0]
    same([(r.name, r.who) for r in matrix.expand(runs, plain)], [("report", "user")])
    systemd = parsed("user=root module=m1", "pid1=systemd module=m1").rows[0]
    same([r.name for r in matrix.expand(runs, systemd)], ["report", "launch-user"])


def test_rows_that_take_long_begin_first():
    machine = "user=root module=m1 module=m2"
    wanted = [parsed(machine, "pid1=systemd"), parsed(), parsed(machine, "-"), parsed(f"{machine}\t-\t6", "-\t-\tnot-built")]
    wanted = [table.rows[0] for table in wanted]
    same(sorted(reversed(wanted), key=matrix.length, reverse=True), wanted)


def test_the_row_file_for_init():
    row = parsed("user=root module=m1 module=m2", "cgroup=hybrid sysctl=kernel/x:2 wrap=docker").rows[0]
    text = matrix.row_file(row, matrix.expand(rows.parse_runs(RUNS), row), [("/m.ko", "abi=3")])
    same(text.splitlines(), [
        "cgroup\thybrid", "module\t/m.ko\tabi=3", "sysctl\tkernel/x\t2",
        "run\treport\t0\t20\t/oarbank/contain\tdocker\t1000\t/build/p\t--json",
    ])


def test_the_tables_of_this_project():
    here = os.path.join(TOP, "vm-tests")
    with open(os.path.join(here, "rows.tsv"), encoding="utf-8") as f:
        table = rows.parse(f.read())
    with open(os.path.join(here, "runs.tsv"), encoding="utf-8") as f:
        runs = rows.parse_runs(f.read())
    assert len(table.rows) >= 20 and len(runs) >= 2
    # A kernel that answers as an ABI is entitled to what a genuine one is; control groups are another matter.
    for row in table.rows:
        if row.has("cgroup") or row.has("wrap"):
            continue
        same((row.name, row.status), (row.name, table.entitled_to(row.abi)))


main(globals())
