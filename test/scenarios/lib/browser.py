"""A browser without a screen that opens a page of ours, drives it and takes pictures of it (Debian's chromium)."""
import fcntl
import html
import json
import os
import pathlib
import re
import shutil
import subprocess
import time

from processes import readable

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser")

# Runs when the page has been loaded, as its last script: what `drive` returns, and what went wrong meanwhile.
PROBE = """<script>
"use strict";
(() => {
  const seen = [];
  for (const name of ["error", "warn"]) {
    const before = console[name];
    console[name] = (...words) => { seen.push(name + ": " + words.join(" ")); before.apply(console, words); };
  }
  addEventListener("error", event => seen.push("error: " + event.message));
  addEventListener("securitypolicyviolation", event => seen.push("policy: " + event.violatedDirective + " " + event.blockedURI));
  const pause = ms => new Promise(done => setTimeout(done, ms));
  addEventListener("load", async () => {
    let result = null;
    try { result = await (async () => { DRIVE })(); } catch (error) { seen.push("thrown: " + error.stack); }
    const out = document.createElement("pre");
    out.id = "probe";
    out.textContent = JSON.stringify({ result, seen, loaded: performance.getEntriesByType("navigation")[0].domComplete });
    document.body.append(out);
    document.documentElement.dataset.probed = "1";
  });
})();
</script>"""


def run(folder, *words):
    done = subprocess.run([PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage",
                           "--no-first-run", "--disable-extensions", "--disable-background-networking",
                           "--disable-component-update", "--virtual-time-budget=20000",
                           f"--user-data-dir={pathlib.Path(folder) / 'browser'}", *words],
                          capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stderr[-2000:]
    return done.stdout


def drive(folder, page, script):
    """Opens a copy of the page with a script in it; gives {"result", "seen", "loaded" (milliseconds)}."""
    text = pathlib.Path(page).read_text()
    copy = pathlib.Path(folder) / "driven.html"
    copy.write_text(text.replace("</head>", PROBE.replace("DRIVE", script) + "</head>", 1))
    dom = run(folder, "--dump-dom", copy.as_uri())
    found = re.search(r'<pre id="probe">(.*?)</pre>', dom, re.S)
    assert found, dom[-500:]
    return json.loads(html.unescape(found.group(1)))


def picture(folder, address, name, width, height, dark=False):
    path = pathlib.Path(folder) / f"{name}.png"
    run(folder, f"--screenshot={path}", f"--window-size={width},{height}", "--hide-scrollbars",
        f"--blink-settings=preferredColorScheme={0 if dark else 1}", address)
    assert path.stat().st_size > 1000
    return path


KEYS = {"Tab": (9, ""), "Enter": (13, "\r"), "ArrowDown": (40, "")}


class Keyboard:
    """A page that is driven by keys as a person presses them: the browser gets key events, and no script of ours clicks.

        with browser.Keyboard(folder, address, 400, 800) as keys:
            keys.press("Tab")
            keys.ask("document.activeElement.textContent")
    """

    def __init__(self, folder, address, width, height):
        self.folder, self.address, self.size = folder, address, (width, height)
        self.number, self.rest, self.session = 0, b"", None

    def __enter__(self):
        there, self.to = os.pipe()
        self.back, here = os.pipe()

        def place():  # the browser reads descriptor 3 and writes descriptor 4
            # Copies above all others first: there and here may be any number, 3 and 4 among them.
            reads, writes = (fcntl.fcntl(end, fcntl.F_DUPFD, 100) for end in (there, here))
            os.dup2(reads, 3), os.dup2(writes, 4)
        self.browser = subprocess.Popen(
            [PROGRAM, "--headless=new", "--no-sandbox", "--disable-gpu", "--disable-dev-shm-usage", "--no-first-run",
             "--disable-extensions", "--disable-background-networking", "--remote-debugging-pipe",
             f"--user-data-dir={pathlib.Path(self.folder) / 'browser-keys'}", "about:blank"],
            preexec_fn=place, close_fds=False, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL)
        os.close(there), os.close(here)
        try:
            self.open()
        except BaseException:
            self.__exit__()
            raise
        return self

    def open(self):
        target = self.call("Target.createTarget", url="about:blank")["targetId"]
        self.session = self.call("Target.attachToTarget", targetId=target, flatten=True)["sessionId"]
        self.call("Emulation.setDeviceMetricsOverride", width=self.size[0], height=self.size[1], deviceScaleFactor=1, mobile=False)
        self.call("Page.enable")
        self.call("Page.navigate", url=self.address)
        while self.message().get("method") != "Page.loadEventFired":
            pass

    def __exit__(self, *what):
        self.browser.kill()
        self.browser.wait()
        os.close(self.to), os.close(self.back)

    def message(self):
        end = time.monotonic() + 120
        while b"\0" not in self.rest:
            assert readable(self.back, max(0, end - time.monotonic())), "the browser does not answer"
            piece = os.read(self.back, 1 << 16)
            assert piece, "the browser has ended"
            self.rest += piece
        text, self.rest = self.rest.split(b"\0", 1)
        return json.loads(text)

    def call(self, method, **params):
        self.number += 1
        call = {"id": self.number, "method": method, "params": params}
        if self.session:
            call["sessionId"] = self.session
        os.write(self.to, json.dumps(call).encode() + b"\0")
        while True:
            answer = self.message()
            if answer.get("id") == self.number:
                assert "error" not in answer, (method, answer)
                return answer["result"]

    def press(self, key):
        code, text = KEYS[key]
        common = {"key": key, "code": key, "windowsVirtualKeyCode": code}
        self.call("Input.dispatchKeyEvent", type="keyDown" if text else "rawKeyDown", text=text, **common)
        self.call("Input.dispatchKeyEvent", type="keyUp", **common)

    def write(self, text):
        for letter in text:
            self.call("Input.dispatchKeyEvent", type="char", text=letter, key=letter)

    def ask(self, expression):
        """The value of a JavaScript expression, awaited."""
        got = self.call("Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True)
        assert "exceptionDetails" not in got, got
        return got["result"].get("value")
