"""Commands that stay at a terminal: a credential plugin has it while they start, and not afterwards."""
import os
import pty
import signal
import socket
import socketserver
import ssl
import subprocess
import threading
import urllib.parse

import yaml

from cluster import until
from processes import readable

# Says whether it was told that a person is there, and gives a credential that has expired already.
PLUGIN = """#!/bin/sh
echo "$KUBERNETES_EXEC_INFO" | grep -o '"interactive":[a-z]*' >> {log}
echo '{{"kind":"ExecCredential","apiVersion":"client.authentication.k8s.io/v1",'\\
'"status":{{"token":"t","expirationTimestamp":"2020-01-01T00:00:00Z"}}}}'
"""


def serve_tls(plane, folder):
    """A port where the API server speaks TLS: without it nobody is asked for a credential."""
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    subprocess.run(["openssl", "req", "-x509", "-newkey", "rsa:2048", "-nodes", "-subj", "/CN=127.0.0.1", "-keyout", folder / "key.pem",
                    "-out", folder / "cert.pem"], check=True, capture_output=True)
    context.load_cert_chain(folder / "cert.pem", folder / "key.pem")
    to = urllib.parse.urlsplit(plane.url)

    def copy(source, sink):
        try:
            while piece := source.recv(65536):
                sink.sendall(piece)
            sink.shutdown(socket.SHUT_RDWR)
        except OSError:  # one of the two has gone
            pass

    class Relay(socketserver.BaseRequestHandler):
        def handle(self):
            with context.wrap_socket(self.request, server_side=True) as near, \
                    socket.create_connection((to.hostname, to.port)) as far:
                threading.Thread(target=copy, args=(far, near), daemon=True).start()
                copy(near, far)

    server = socketserver.ThreadingTCPServer(("127.0.0.1", 0), Relay)
    server.daemon_threads = True
    threading.Thread(target=server.serve_forever, daemon=True).start()
    return server.server_address[1]


def scenario_cli_terminal(make):
    """top and dash with a credential that expires: the plugin asks at the start alone, and both can be ended."""
    cluster = make()
    folder = cluster.processes.folder
    config = yaml.safe_load(open(cluster.plane.kubeconfig))
    log, plugin = folder / "asked", folder / "plugin"
    plugin.write_text(PLUGIN.format(log=log))
    plugin.chmod(0o755)
    for user in config["users"]:
        user["user"] = {"exec": {"apiVersion": "client.authentication.k8s.io/v1", "command": str(plugin),
                                 "interactiveMode": "IfAvailable"}}
    config["clusters"][0]["cluster"] = {"server": f"https://127.0.0.1:{serve_tls(cluster.plane, folder)}", "insecure-skip-tls-verify": True}
    kubeconfig = folder / "plugin.kubeconfig"
    kubeconfig.write_text(yaml.safe_dump(config))
    for words, end in (("top", "--every=1"), b"q"), (("dash",), b"\x03"):
        log.write_text("")
        child, terminal = pty.fork()
        if child == 0:
            os.execve(cluster.programs / "kubectl-vpa", ["kubectl-vpa", *words, f"--kubeconfig={kubeconfig}"],
                      {**os.environ, **cluster.env, "TERM": "xterm"})
        said, status = [], []

        def read():
            while readable(terminal, 0.1):
                said.append(os.read(terminal, 65536))
            return b"".join(said)

        try:
            until(lambda: read() and log.read_text(), 30, f"the first question of {words[0]}")
            if words[0] == "dash":
                until(lambda: b"http://127.0.0.1" in read(), 30, "the address of the page")
            else:
                until(lambda: read() and log.read_text().count("\n") > 1, 40, "another question, when the pause is over")
            assert log.read_text().split() == ['"interactive":true'] + ['"interactive":false'] * log.read_text().count("false")
            os.write(terminal, end)
            until(lambda: status.append(os.waitpid(child, os.WNOHANG)) or status[-1][0], 20, f"{words[0]} ended")
            assert status[-1][1] == 0, (words, status[-1], read())
        finally:
            if not (status and status[-1][0]):
                os.kill(child, signal.SIGKILL)
                os.waitpid(child, 0)
            os.close(terminal)


scenario_cli_terminal.tiers, scenario_cli_terminal.why = ["sim"], "the plugin gives a token that no real server takes"
