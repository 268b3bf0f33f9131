"""What happened in the demo's cluster, told in the order of time and cause."""
from workloads import annotations_of, labels_of, pair, requests_of, seconds

REASONS = {"EvictedByVPA": "evicted", "InPlaceResizedByVPA": "resized", "OOMKilled": "killed", "Killing": "killed"}
# Within one second of the cluster an eviction comes before the pod that replaces the evicted one.
ORDER = {"killed": 0, "evicted": 1, "resized": 2, "created": 3, "ready": 4}


def time_to_ready(pod):
    """Seconds from the pod's start, None until it is Ready."""
    for condition in pod["status"].get("conditions") or []:
        if condition["type"] == "Ready" and condition["status"] == "True":
            return seconds(condition["lastTransitionTime"]) - seconds(pod["status"]["startTime"])
    return None


def is_boosted(pod):
    return any(k.startswith("vpaCpuStartupBoost/") or k == "vpaInPlaceUpdated" for k in annotations_of(pod))


class Story:
    """Lines for pods that came (patched or not), became Ready, were evicted or resized.

    boosted: the workload (label app) whose starts are measured.
    """

    def __init__(self, boosted):
        self.boosted, self.pods, self.events, self.started = boosted, set(), set(), {}
        self.evictions = {}
        self.lines = []

    def tell(self, when, what, name, text):
        self.lines.append((seconds(when), ORDER[what], f"{when[:16].replace('T', ' ')}  {what:<8}  {name}: {text}"))

    def look(self, pods, events):
        """Notes what is new since the last look."""
        for pod in pods:
            self._pod(pod)
            self._start(pod)
        for event in events:
            self._event(event)
        self.pods |= {p["metadata"]["uid"] for p in pods}

    def take(self):
        """The new lines in the order of time, then of cause."""
        found, self.lines = sorted(self.lines), []
        return [text for _, _, text in found]

    def _pod(self, pod):
        if pod["metadata"]["uid"] in self.pods:
            return
        how = "patched by the webhook" if "vpaUpdates" in annotations_of(pod) else "as written"
        self.tell(pod["metadata"]["creationTimestamp"], "created", pod["metadata"]["name"],
                  f"{how}, requests {pair(requests_of(pod))}")

    def _start(self, pod):
        uid, took = pod["metadata"]["uid"], time_to_ready(pod)
        if labels_of(pod).get("app") != self.boosted or uid in self.started or took is None:
            return
        self.started[uid] = (took, is_boosted(pod))
        ready = next(c for c in pod["status"]["conditions"] if c["type"] == "Ready")["lastTransitionTime"]
        self.tell(ready, "ready", pod["metadata"]["name"],
                  f"after {took:.0f} s {'with its CPU boost' if is_boosted(pod) else 'without a boost'}")

    def _event(self, event):
        key = (event["metadata"]["uid"], event.get("count"))
        what = REASONS.get(event.get("reason"))
        if event["involvedObject"]["kind"] != "Pod" or key in self.events or what is None:
            return
        self.events.add(key)
        name = event["involvedObject"]["name"]
        if what == "evicted":
            self.evictions[name] = self.evictions.get(name, 0) + 1
        when = event.get("lastTimestamp") or event.get("eventTime") or event["metadata"]["creationTimestamp"]
        self.tell(when, what, name, event.get("message", ""))

    def evicted(self, workload):
        """How many pods of a workload were evicted: their names begin with its own."""
        return sum(count for name, count in self.evictions.items() if name.startswith(workload + "-"))

    def mean_start(self, boosted):
        """Seconds to Ready of the pods that started that way, on average; None without one."""
        found = [took for took, how in self.started.values() if how == boosted]
        return sum(found) / len(found) if found else None
