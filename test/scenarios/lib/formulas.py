"""The recommender's formulas, computed a second time and in another language.

Written from the published definitions (decaying exponential histograms, percentiles, safety margin, confidence
factors), with none of the daemon's code. Python's log, pow and exp2 may differ from the daemon's in the last bit, so
results are compared with a tolerance of one unit of the truncated amount (or one bucket where the caller says so).
"""
import math

DAY = 86400.0
EPSILON = 0.0001
RATIO = 1.05
BUCKETS = 176
MAX_AMOUNT = 10 ** 14


def bucket_start(first, n):
    return 0.0 if n == 0 else first * (RATIO ** n - 1) / (RATIO - 1)


def find_bucket(first, value):
    if value < first:
        return 0
    return min(int(math.log(value * (RATIO - 1) / first + 1) / math.log(RATIO)), BUCKETS - 1)


def amount(x):
    return MAX_AMOUNT if x > MAX_AMOUNT else int(max(x, 0))


class Histogram:
    """Weights count double per half-life; the reference instant is fixed by the first sample."""

    def __init__(self, first, half_life=DAY):
        self.first, self.half_life = first, half_life
        self.weights, self.reference = {}, None

    def _factor(self, t):
        if self.reference is None:
            self.reference = math.floor(t / self.half_life + 0.5) * self.half_life
        return 2.0 ** ((t - self.reference) / self.half_life)

    def add(self, value, weight, t):
        bucket = find_bucket(self.first, value)
        self.weights[bucket] = self.weights.get(bucket, 0.0) + weight * self._factor(t)

    def percentile(self, p):
        visible = [b for b, w in self.weights.items() if w >= EPSILON]
        if not visible:
            return 0.0
        threshold, total, bucket = p * sum(self.weights.values()), 0.0, min(visible)
        while bucket < max(visible):
            total += self.weights.get(bucket, 0.0)
            if total >= threshold:
                break
            bucket += 1
        return bucket_start(self.first, bucket + 1 if bucket < BUCKETS - 1 else bucket)


class Container:
    """All replicas of one container. Memory counts once per window and replica: its peak, at the window's end."""

    def __init__(self):
        self.cpu, self.memory = Histogram(0.01), Histogram(1e7)
        self.first = self.last = None
        self.samples = 0
        self.last_seen, self.windows = {}, {}

    def sample(self, pod, t, millicores, memory_bytes):
        if t > self.last_seen.get(pod, -math.inf):
            self.last_seen[pod] = t
            self.cpu.add(millicores / 1000.0, 0.1, t)
            self.first = t if self.first is None else min(self.first, t)
            self.last = t if self.last is None else max(self.last, t)
            self.samples += 1
        self.peak(pod, t, memory_bytes)

    def peak(self, pod, t, memory_bytes):
        end, old = self.windows.get(pod, (t, 0))
        if t < end:
            if memory_bytes <= old:
                return
            if old:
                self.memory.add(old, -1.0, end)
        elif pod in self.windows:
            end, old = end + (int((t - end) // DAY) + 1) * DAY, 0
        else:
            end = t + DAY
        self.windows[pod] = (end, memory_bytes)
        self.memory.add(memory_bytes, 1.0, end)

    def restart(self, t):
        """A recommender that starts at t from checkpoints: they leave out the peaks of windows that are open."""
        for end, peak in self.windows.values():
            if t < end:
                self.memory.add(peak, -1.0, end)
        self.windows = {}

    def confidence(self):
        if not self.samples:
            return 0.0
        return min((self.last - self.first) / DAY, self.samples / 1440.0)

    def recommend(self, containers=1, margin=0.15, minimum_cpu=25.0, minimum_memory_mb=250.0):
        """{'target': (millicores, bytes), 'lowerBound': ..., 'upperBound': ...}"""
        confidence = self.confidence()
        fraction = 1.0 / containers
        floor = (amount(amount(minimum_cpu * 0.001 * 1000.0) * fraction),
                 amount(amount(minimum_memory_mb * 1024 * 1024) * fraction))

        def bound(p, factor):
            out = []
            for usage, low in ((self.cpu.percentile(p) * 1000.0, floor[0]), (self.memory.percentile(p), floor[1])):
                base = amount(usage)
                base += amount(base * margin)
                scaled = base * factor
                out.append(max(low, -2 ** 63 if math.isnan(scaled) else amount(scaled)))
            return tuple(out)

        lower = (1 + 0.001 / confidence) ** -2 if confidence else 0.0
        upper = 1 + 1 / confidence if confidence else math.inf
        return {"target": bound(0.9, 1.0), "lowerBound": bound(0.5, lower), "upperBound": bound(0.95, upper)}


def parse_quantity(text):
    """Millicores or bytes as a float; enough for what daemons and manifests write."""
    text = str(text)
    suffixes = {"Ki": 2 ** 10, "Mi": 2 ** 20, "Gi": 2 ** 30, "Ti": 2 ** 40, "Pi": 2 ** 50, "Ei": 2 ** 60,
                "n": 1e-9, "u": 1e-6, "m": 1e-3, "k": 1e3, "M": 1e6, "G": 1e9, "T": 1e12, "P": 1e15, "E": 1e18}
    for suffix in sorted(suffixes, key=len, reverse=True):
        if text.endswith(suffix):
            return float(text[:-len(suffix)]) * suffixes[suffix]
    return float(text)
