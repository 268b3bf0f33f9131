"""A second mutating webhook, asked after the VPA's: it gives pods a container that their template does not have."""
import base64
import http.server
import json
import ssl
import subprocess
import threading

from processes import free_port


class SidecarWebhook:
    """Serves and registers itself for one namespace; certificates are made by `gencerts` into `folder`."""

    def __init__(self, client, gencerts, folder, namespace, container):
        subprocess.run([gencerts, "--dir", folder, "--host", "127.0.0.1"], check=True, capture_output=True)
        patch = json.dumps([{"op": "add", "path": "/spec/containers/-", "value": container}])

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps({
                    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                    "response": {"uid": asked["request"]["uid"], "allowed": True, "patchType": "JSONPatch",
                                 "patch": base64.b64encode(patch.encode()).decode()}}).encode()
                self.send_response(200)
                self.send_header("Content-Type", "application/json")
                self.send_header("Content-Length", str(len(answer)))
                self.end_headers()
                self.wfile.write(answer)

            def log_message(self, *_):
                pass
        port = free_port()
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", port), Handler)
        self.server.daemon_threads = True
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "serverCert.pem", folder / "serverKey.pem")
        self.server.socket = context.wrap_socket(self.server.socket, server_side=True, do_handshake_on_connect=False)
        threading.Thread(target=self.server.serve_forever, daemon=True).start()
        client.create({
            "apiVersion": "admissionregistration.k8s.io/v1", "kind": "MutatingWebhookConfiguration",
            "metadata": {"name": "zz-sidecar"},  # configurations are asked in the order of their names
            "webhooks": [{
                "name": "sidecar.example.com", "admissionReviewVersions": ["v1"], "sideEffects": "None",
                "failurePolicy": "Fail", "timeoutSeconds": 5,
                "namespaceSelector": {"matchLabels": {"kubernetes.io/metadata.name": namespace}},
                "rules": [{"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["pods"]}],
                "clientConfig": {"url": f"https://127.0.0.1:{port}/",
                                 "caBundle": base64.b64encode((folder / "caCert.pem").read_bytes()).decode()}}]})

    def close(self):
        self.server.shutdown()
        self.server.server_close()
