"""Strangers at the ports of the daemons: thousands of connections, half requests, nonsense, and a stop meanwhile."""
import http.client
import json
import socket
import ssl
import time

from cluster import DAEMONS, until

MANY = 600  # a listener holds 512
STOP_SECONDS, CHECKED_STOP_SECONDS = 5, 15  # a build that is not what is shipped looks for leaks first
REVIEW = {"kind": "AdmissionReview", "apiVersion": "admission.k8s.io/v1", "request": {
    "uid": "from-a-test", "requestKind": {"kind": "Pod"}, "resource": {"group": "", "version": "v1", "resource": "pods"},
    "operation": "CREATE", "object": {"metadata": {"name": "p"}, "spec": {"containers": []}}}}
HALF_TLS = b"\x16\x03\x01\x00\x49\x01\x00\x00"
HALF_HTTP = b"POST / HTTP/1.1\r\nHost: h\r\nContent-Length: 100000\r\n\r\nx"


def crowd(port, first=b"", count=MANY, source="127.0.0.2"):
    """Connections that send a few bytes and then hold their place."""
    held = []
    for _ in range(count):
        try:
            held.append(socket.create_connection(("127.0.0.1", port), 10, (source, 0)))
            held[-1].sendall(first)
        except OSError:
            pass  # made way for another already
    return held


def hang_up(held):
    for connection in held:
        connection.close()


def review(cluster):
    """One answer of the webhook, on a connection of its own."""
    loose = ssl.create_default_context()
    loose.check_hostname, loose.verify_mode = False, ssl.CERT_NONE
    webhook = http.client.HTTPSConnection("127.0.0.1", cluster.webhook_port, context=loose, timeout=10)
    webhook.request("POST", "/", json.dumps(REVIEW), {"Content-Type": "application/json"})
    answer = json.loads(webhook.getresponse().read())
    webhook.close()
    assert answer["response"]["uid"] == "from-a-test" and answer["response"]["allowed"], answer


def probe(cluster, name, path="/health-check"):
    status, _, body = cluster.addresses[name].raw("GET", path)
    assert status == 200, (name, path, status, body)


def stop_quickly(make, daemon):
    begin = time.monotonic()
    status = daemon.stop()
    seconds = time.monotonic() - begin
    assert status == 0, status
    assert seconds < (STOP_SECONDS if make.preset == "release" else CHECKED_STOP_SECONDS), seconds


def scenario_hostile_server_webhook(make):
    """More silent connections than the webhook holds, closed and opened again: it answers, and stops when told to."""
    cluster = make()
    cluster.install()
    daemon = cluster.start_daemon("admission-controller")
    until(lambda: cluster.addresses["admission-controller"].raw("GET", "/readyz")[0] == 200, 30, "the webhook is ready")
    for first in (b"", HALF_TLS, b"GET / HTTP/1.1\r\n\r\n"):
        held = crowd(cluster.webhook_port, first)
        review(cluster)
        probe(cluster, "admission-controller")
        hang_up(held)
        review(cluster)
    held = crowd(cluster.webhook_port) + crowd(cluster.addresses["admission-controller"].port, HALF_HTTP)
    stop_quickly(make, daemon)
    hang_up(held)


def scenario_hostile_server_plain(make):
    """More idle connections than a metrics port holds: probes and metrics are answered, the daemon stops when told to."""
    cluster = make()
    cluster.install()
    for name in DAEMONS:
        daemon = cluster.start_daemon(name)
        port = cluster.addresses[name].port
        for first in (b"", b"GET /metrics HT", HALF_HTTP):
            held = crowd(port, first)
            probe(cluster, name)
            probe(cluster, name, "/metrics")
            if first != HALF_HTTP:
                hang_up(held)
        stop_quickly(make, daemon)
        hang_up(held)
