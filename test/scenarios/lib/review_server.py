"""A server of admission webhooks on a loopback port, over TLS: says what a function says, and nothing else."""
import base64
import http.server
import json
import pathlib
import ssl
import threading

import certs


class ReviewServer:
    """answer(path, review) is the "response" of each AdmissionReview; it runs in the thread of the connection.

    .url(name) is where a webhook is asked, .ca what its caBundle is.
    """

    def __init__(self, folder, answer):
        folder = pathlib.Path(folder)
        self.ca = base64.b64encode(certs.make(folder, names=("127.0.0.1",)).pem).decode()
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(folder / "serverCert.pem", folder / "serverKey.pem")
        self.server = http.server.ThreadingHTTPServer(("127.0.0.1", 0), handler(context, answer))
        threading.Thread(target=self.server.serve_forever, daemon=True).start()

    def url(self, name=""):
        return f"https://127.0.0.1:{self.server.server_port}{name}"

    def close(self):
        self.server.shutdown()
        self.server.server_close()


def handler(context, answer):
    class Handler(http.server.BaseHTTPRequestHandler):
        protocol_version, disable_nagle_algorithm = "HTTP/1.1", True

        def setup(self):
            self.request = context.wrap_socket(self.request, server_side=True)
            super().setup()

        def do_POST(self):
            review = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            response = {"uid": review["request"]["uid"], **answer(self.path, review)}
            body = json.dumps({"apiVersion": review["apiVersion"], "kind": review["kind"], "response": response}).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(body)))
            self.end_headers()
            self.wfile.write(body)

        def log_message(self, *_):
            pass
    return Handler
