"""Recorded answers of API servers: where they are, and their replay by the program `contract`."""
import http.server
import json
import pathlib
import subprocess
import threading

import yaml

ROOT = pathlib.Path(__file__).resolve().parents[3]
OWN = ROOT / "test/contract/data"  # pairs of our own, recorded by test/contract/record
USERS = (("admin-token", "admin", "u-admin", "system:masters"), ("alice-token", "alice", "u-alice", "devs"))


def recordings(name, folder):
    """{topic: path} of a set: ../shared/golden when it is there, else the project's own selection, unpacked into folder."""
    shared = ROOT.parent / "shared/golden" / name
    if shared.is_dir():
        return {p.stem: p for p in sorted(shared.glob("*.jsonl"))}
    target = pathlib.Path(folder) / name
    target.mkdir()
    topics = {}
    for line in open(ROOT / f"test/golden/data/{name}.jsonl"):
        wrapped = json.loads(line)
        topics.setdefault(wrapped["file"], []).append(wrapped["case"])
    for topic, cases in topics.items():
        (target / f"{topic}.jsonl").write_text("".join(json.dumps(c) + "\n" for c in cases))
    return {t: target / f"{t}.jsonl" for t in sorted(topics)}


def upstream_definitions():
    """Our CRDs without the members and rules that Plumb adds: what the recordings were made with."""
    found = [d for d in yaml.safe_load_all((ROOT / "deploy/vpa-v1-crd-gen.yaml").read_text()) if d]
    for version in (v for d in found for v in d["spec"]["versions"] if v["name"] == "v1"):
        spec = version["schema"]["openAPIV3Schema"]["properties"].get("spec", {})
        if "selector" not in spec.get("properties", {}):
            continue
        del spec["properties"]["selector"], spec["x-kubernetes-validations"]
        spec["required"] = ["targetRef"]
        policies = spec["properties"]["resourcePolicy"]["properties"]["containerPolicies"]
        policies["items"]["properties"].pop("memoryAggregationInterval", None)
    return found


class Compactor:
    """A URL at which a POST makes the server forget its history, whatever kind of server it is."""

    def __init__(self, plane):
        class Handler(http.server.BaseHTTPRequestHandler):
            def do_POST(self):
                plane.compact()
                self.send_response(200)
                self.send_header("Content-Length", "0")
                self.end_headers()

            def log_message(self, *_):
                pass
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.url = f"http://127.0.0.1:{self.server.server_port}/"
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def replay(cluster, folder, minor, controllers):
    """(lines of the report, pairs, differences)."""
    compactor = Compactor(cluster.plane)
    command = [cluster.programs / "contract", "--minor", str(minor), "--compact", compactor.url]
    for secret, name, _, _ in USERS:
        command += ["--token", f"{name}={secret}"]
    if cluster.plane.ca:
        command += ["--ca", cluster.plane.ca]
    if cluster.tier != "sim":
        command.append("--lagging")
    if controllers:
        command.append("--controllers")
    try:
        done = subprocess.run([*map(str, command), str(folder), cluster.plane.url], stdin=subprocess.DEVNULL,
                              capture_output=True, text=True, timeout=400)
    finally:
        compactor.close()
    lines = (done.stdout + done.stderr).splitlines()
    passed, failed = (int(w.split()[0]) for w in lines[-1].removeprefix("contract: ").split(", ")[:2])
    return lines[:-1], passed + failed, failed
