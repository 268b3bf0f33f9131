"""What must hold whatever breaks, watched while the faults of test/realcluster/faults happen:

    budget      never more pods of a workload away than half
    age         no eviction rests on a decision older than 30 s (but for the time that the server or etcd stood still)
    fencing     no write of a replica after another one took the Lease
    history     the sample count of a checkpoint goes down by no more than replicas may differ in
    exits       no process ends but by a signal that was sent, or because it lost the Lease
    memory      the resident memory of a daemon stays below a bound

Budget, history, exits and memory are looked at all the time; age and fencing come from the audit log, where each replica has an
address of its own, and from the ledgers of the updaters.
"""
import contextlib
import datetime
import json
import threading
import time

from fault_bed import ELECTED, LEASES, LOST, NAMESPACE, REPLICAS, TOLERATED, UNREACHABLE, ready

AGE = 30
MEMORY = 64  # MiB
PUSHES = (200, 400, 600)  # millicores between which the load goes
PUSH_EVERY = 12
LATE = 2  # seconds after the end of a partition in which what was sent before may arrive
# Samples that a replica may have read less than the other one: passes of a few seconds, for each pod of a workload.
SLACK = 40


def moment(text):
    return datetime.datetime.fromisoformat(text.replace("Z", "+00:00")).timestamp()


class Watch:
    def __init__(self, bed):
        self.bed, self.findings, self.lock = bed, [], threading.Lock()
        self.held, self.wanted = threading.Event(), {}  # the load stands still; what it asked for, by workload
        self.stopping, self.frozen, self.away, self.heals = threading.Event(), [], [], []
        self.threads = [threading.Thread(target=f, daemon=True) for f in (self._revive, self._look_on, self._load)]
        self.lost, self.samples, self.down, self.looks, self.worst = 0, {}, 0, 0, REPLICAS
        self.paused = self.evictions = self.aged = self.writes = self.oldest = self.late = 0

    def start(self):
        for thread in self.threads:
            thread.start()

    def stop(self):
        self.stopping.set()
        for thread in self.threads:
            thread.join()

    def wait(self, seconds):
        self.stopping.wait(seconds)

    def found(self, what):
        with self.lock:
            if what in self.findings:
                return
            self.findings.append(what)
        print(f"   {self.bed.cluster.tier} FOUND {what}", flush=True)

    def count(self):
        return len(self.findings)

    # ---- what the faults tell ----

    def freezes(self, begins):
        if begins:
            self.frozen.append([time.time(), float("inf")])
        else:
            self.frozen[-1][1] = time.time()

    def server_away(self):
        self.away.append(time.time())

    def healed(self, replica):
        self.heals.append((replica.source, time.time()))

    # ---- all the time ----

    def _revive(self):
        """A kubelet: what has ended is started again."""
        while not self.stopping.wait(0.2):
            for replica in self.bed.replicas:
                if not replica.busy.acquire(blocking=False):
                    continue
                try:
                    if not replica.process.running():
                        self._ended(replica)
                finally:
                    replica.busy.release()

    def _ended(self, replica):
        status, text = replica.process.process.returncode, replica.text()
        if status == LOST and replica.daemon in ELECTED and "lost master" in text[-4000:]:
            self.lost += 1
        else:
            self.found(f"{replica.name} ended by itself with status {status}: {text[-1500:]}")
        replica.again()

    def _look_on(self):
        while not self.stopping.wait(0.4):
            with contextlib.suppress(*UNREACHABLE):
                self.look()
            for replica in self.bed.replicas:
                replica.measure()
                if replica.peak > MEMORY:
                    self.found(f"{replica.name} has {replica.peak:.0f} MiB resident")

    def look(self):
        with contextlib.suppress(*UNREACHABLE):
            self._budget(self.bed.pods())
            self._history(self.bed.client.list("VerticalPodAutoscalerCheckpoint", NAMESPACE))
            self.looks += 1

    def _budget(self, pods):
        for name in self.bed.pushed:
            there = sum(ready(p) for p in pods if p["metadata"].get("labels", {}).get("app") == name)
            self.worst = min(self.worst, there)
            if there < REPLICAS - TOLERATED and self.looks:
                self.found(f"{name}: {there} of {REPLICAS} pods are ready")

    def _history(self, checkpoints):
        for one in checkpoints:
            key, samples = one["metadata"]["uid"], one.get("status", {}).get("totalSamplesCount", 0)
            with self.lock:
                before, self.samples[key] = self.samples.get(key, 0), samples
            self.down = max(self.down, before - samples)
            if before - samples > SLACK:
                self.found(f"checkpoint {one['metadata']['name']}: {samples} samples after {before}")

    def _load(self):
        """One workload after the other is to have other values, so that the updater always has something to do."""
        turn = 0
        while not self.stopping.wait(PUSH_EVERY):
            if self.held.is_set():
                continue
            with contextlib.suppress(*UNREACHABLE):
                name, cpu = self.bed.pushed[turn % len(self.bed.pushed)], PUSHES[turn // len(self.bed.pushed) % len(PUSHES)]
                self.bed.push(name, cpu)
                self.wanted[name] = f"{cpu}m"
                turn += 1

    def settled(self):
        """Every pod of the load is ready, and has what was pushed last but where evictions are paused."""
        pods = self.bed.pods()
        return all(self._at_rest(name, [p for p in pods if p["metadata"].get("labels", {}).get("app") == name])
                   for name in self.bed.pushed)

    def _at_rest(self, name, pods):
        asked = {p["spec"]["containers"][0]["resources"]["requests"]["cpu"] for p in pods}
        if not all(map(ready, pods)):
            return False
        conditions = self.bed.client.get("VerticalPodAutoscaler", name, NAMESPACE).get("status", {}).get("conditions") or []
        return asked == {self.wanted.get(name, "100m")} or any(c["type"] == "EvictionsPaused" for c in conditions)

    # ---- at the end, from the audit log ----

    def judge(self):
        """All findings, as texts."""
        self.paused = sum(e.get("count") or 1 for e in self.bed.client.list("Event", NAMESPACE) if e["reason"] == "EvictionsPaused")
        decided = self._decisions()
        led = {LEASES[d]: [] for d in ELECTED}  # successful updates of a Lease: (time, source)
        writes = []
        with open(self.bed.plane.folder / "audit.log") as log:
            for line in log:
                if '"verb":"get"' in line or '"verb":"list"' in line or '"verb":"watch"' in line:
                    continue
                with contextlib.suppress(ValueError):  # the end of a line that a killed server did not write
                    self._event(json.loads(line), decided, led, writes)
        for at, source, daemon, what in writes:
            self._fenced(at, source, led[LEASES[daemon]], what)
        return list(self.findings)

    def _event(self, event, decided, led, writes):
        ref, source = event.get("objectRef", {}), event.get("sourceIPs", [""])[0]
        daemon = event["user"]["username"].rpartition(":vpa-")[2]
        at = moment(event["requestReceivedTimestamp"])
        done = event.get("responseStatus", {}).get("code", 0) < 300
        what = f"{event['verb']} {ref.get('resource')}/{ref.get('subresource', '')} {ref.get('namespace')}/{ref.get('name')}"
        if ref.get("resource") == "leases":
            if done and ref.get("name") in led:
                led[ref["name"]].append((at, source))
        elif daemon in ELECTED and done and ref.get("apiGroup") not in ("authentication.k8s.io", "authorization.k8s.io"):
            writes.append((at, source, daemon, what))
        if ref.get("subresource") == "eviction" and done:
            self._aged(at, ref["name"], decided)

    def _decisions(self):
        """{pod: [(times at which it may have been decided to evict it)]}."""
        found = {}
        for replica in self.bed.of("updater"):
            path = self.bed.cluster.processes.folder / f"{replica.name}.ledger"
            for line in open(path) if path.exists() else ():
                with contextlib.suppress(ValueError):
                    entry = json.loads(line)
                    if entry.get("decision") == "evict":
                        wall = int(entry["inputs"]["now"]) / 1e9
                        found.setdefault(entry["pod"], []).extend(replica.clock.real(wall))
        return found

    def _aged(self, at, pod, decided):
        self.evictions += 1
        ages = [at - when for when in decided.get(pod, ()) if at >= when - 1]
        if not ages:
            return  # its ledger died with the process
        self.aged += 1
        age = min(ages)
        stood = sum(max(0, min(end, at) - max(begin, at - age)) for begin, end in self.frozen)
        self.oldest = max(self.oldest, age - stood)
        if age - stood > AGE + 1:
            self.found(f"{pod} was evicted {age:.0f} s after that was decided")

    def _fenced(self, at, source, led, what):
        """Whether another one had taken the Lease when this was written."""
        self.writes += 1
        mine = max((t for t, s in led if s == source and t <= at), default=None)
        if mine is None:
            others = [t for t, s in led if s != source and t < at]
        else:
            others = [t for t, s in led if s != source and mine < t < at]
        if not others or any(others[0] - 30 <= t <= at for t in self.away):
            return  # a killed server forgets to write down what it answered last
        if any(s == source and t <= at + 0.1 and at - t < LATE for s, t in self.heals):
            self.late += 1
            return
        self.found(f"{source} wrote ({what}) {at - others[-1]:.3f} s after another one took the Lease")

    def report(self):
        """Lines for the end."""
        memory = ", ".join(f"{r.name} {r.peak:.1f}" for r in self.bed.replicas)
        return [f"never fewer than {self.worst} of {REPLICAS} pods ready in {self.looks} looks; {self.evictions} evictions, the oldest "
                f"decision of {self.aged} known ones {self.oldest:.1f} s",
                f"{self.writes} writes of who led, {self.late} of them delivered late by a healed network; Lease lost {self.lost} times; "
                f"evictions of a VPA paused {self.paused} times",
                f"sample counts went down by {self.down} at most; resident memory at most, MiB: {memory}"]
