"""What people and machines read of a run: progress, the matrix, JUnit."""
import collections
import html
import os
import sys
import threading
import time
import xml.etree.ElementTree as xml

from .compare import found_abi, statuses
from .rows import LETTER

PROBLEMS_SHOWN = 12


class Progress:
    """Rows as they come: live lines on a terminal, one plain line for each finished row elsewhere."""

    def __init__(self, total, out=sys.stderr, live=None):
        self._out = out
        self._live = out.isatty() and not os.environ.get("NO_COLOR") if live is None else live
        self._lock = threading.Lock()
        self._running = {}
        self._drawn = 0
        self._total, self._finished, self._bad = total, 0, 0

    def _erase(self):
        if self._drawn:
            self._out.write(f"\033[{self._drawn}A\033[J")
        self._drawn = 0

    def _draw(self):
        if not self._live:
            self._out.flush()
            return
        now = time.monotonic()
        for name, (word, since) in self._running.items():
            self._out.write(f"  … {name:<22.22} {word:<20.20} {now - since:5.1f} s\n")
        self._out.write(f"  {self._finished} of {self._total} rows, {self._bad} bad\n")
        self._drawn = len(self._running) + 1
        self._out.flush()

    def say(self, text):
        with self._lock:
            self._erase()
            self._out.write(f"vm: {text}\n")
            self._draw()

    def state(self, name, word):
        with self._lock:
            _, since = self._running.get(name, (None, time.monotonic()))
            self._running[name] = (word, since)
            if self._live:
                self._erase()
                self._draw()

    def finish(self, name, verdict):
        with self._lock:
            self._running.pop(name, None)
            self._finished += 1
            self._bad += not verdict.good
            self._erase()
            self._out.write(row_line(name, verdict) + "\n")
            for line in shortened(verdict.problems):
                self._out.write(f"       {line}\n")
            for line in verdict.lines:
                self._out.write(f"       | {line}\n")
            self._draw()

    def close(self):
        with self._lock:
            self._erase()
            self._out.flush()


def shortened(problems):
    """The first of them; the rest as a number. All are in the row's directory and in junit.xml."""
    if len(problems) <= PROBLEMS_SHOWN + 1:
        return problems
    return problems[:PROBLEMS_SHOWN] + [f"… and {len(problems) - PROBLEMS_SHOWN} more"]


def row_line(name, verdict):
    word = "ok  " if verdict.good else "FAIL"
    counts = f"{verdict.passed} tests" + (f", {verdict.skipped} skipped" if verdict.skipped else "")
    notes = "".join(f"; {note}" for note in verdict.notes)
    return f"{word} {name:<22} {verdict.seconds:5.1f} s  {verdict.kernel or '-':<28} {counts}{notes}"


def cells(table, verdict):
    """A letter for each capability, ? where there is no report."""
    if not verdict.document:
        return ["?"] * len(table.capabilities)
    got = statuses(verdict.document)
    return [LETTER.get(got.get(name), "?") for name in table.capabilities]


def _abi(verdict):
    return str(found_abi(verdict.document)) if verdict.document else "?"


def matrix_text(table, verdicts):
    """Rows against capabilities, for a terminal of any width."""
    lines = ["", "E enforced, C cooperative, - unavailable, ? no report"]
    width = max(len(name) for name in verdicts) if verdicts else 4
    indent = " " * (width + 17)
    for i, name in enumerate(table.capabilities):
        lines.append(f"{indent}{'│ ' * i}┌ {name}")
    lines.append(f"{'row':<{width}}  {'ABI':<11}    {'│ ' * len(table.capabilities)} seconds")
    for name, verdict in verdicts.items():
        mark = "   " if verdict.good else "BAD"
        lines.append(
            f"{name:<{width}}  {_abi(verdict):<11} {mark} {' '.join(cells(table, verdict))}  {verdict.seconds:6.1f}"
        )
    return "\n".join(lines) + "\n"


def skipped_for(verdicts):
    """[(reason, how often, {test: [row]})] of everything that was skipped, the most frequent reason first."""
    reasons = collections.defaultdict(lambda: collections.defaultdict(list))
    for name, verdict in verdicts.items():
        for test, reason in verdict.skips:
            reasons[reason][test].append(name)
    groups = [(reason, sum(len(rows) for rows in tests.values()), tests) for reason, tests in reasons.items()]
    return sorted(groups, key=lambda group: (-group[1], group[0]))


def skips(verdicts, where):
    """For a terminal, a line for each reason; `where` names the file with the rest."""
    lines = [
        f"{times:5}  {reason} ({count(len(tests), 'test')}, {count(len({r for rows in tests.values() for r in rows}), 'row')})"
        for reason, times, tests in skipped_for(verdicts)
    ]
    return [f"skipped, by reason; which tests on which rows: {where}", *lines] if lines else []


def count(n, what):
    return f"{n} {what}{'' if n == 1 else 's'}"


def _rows(names, verdicts):
    return "every row" if len(names) == len(verdicts) > 1 else ", ".join(names)


def summary(verdicts, wall, accel):
    bad = sum(not v.good for v in verdicts.values())
    skipped = sum(v.skipped for v in verdicts.values())
    return (
        f"{count(len(verdicts), 'row')} in {wall:.0f} s with {accel}, "
        f"{sum(v.passed for v in verdicts.values())} tests in them, {skipped} skipped\n"
        f"{len(verdicts) - bad} passed, {bad} failed"
    )


def markdown(table, verdicts, heading):
    lines = [f"# {heading}", "", "✓ enforced, ~ cooperative, ✗ unavailable, ? no report", ""]
    lines.append("| row | kernel | ABI | " + " | ".join(table.capabilities) + " | seconds | |")
    lines.append("|" + "---|" * (len(table.capabilities) + 5))
    for name, verdict in verdicts.items():
        marks = [_mark(letter) for letter in cells(table, verdict)]
        word = "ok" if verdict.good else "**bad**: " + "; ".join(shortened(verdict.problems)).replace("|", "\\|")
        lines.append(
            f"| {name} | {verdict.kernel or '?'} | {_abi(verdict)} | {' | '.join(marks)} | {verdict.seconds:.1f} | {word} |"
        )
    for reason, times, tests in skipped_for(verdicts):
        lines += ["", f"Skipped {count(times, 'time')}: {reason}", ""]
        lines += [f"- {test}: {_rows(rows, verdicts)}" for test, rows in tests.items()]
    return "\n".join(lines) + "\n"


def _mark(letter):
    return {"E": "✓", "C": "~", "-": "✗"}.get(letter, "?")


STYLE = """
body{font:15px/1.4 system-ui,sans-serif;margin:2em;color:#222;background:#fff}
table{border-collapse:collapse}td,th{border:1px solid #ccc;padding:.2em .5em;text-align:left}
th.c{writing-mode:vertical-rl;transform:rotate(180deg);font-weight:normal;padding:.5em .2em}
td.m{text-align:center}td.E{background:#d7f0d7}td.C{background:#fdf3c8}td.n{background:#f6dada}td.q{background:#ddd}
tr.bad td:first-child{background:#c22;color:#fff}pre{background:#f5f5f5;padding:.6em;overflow:auto}
@media(prefers-color-scheme:dark){body{color:#ddd;background:#181818}td.E{background:#1e4620}td.C{background:#5a4a10}
td.n{background:#5a2020}td.q{background:#444}pre{background:#222}td,th{border-color:#444}}
"""


def page(table, verdicts, heading):
    """The matrix as one HTML file that needs no other."""
    e = html.escape
    out = ["<!doctype html><html lang=en><meta charset=utf-8>"]
    out.append(f"<title>{e(heading)}</title><style>{STYLE}</style><h1>{e(heading)}</h1>")
    out.append("<p>✓ enforced, ~ cooperative, ✗ unavailable, ? no report</p><table><tr><th>row<th>kernel<th>ABI")
    out += [f"<th class=c>{e(name)}" for name in table.capabilities]
    out.append("<th>tests<th>seconds</tr>")
    for name, verdict in verdicts.items():
        out.append(f"<tr{'' if verdict.good else ' class=bad'}><td>{e(name)}<td>{e(verdict.kernel or '?')}<td>{e(_abi(verdict))}")
        for letter in cells(table, verdict):
            out.append(f"<td class='m {dict(zip('-?', 'nq')).get(letter, letter)}'>{_mark(letter)}")
        out.append(f"<td>{verdict.passed}<td>{verdict.seconds:.1f}</tr>")
    out.append("</table>")
    for name, verdict in verdicts.items():
        if not verdict.good or verdict.notes:
            out.append(f"<h2>{e(name)}</h2><pre>{e(chr(10).join(verdict.problems + verdict.notes + verdict.lines))}</pre>")
    for reason, times, tests in skipped_for(verdicts):
        out.append(f"<details><summary>skipped {count(times, 'time')}: {e(reason)}</summary><ul>")
        out += [f"<li>{e(test)}: {e(_rows(rows, verdicts))}" for test, rows in tests.items()]
        out.append("</ul></details>")
    return "".join(out) + "</html>\n"


def junit(verdicts, wall):
    bad = sum(not v.good for v in verdicts.values())
    suite = xml.Element(
        "testsuite", name="vm", tests=str(len(verdicts)), failures=str(bad), errors="0", skipped="0", time=f"{wall:.3f}"
    )
    for name, verdict in verdicts.items():
        case = xml.SubElement(suite, "testcase", classname="vm", name=name, time=f"{verdict.seconds:.3f}")
        if not verdict.good:
            failure = xml.SubElement(case, "failure", message=_xml_text(verdict.problems[0]))
            failure.text = _xml_text("\n".join(verdict.problems + verdict.lines))
        if verdict.notes:
            xml.SubElement(case, "system-out").text = _xml_text("\n".join(verdict.notes))
    return xml.tostring(suite, encoding="unicode", xml_declaration=True) + "\n"


def _xml_text(text):
    """XML 1.0 has no control characters."""
    return "".join(c if c in "\t\n" or (" " <= c and c not in "\ufffe\uffff") else "?" for c in text)
