"""The demo's picture: a table and charts that fit the terminal, the log above them."""
import os
import re
import shutil
import sys
import textwrap

from workloads import RESOURCES, amount, pair, totals

# The columns of the table, the most telling first: as many as the terminal is wide are shown, in the order of PLACE.
COLUMNS = {
    "WORKLOAD": lambda w: w.name,
    "REQUESTS": lambda w: pair(w.requests()),
    "TARGET": lambda w: pair(w.bound("target")),
    "RIGHT-SIZED": lambda w: w.verdict(),
    "USAGE": lambda w: pair(w.usage()),
    "MODE": lambda w: w.mode,
    "PODS": lambda w: str(len(w.live())),
    "UPPER": lambda w: w.upper(),
    "LOWER": lambda w: pair(w.bound("lowerBound")),
}
PLACE = ("WORKLOAD", "MODE", "PODS", "REQUESTS", "USAGE", "LOWER", "TARGET", "UPPER", "RIGHT-SIZED")
LEGEND = (
    "Each pair is CPU / memory of one pod. REQUESTS: what the newest pod reserves. USAGE: mean of its pods.",
    "LOWER, TARGET, UPPER: the recommendation and the range that is left alone; young: little history, no bound yet.",
    "RIGHT-SIZED: every live pod asks for what is recommended; watched: mode Off, recommended and never touched.",
    "CRANE'S: what VPAs with recommenders: [{name: crane}] say of the same pods (docs/algorithms.md); they change nothing.",
    "Chart: usage as a share of what was requested at that time; a full block is the whole request.",
)
BLOCKS, PLAIN = " ▁▂▃▄▅▆▇█", " .:-=+*#@"
COLOURS = {"yes": "32", "not yet": "33", "watched": "36", "evicted": "33", "resized": "36", "killed": "31", "ready": "32"}
GAP = "  "


def safe(text):
    """What strangers wrote cannot move the cursor."""
    return re.sub(r"[\x00-\x1f\x7f-\x9f]", "?", text)


def columns_that_fit(works, width):
    """{column: width}, in the order of PLACE."""
    chosen, used = {}, 0
    for name, cell in COLUMNS.items():
        wide = max([len(name)] + [len(cell(w)) for w in works])
        if used + wide + (len(GAP) if chosen else 0) > width:
            break
        used += wide + (len(GAP) if chosen else 0)
        chosen[name] = wide
    return {name: chosen[name] for name in PLACE if name in chosen}


def table(works, width):
    widths = columns_that_fit(works, width)
    rows = [list(widths)] + [[COLUMNS[c](w) for c in widths] for w in works]
    return [GAP.join(cell.ljust(wide) for cell, wide in zip(row, widths.values())).rstrip() for row in rows]


def side_by_side(works):
    """The targets of two algorithms; nothing where no VPA asks for the other one."""
    rows = [["WORKLOAD", "TARGET (VPA'S ALGORITHM)", "TARGET (CRANE'S)"]]
    rows += [[w.name, pair(w.bound("target")), pair(w.other_target())] for w in works if w.other]
    if len(rows) == 1:
        return []
    widths = [max(len(row[i]) for row in rows) for i in range(3)]
    return [GAP.join(cell.ljust(wide) for cell, wide in zip(row, widths)).rstrip() for row in rows]


def spark(points, length, blocks=BLOCKS):
    """A line of `length` characters at most: the newest points, each a share of the request, cut at the whole."""
    return "".join(blocks[min(8, max(0, round(8 * p)))] for p in points[-length:])


def chart(works, shares, width, blocks=BLOCKS):
    """A line for each workload with usage and requests."""
    name_width = max([len(w.name) for w in works], default=0)
    length = max(8, min(48, (width - name_width - 30) // 2))
    lines = []
    for work in works:
        parts = []
        for resource in RESOURCES:
            points = shares.of(work.name, resource)
            if points:
                parts.append(f"{resource} {spark(points, length, blocks):>{length}} {100 * points[-1]:4.0f} %")
        if parts:
            lines.append(f"{work.name:<{name_width}}  " + "  ".join(parts))
    return lines


def totals_lines(works):
    """What was reserved as written, is reserved now, is used, and what that saves."""
    found = totals(works)
    def line(title, index):
        return f"{title:<24}" + " / ".join(amount(r, found[r][index]) for r in RESOURCES)
    saved = " / ".join(f"{amount(r, abs(found[r][0] - found[r][1]))} {'less' if found[r][0] >= found[r][1] else 'more'}"
                       for r in RESOURCES)
    return [line("reserved as written", 0), f"{line('reserved now', 1)}  ({saved})", line("used", 2)]


class Screen:
    """On a terminal the picture stays at the bottom and the log scrolls above it; in a pipe only the log."""

    def __init__(self, out=sys.stdout):
        self.out, self.terminal = out, out.isatty()
        self.coloured = self.terminal and "NO_COLOR" not in os.environ
        self.blocks = BLOCKS if "utf" in (out.encoding or "").lower() else PLAIN
        self.drawn = 0

    def width(self):
        """A file has room for every column."""
        return shutil.get_terminal_size().columns - 1 if self.terminal else 200

    def paint(self, line):
        if not self.coloured:
            return line
        return re.sub(r"\b(not yet|yes|watched|evicted|resized|killed|ready)\b(?=$|  )",
                      lambda m: f"\x1b[{COLOURS[m[0]]}m{m[0]}\x1b[0m", line)

    def clear(self):
        """Takes the picture away; what is said next stands in its place."""
        if self.drawn:
            self.out.write(f"\x1b[{self.drawn}A\x1b[J")
            self.drawn = 0

    def broken(self, line):
        """The line, broken between words where it is wider than the terminal; commands begin with a blank and stay whole, to be copied."""
        if not self.terminal or line.startswith(" ") or len(line) <= self.width():
            return [line]
        return textwrap.wrap(line, self.width(), subsequent_indent="    ", break_on_hyphens=False)

    def say(self, *lines):
        self.clear()
        for line in lines:
            for part in self.broken(safe(line)):
                print(self.paint(part), file=self.out)
        self.out.flush()

    def picture(self, works, shares, now):
        width = self.width()
        hints = [hint for hint in (w.hint() for w in works) if hint]
        return ["", f"cluster time {now}", *table(works, width), "", *chart(works, shares, width, self.blocks), "",
                *totals_lines(works), "", *side_by_side(works), *hints]

    def draw(self, news, works, shares, now):
        if not self.terminal:
            self.say(*news)
            return
        rows = shutil.get_terminal_size().lines - 1
        picture = [safe(line)[:self.width()] for line in self.picture(works, shares, now)][:rows]
        self.say(*news)
        for line in picture:
            print(self.paint(line), file=self.out)
        self.drawn = len(picture)
        self.out.flush()
