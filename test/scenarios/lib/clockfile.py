"""The clock that daemons take from a file (include/vpa/daemon/clock.h)."""
import mmap
import pathlib
import struct
import time

CLOCK = struct.Struct("=qqqdqq")
CLOCK_MAGIC = 0x31304b4c434d554c
CLOCK_ALONE = 0x41304b4c434d554c


class ClockFile:
    """The time of one process or several: that of the machine `behind` seconds ago, at `rate` times its speed from now on, with an
    offset of the wall clock that tests move. At another speed no server lives by it."""

    def __init__(self, path, rate=1.0, behind=0):
        self.path, self.rate = pathlib.Path(path), rate
        self.base = time.time_ns() - behind * 10**9, time.clock_gettime_ns(time.CLOCK_MONOTONIC)
        self.path.write_bytes(CLOCK.pack(CLOCK_MAGIC if rate == 1 else CLOCK_ALONE, *self.base, rate, 0, 0))
        with open(self.path, "r+b") as file:
            self.map = mmap.mmap(file.fileno(), CLOCK.size)
        self.history = [(0.0, 0)]  # (since when, seconds)

    def move(self, seconds):
        struct.pack_into("=q", self.map, CLOCK.size - 8, seconds * 10**9)
        self.history.append((time.time(), seconds))

    def real(self, wall):
        """The times at which this clock may have shown `wall`."""
        offsets = [(since, self.history[i + 1][0] if i + 1 < len(self.history) else float("inf"), offset)
                   for i, (since, offset) in enumerate(self.history)]
        return [wall - offset for since, end, offset in offsets if since <= wall - offset <= end] or [wall]

    def now(self):
        """Seconds since 1970, without the offset."""
        wall, monotonic = self.base
        return (wall + (time.clock_gettime_ns(time.CLOCK_MONOTONIC) - monotonic) * self.rate) / 1e9
