"""A SOCKS5 proxy that knows names which nobody else can look up, as the far end of an SSH tunnel does."""
import contextlib
import struct

from relay import Relay

NAME = 3  # address type; 1 is IPv4, 4 is IPv6


class Socks(Relay):
    """Whatever is asked for leads to that server; .asked has what it was: (address type, address, port)."""

    def __init__(self, host, port):
        self.asked = []
        super().__init__(host, port)

    def _serve(self, client):
        with contextlib.suppress(OSError, struct.error):
            stream = client.makefile("rb", buffering=0)
            stream.read(struct.unpack("BB", stream.read(2))[1])  # ways to sign in
            client.sendall(b"\x05\x00")
            kind = struct.unpack("BBBB", stream.read(4))[3]
            address = stream.read(stream.read(1)[0] if kind == NAME else 16 if kind == 4 else 4)
            self.asked.append((kind, address, struct.unpack(">H", stream.read(2))[0]))
            client.sendall(b"\x05\x00\x00\x01" + bytes(6))
            super()._serve(client)
