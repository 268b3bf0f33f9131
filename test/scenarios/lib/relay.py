"""A way to a server that can be cut: connections stay open and nothing comes through, as when a network is partitioned, or all
are reset and no new one comes about."""
import contextlib
import socket
import struct
import threading

RESET = struct.pack("ii", 1, 0)  # SO_LINGER: close() sends RST


class Relay:
    """source: the address from which the server is reached, so that it can tell callers apart."""

    def __init__(self, host, port, source=None, listen=("127.0.0.1", 0)):
        self.target, self.source, self.open, self.sockets = (host, port), source, threading.Event(), set()
        self.open.set()
        self.refusing, self.lock = False, threading.Lock()
        self.listener = socket.create_server(listen)
        self.port = self.listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def _accept(self):
        with contextlib.suppress(OSError):
            while True:
                client, _ = self.listener.accept()
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client):
        """One connection, from its beginning to its end."""
        self.open.wait()
        server = None
        with contextlib.suppress(OSError):
            if not self.refusing:
                server = socket.create_connection(self.target, source_address=(self.source, 0) if self.source else None)
        pair = [s for s in (client, server) if s]
        with self.lock:
            self.sockets.update(pair)
        if server:
            back = threading.Thread(target=self._pump, args=(server, client), daemon=True)
            back.start()
            self._pump(client, server)
            back.join()
        with self.lock:
            self.sockets.difference_update(pair)
        for one in pair:
            with contextlib.suppress(OSError):
                if not server:
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                one.close()

    def _pump(self, source, sink):
        with contextlib.suppress(OSError):
            while data := source.recv(65536):
                self.open.wait()
                sink.sendall(data)
        with contextlib.suppress(OSError):
            sink.shutdown(socket.SHUT_WR)

    def cut(self):
        """Nothing comes through."""
        self.open.clear()

    def refuse(self):
        """Whoever is connected is reset, and whoever comes."""
        self.refusing = True
        self._reset()

    def heal(self):
        self.refusing = False
        self.open.set()

    def _reset(self):
        with self.lock:
            for one in self.sockets:
                with contextlib.suppress(OSError):
                    one.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, RESET)
                    one.shutdown(socket.SHUT_RDWR)

    def close(self):
        """Ends everything that was connected."""
        self.listener.close()
        self._reset()
        self.open.set()
