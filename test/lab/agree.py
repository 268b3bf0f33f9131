#!/usr/bin/env python3
"""The laboratory's scores against a second computation: agree.py KUBECTL-VPA [FOLDER]

Both ways: `lab score` replays traces in C and measures; here every policy is driven through `lab drive`, window by
window, over its standard input and output, and measured by other code. They must agree to 1e-9, for every policy.

Traces of our own, made by formula: smooth, spiky, growing, with gaps, of one- and five-minute samples. With FOLDER
(../shared: a judge with numpy and public traces), that judge's own VPA and Autopilot windows are compared as well."""
import json
import math
import os
import subprocess
import sys
import tempfile

WINDOW, DAY = 300, 86400
TOLERANCE = 1e-9
CLOSED_BY_JUDGE = {  # ours: (the judge's CPU policy, its memory policy)
    "vpa": ("VPA default, in place", "VPA default, in place"),
    "autopilot-avg": ("Autopilot S_avg", "Autopilot S_p98"),
    "autopilot-p90": ("Autopilot S_p90", "Autopilot max(S_p60, S_max/2)"),
    "autopilot-p95": ("Autopilot S_p95", "Autopilot S_p98"),
    "autopilot-ml-counts": ("Autopilot ML, counts", "Autopilot ML, counts"),
    "autopilot-ml-distances": ("Autopilot ML, distances", "Autopilot ML, distances"),
    "autopilot-max": ("Autopilot S_max 7 d", "Autopilot S_max 7 d"),
}


# ---- traces ----

def noise(i, seed):
    """Uniform in [0, 1), the same everywhere."""
    x = (i * 2654435761 + seed * 40503) % 2**32
    x ^= x >> 15
    x = x * 2246822519 % 2**32
    return (x ^ x >> 13) % 2**32 / 2**32


def smooth(i, t):
    return 0.8 + 0.3 * math.sin(2 * math.pi * t / DAY) + 0.05 * noise(i, 1), 3e8 + 2e7 * noise(i, 2)


def spiky(i, t):
    return (1.5 if noise(i // 3, 3) > 0.97 else 0.004 + 0.002 * noise(i, 4)), 2e7 + (9e7 if noise(i // 7, 5) > 0.995 else 0)


def growing(i, t):
    return 0.2 * noise(i, 6), 4e8 * (1 + 0.6 * t / DAY) * (1 + 0.02 * noise(i, 7))


TRACES = (  # id, group, class, seconds per sample, days, shape, has memory, gap in days
    ("smooth", "even", "long", 300, 5, smooth, True, None),
    ("smooth-gap", "even", "long", 300, 4, smooth, True, (1.6, 2.3)),
    ("spiky", "odd", "long", 60, 3, spiky, True, None),
    ("spiky-cpu", "odd", "long", 300, 4, spiky, False, (2.0, 2.1)),
    ("growing", "odd", "short", 60, 2, growing, True, None),
)


def write_traces(folder):
    with open(os.path.join(folder, "index.jsonl"), "w") as index:
        for name, group, cls, step, days, shape, memory, gap in TRACES:
            meta = dict(id=name, group=group, cls=cls, file=name + ".csv", interval_seconds=step,
                        resources=["cpu", "memory"] if memory else ["cpu"])
            index.write(json.dumps(meta) + "\n")
            with open(os.path.join(folder, meta["file"]), "w") as f:
                f.write("timestamp_seconds,cpu_cores,memory_bytes\n")
                for i in range(days * DAY // step):
                    t = i * step
                    if gap and gap[0] * DAY <= t < gap[1] * DAY:
                        continue
                    cpu, bytes_ = shape(i, t)
                    text = "" if noise(i, 8) > 0.99 else f"{cpu:.5g}"
                    f.write(f"{1700006400 + t},{text},{int(bytes_) if memory else ''}\n")


def read_traces(folder):
    for line in open(os.path.join(folder, "index.jsonl")):
        meta = json.loads(line)
        windows = {}
        for row in open(os.path.join(folder, meta["file"])).read().split("\n")[1:-1]:
            t, cpu, memory = row.split(",")
            windows.setdefault(int(t) // WINDOW * WINDOW, []).append(
                (int(t), float(cpu) if cpu else None, float(memory) if memory else None))
        meta["windows"] = sorted(windows.items())
        start = meta["windows"][0][0] + (DAY if meta["cls"] == "long" else DAY // 4)
        meta["first"] = next(i for i, (s, _) in enumerate(meta["windows"]) if s >= start)
        yield meta


# ---- the closed loop, and the measures ----

def number(x):
    return "-" if x is None else repr(x)


def drive(program, policy, trace):
    """Allocation of each window, as the policy answers."""
    p = subprocess.Popen([program, "lab", "drive", policy], stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    p.stdin.write(f"trace {trace['id']} {trace['interval_seconds']}\n")
    answers = []
    for i, (start, samples) in enumerate(trace["windows"]):
        p.stdin.write(f"recommend {start}\n")
        p.stdin.flush()
        cpu, memory = (None if a == "-" else float(a) for a in p.stdout.readline().split())
        answers.append((cpu, memory))
        peak = max((m for _, _, m in samples if m is not None), default=None)
        oom = i >= trace["first"] and peak is not None and memory is not None and peak > memory
        for t, c, m in samples:
            p.stdin.write(f"sample {t} {number(c)} {number(min(m, memory) if oom and m is not None else m)}\n")
        if oom:
            p.stdin.write(f"oom {start + WINDOW - 1} {number(memory)}\n")
    p.stdin.close()
    if p.wait() != 0:
        sys.exit(f"{policy}: status {p.returncode} on {trace['id']}")
    return answers


def percentile(values, p):
    values, place = sorted(values), p * (len(values) - 1)
    below = int(place)
    return values[below] + (place - below) * (values[min(below + 1, len(values) - 1)] - values[below])


def mean(values):
    values = [v for v in values if v is not None]
    return sum(values) / len(values) if values else None


def common(rows):
    """rows: (day, limit, usage of the day's slack, allocated, served), by time."""
    days = len(rows) * WINDOW / DAY
    changes = sum(abs(a[1] - b[1]) > 1e-6 * max(a[1], b[1]) for a, b in zip(rows, rows[1:]))
    daily = []
    for day in sorted({r[0] for r in rows}):
        of = [r for r in rows if r[0] == day]
        if len(of) * WINDOW >= 6 * 3600:
            limit = mean([r[1] for r in of])
            daily.append((limit - percentile([r[2] for r in of], 0.95)) / limit)
    allocated, served = sum(r[3] for r in rows), sum(r[4] for r in rows)
    return dict(slack=(allocated - served) / allocated, daySlack=mean(daily), changesPerDay=changes / days,
                allocated=allocated, served=served)


def measure_cpu(trace, answers):
    rows, used, above = [], 0.0, 0.0
    zero = trace["windows"][trace["first"]][0]
    for i, (start, samples) in enumerate(trace["windows"]):
        cpu, limit = [c for _, c, _ in samples if c is not None], answers[i][0]
        if i < trace["first"] or not cpu or limit is None:
            continue
        used += mean(cpu)
        above += mean([float(c > limit) for c in cpu])
        rows.append(((start - zero) // DAY, limit, mean(cpu), limit, mean([min(c, limit) for c in cpu])))
    if not rows:
        return None
    out = common(rows)
    out.update(unserved=1 - out["served"] / used, timeAbove=above / len(rows))
    return out


def measure_memory(trace, answers):
    rows = []
    zero = trace["windows"][trace["first"]][0]
    for i, (start, samples) in enumerate(trace["windows"]):
        peak, limit = max((m for _, _, m in samples if m is not None), default=None), answers[i][1]
        if i >= trace["first"] and peak is not None and limit is not None:
            rows.append(((start - zero) // DAY, limit, peak, limit, min(peak, limit)))
    if not rows:
        return None
    out = common(rows)
    bad, all_days = {r[0] for r in rows if r[2] > r[1]}, {r[0] for r in rows}
    out.update(ooms=sum(r[2] > r[1] for r in rows), badDays=len(bad), totalDays=len(all_days),
               oomFreeDays=1 - len(bad) / len(all_days), oomsPerDay=sum(r[2] > r[1] for r in rows) / (len(rows) * WINDOW / DAY))
    return out


# ---- comparing ----

class Comparison:
    def __init__(self):
        self.compared, self.wrong = 0, 0

    def check(self, what, ours, theirs):
        self.compared += 1
        if ours is None and theirs is None:
            return
        if ours is None or theirs is None or abs(ours - theirs) > TOLERANCE * max(1, abs(theirs)):
            self.wrong += 1
            print(f"{what}: lab score {ours!r}, second computation {theirs!r}")


def score(program, folder, *more):
    text = subprocess.run([program, "lab", "score", "--json", "--rounds", "0", *more, folder], check=True,
                          stdout=subprocess.PIPE, text=True).stdout
    return json.loads(text)["scores"]


def compare_line(c, line, by_group):
    """A line of `lab score` (mean of groups) against the measures of its traces, by group."""
    what = f"{line['policy']} {line['resource']} {line['class']}"
    rows = [r for rs in by_group.values() for r in rs]
    allocated, served = sum(r["allocated"] for r in rows), sum(r["served"] for r in rows)
    c.check(what + " pooled slack", line["pooledSlack"], (allocated - served) / allocated)
    for key, value in line.items():
        if isinstance(value, dict):
            c.check(f"{what} {key}", value["mean"], mean([mean([r[key] for r in rs]) for rs in by_group.values()]))
    for key in ("ooms", "badDays", "totalDays"):
        if key in line:
            c.check(f"{what} {key}", line[key], sum(r[key] for r in rows))


def compare_own(c, program):
    with tempfile.TemporaryDirectory() as folder:
        write_traces(folder)
        traces = list(read_traces(folder))
        lines = score(program, folder)
        answers = {}
        for line in lines:
            by_group, policy = {}, line["policy"]
            for t in traces:
                if t["cls"] != line["class"]:
                    continue
                if (policy, t["id"]) not in answers:
                    answers[policy, t["id"]] = drive(program, policy, t)
                measure = measure_cpu if line["resource"] == "cpu" else measure_memory
                m = measure(t, answers[policy, t["id"]])
                if m:
                    by_group.setdefault(t["group"], []).append(m)
            compare_line(c, line, by_group)
    print(f"own traces: {len({l['policy'] for l in lines})} policies, {c.compared} figures")


def compare_judge(c, program, shared):
    sys.path.insert(0, os.path.join(shared, "quality"))
    try:
        import numpy
        import metrics
        import policies
        import quality
        import traces
    except ImportError as e:
        print(f"SKIPPED: the judge of {shared} ({e})")
        return
    data = os.path.join(shared, "data")
    ts = traces.load_all(data)
    cpu, memory = quality.cpu_policies(), quality.memory_policies()
    names = {"unserved": "throttled", "daySlack": "day_slack", "timeAbove": "time_above", "oomsPerDay": "oom_per_day",
             "oomFreeDays": "oom_free", "changesPerDay": "changes"}
    before = c.compared
    for line in score(program, data, "--policy", ",".join(CLOSED_BY_JUDGE)):
        of = [t for t in ts if t.long is (line["class"] == "long")]
        name = CLOSED_BY_JUDGE[line["policy"]][line["resource"] == "memory"]
        with numpy.errstate(invalid="ignore"):
            if line["resource"] == "cpu":
                rows = [(t.group, metrics.cpu(t, cpu[name](t))) for t in of if len(t.cpu)]
            else:
                rows = [(t.group, metrics.memory(t, policies.replay_memory(t, memory[name](t)))) for t in of if t.mem is not None]
        rows = [r for r in rows if r[1]]
        fields = [names.get(k, k) for k, v in line.items() if isinstance(v, dict)]
        theirs = metrics.aggregate(rows, fields)
        what = f"judge: {line['policy']} {line['resource']} {line['class']}"
        c.check(what + " pooled slack", line["pooledSlack"], theirs["pooled_slack"])
        for key, value in line.items():
            if isinstance(value, dict):
                c.check(f"{what} {key}", value["mean"], theirs[names.get(key, key)])
    print(f"judge of {shared}: {c.compared - before} figures")


def main():
    c = Comparison()
    compare_own(c, sys.argv[1])
    if len(sys.argv) > 2 and os.path.isdir(os.path.join(sys.argv[2], "quality")):
        compare_judge(c, sys.argv[1], sys.argv[2])
    else:
        print("SKIPPED: no folder with a judge and public traces was given, or it is not there")
    print(f"{c.compared} figures compared, {c.wrong} differ by more than {TOLERANCE}")
    sys.exit(1 if c.wrong or not c.compared else 0)


if __name__ == "__main__":
    main()
