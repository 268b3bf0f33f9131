"""Webhooks of others, asked after the VPA's: they change pods, or refuse them."""
import base64
import http.server
import json
import ssl
import threading

import certs
from processes import free_port


class PodWebhook:
    """Serves and registers itself for the new pods of one namespace: applies a JSON Patch, or refuses them with a text.
    Its certificates go into `folder`."""

    def __init__(self, client, folder, namespace, patch=None, refusal=None):
        certs.make(folder)
        if refusal:
            verdict = {"allowed": False, "status": {"code": 403, "reason": "Forbidden", "message": refusal}}
        else:
            verdict = {"allowed": True, "patchType": "JSONPatch",
                       "patch": base64.b64encode(json.dumps(patch).encode()).decode()}

        class Handler(http.server.BaseHTTPRequestHandler):
            protocol_version = "HTTP/1.1"

            def do_POST(self):
                asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
                answer = json.dumps({
                    "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
                    "response": {"uid": asked["request"]["uid"], **verdict}}).encode()
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


class SidecarWebhook(PodWebhook):
    """Gives pods a container that their template does not have."""

    def __init__(self, client, folder, namespace, container):
        super().__init__(client, folder, namespace,
                         [{"op": "add", "path": "/spec/containers/-", "value": container}])
