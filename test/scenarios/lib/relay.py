"""A way to a server that can be cut: connections stay open and nothing comes through, as when a network is partitioned."""
import contextlib
import socket
import threading


class Relay:
    def __init__(self, host, port):
        self.target, self.open, self.sockets = (host, port), threading.Event(), []
        self.open.set()
        self.listener = socket.create_server(("127.0.0.1", 0))
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                self.open.wait()
                server = socket.create_connection(self.target)
                self.sockets += [client, server]
                for source, sink in ((client, server), (server, client)):
                    threading.Thread(target=self._pump, args=(source, sink), daemon=True).start()

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.open.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def cut(self):
        self.open.clear()

    def heal(self):
        self.open.set()

    def close(self):
        """Ends everything that was connected."""
        self.listener.close()
        for one in self.sockets:
            one.close()
        self.open.set()
