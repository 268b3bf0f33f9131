"""Draws rows of deploy/components/monitoring/dashboard.json as SVG from what a Prometheus answers, for docs/monitoring.md.

    pictures.rows(dashboard)                       {title of a row: its panels}
    pictures.draw(title, panels, answers)          the SVG; answers: {id of a panel: [(legend, [(second, value), ...]), ...]}

The places and the units are those of the JSON, as Grafana would show it. A panel without data says so.
"""
import html
import math
import re

SHOWN = 8  # lines of a panel, those that reach highest
CELL, LINE = 42, 34  # of Grafana's grid of 24 columns, in pixels
COLOURS = ("#3274d9", "#e0752d", "#37872d", "#ad0317", "#8f3bb8", "#b5a000", "#447ebc", "#705da0")
NAMED = {"green": "#37872d", "red": "#ad0317"}
SCALES = {  # unit: ((from, text after the number), ...), the largest first
    "bytes": ((2 ** 30, " GiB"), (2 ** 20, " MiB"), (2 ** 10, " KiB"), (0, " B")),
    "s": ((86400, " d"), (3600, " h"), (60, " min"), (1, " s"), (1e-3, " ms"), (0, " us")),
}
AFTER = {"ops": "/s", "reqps": " req/s", "percentunit": " %"}


def figure(value):
    """Three digits that count."""
    return f"{value:.0f}" if abs(value) >= 100 else f"{value:.3g}"


def shown(value, unit):
    """A figure as people read it."""
    if value == 0:
        return "0"
    if unit in SCALES:
        least, after = next((s for s in SCALES[unit] if abs(value) >= s[0]), SCALES[unit][-1])
        return figure(value / (least or (1 if unit == "bytes" else 1e-6))) + after
    return f"{figure(value * (100 if unit == 'percentunit' else 1))}{AFTER.get(unit, '')}"


def rows(dashboard):
    found = {}
    for panel in dashboard["panels"]:
        if panel["type"] == "row":
            title = panel["title"]
        else:
            found.setdefault(title, []).append(panel)
    return found


def legend(target, labels):
    """What Grafana writes beside a line."""
    if target["legendFormat"] == "__auto":
        return ", ".join(f"{k}={v}" for k, v in sorted(labels.items()) if k != "__name__")
    return re.sub(r"\{\{(\w+)\}\}", lambda m: labels.get(m[1], ""), target["legendFormat"])


def text(x, y, said, size=11, colour="#333", anchor="start"):
    return f'<text x="{x:.0f}" y="{y:.0f}" font-size="{size}" fill="{colour}" text-anchor="{anchor}">{html.escape(said)}</text>'


def ceiling(value):
    """The next round number."""
    if value <= 0:
        return 1.0
    power = 10 ** math.floor(math.log10(value))
    return next(step * power for step in (1, 2, 5, 10) if step * power >= value * 0.999)


def cut(said, width):
    room = int(width / 5.8)
    return said if len(said) <= room else said[:room - 2] + ".."


def draw_stat(panel, series, x, y, w, h):
    made, defaults = [], panel["fieldConfig"]["defaults"]
    words = {v: o for m in defaults.get("mappings", []) for v, o in m["options"].items()}
    for i, (name, points) in enumerate(series[:4]):
        value, left = points[-1][1], x + 10 + i * (w - 12) / min(4, len(series))
        said = words.get(f"{value:g}", {"text": shown(value, defaults["unit"]), "color": ""})
        made.append(text(left, y + h / 2 + 14, said["text"], 20, NAMED.get(said["color"], COLOURS[0])))
        if len(series) > 1:
            made.append(text(left, y + h - 12, cut(name, (w - 12) / min(4, len(series))), 9, "#777"))
    return made


def span(values):
    """Ends of the axis: zero and the round number beyond the farthest value, on both sides where there are both."""
    return -ceiling(-min(values)) if min(values) < 0 else 0.0, ceiling(max(values)) if max(values) > 0 or min(values) == 0 else 0.0


def draw_lines(panel, series, x, y, w, h):
    unit, kept = panel["fieldConfig"]["defaults"]["unit"], sorted(series, key=lambda s: -max(v for _, v in s[1]))[:SHOWN]
    begin, end = (least(t for _, points in kept for t, _ in points) for least in (min, max))
    low, high = span([v for _, points in kept for _, v in points])
    left, top, right, bottom = x + 62, y + 28, x + w - 10, y + h - 22 - 13 * ((len(kept) + 1) // 2)
    made = []

    def at(t, v):
        return f"{left + (t - begin) / max(1, end - begin) * (right - left):.0f},{bottom - (v - low) / (high - low) * (bottom - top):.0f}"
    for part in (0, 0.5, 1):
        height = bottom - part * (bottom - top)
        made.append(f'<path d="M{left:.0f} {height:.0f}H{right:.0f}" stroke="#ddd"/>')
        made.append(text(left - 5, height + 4, shown(low + part * (high - low), unit), 10, "#777", "end"))
    made += [text(left, bottom + 12, "0 s", 9, "#777"), text(right, bottom + 12, f"{end - begin:.0f} s", 9, "#777", "end")]
    for i, (name, points) in enumerate(kept):
        colour, column = COLOURS[i], x + 12 + i % 2 * (w - 16) / 2
        made.append(f'<polyline fill="none" stroke="{colour}" stroke-width="1.5" points="{" ".join(at(t, v) for t, v in points)}"/>')
        row = y + h - 8 - 13 * ((len(kept) + 1) // 2 - 1 - i // 2)
        made.append(f'<path d="M{column:.0f} {row - 3:.0f}h10" stroke="{colour}" stroke-width="3"/>')
        made.append(text(column + 14, row, cut(name or panel["title"], (w - 16) / 2 - 14), 10))
    return made


def draw(title, panels, answers):
    first = min(p["gridPos"]["y"] for p in panels)
    height = LINE * (max(p["gridPos"]["y"] + p["gridPos"]["h"] for p in panels) - first) + 30
    made = [f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {24 * CELL} {height}" font-family="sans-serif">',
            f'<rect width="{24 * CELL}" height="{height}" fill="#f4f5f5"/>', text(8, 20, title, 14)]
    for panel in panels:
        place = panel["gridPos"]
        x, y = place["x"] * CELL + 3, (place["y"] - first) * LINE + 30
        w, h = place["w"] * CELL - 6, place["h"] * LINE - 6
        made += [f'<rect x="{x}" y="{y}" width="{w}" height="{h}" fill="#fff" stroke="#ddd"/>', text(x + 10, y + 18, panel["title"], 12, "#111")]
        series = answers.get(panel["id"]) or []
        if not series:
            made.append(text(x + w / 2, y + h / 2 + 6, "no data: nothing of it happened", 11, "#999", "middle"))
        else:
            made += (draw_stat if panel["type"] == "stat" else draw_lines)(panel, series, x, y, w, h)
    return "\n".join([*made, "</svg>"]) + "\n"
