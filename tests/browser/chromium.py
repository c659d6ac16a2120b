"""A headless Chromium, driven over the two pipes that it offers; nothing but the standard library.

The DevTools protocol is JSON: commands with an id are answered, events come in between.
"""

from __future__ import annotations

import base64
import fcntl
import json
import os
import select
import shutil
import subprocess
import time
from pathlib import Path
from types import TracebackType
from typing import Any

FLAGS = (
    "--headless=new",
    "--no-sandbox",
    "--disable-gpu",
    "--disable-dev-shm-usage",
    "--disable-background-networking",
    "--no-first-run",
    "--hide-scrollbars",
    "--remote-debugging-pipe",
)
PATIENCE_S = 60.0


def chromium() -> str | None:
    """The browser's path; None where there is none."""
    return next(filter(None, map(shutil.which, ("chromium", "chromium-browser"))), None)


class Browser:
    """`with Browser(folder) as browser: browser.open(uri)`; one page."""

    def __init__(self, profile: Path) -> None:
        self.events: list[dict[str, Any]] = []
        self._number = 0
        self._buffer = b""
        command, self._to = _pipe()
        self._from, answer = _pipe()
        program = chromium()
        assert program is not None
        self._process = subprocess.Popen(
            [program, *FLAGS, f"--user-data-dir={profile}", "about:blank"],
            preexec_fn=lambda: (os.dup2(command, 3), os.dup2(answer, 4)),
            pass_fds=(3, 4),
            stdout=subprocess.DEVNULL,
            stderr=subprocess.DEVNULL,
        )
        os.close(command)
        os.close(answer)
        self._session: str | None = None

    def __enter__(self) -> Browser:
        targets = self.send("Target.getTargets")["targetInfos"]
        page = next(target["targetId"] for target in targets if target["type"] == "page")
        attached = self.send("Target.attachToTarget", targetId=page, flatten=True)
        self._session = attached["sessionId"]
        for domain in ("Page", "Runtime", "Network", "Log", "Accessibility", "DOM"):
            self.send(f"{domain}.enable")
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self._process.terminate()
        self._process.wait(10)
        os.close(self._to)
        os.close(self._from)

    def send(self, method: str, **parameters: Any) -> dict[str, Any]:
        """A command's result; AssertionError with the browser's words when it fails."""
        self._number += 1
        message = {"id": self._number, "method": method, "params": parameters}
        if self._session:
            message["sessionId"] = self._session
        os.write(self._to, json.dumps(message).encode() + b"\0")
        while True:
            heard = self._hear(PATIENCE_S)
            if heard.get("id") == self._number:
                assert "error" not in heard, f"{method}: {heard.get('error')}"
                result: dict[str, Any] = heard["result"]
                return result

    def open(self, uri: str) -> None:
        """Load a page and wait until it says that it is ready."""
        self.send("Page.navigate", url="about:blank")
        self.events.clear()
        self.send("Page.navigate", url=uri)
        self.wait("document.documentElement?.dataset.ready === 'true'")

    def js(self, expression: str) -> Any:
        """The value of an expression; an exception in the page is one here."""
        found = self.send(
            "Runtime.evaluate", expression=expression, returnByValue=True, awaitPromise=True
        )
        assert "exceptionDetails" not in found, found["exceptionDetails"]
        return found["result"].get("value")

    def wait(self, condition: str) -> None:
        """Until the condition holds."""
        end = time.monotonic() + PATIENCE_S
        while not self.js(condition):
            assert time.monotonic() < end, f"never came true: {condition}"
            time.sleep(0.02)

    def show(self, width: int, height: int, *, dark: bool = False, phone: bool = False) -> None:
        """The size of the window, the scheme, and whether it is a phone's."""
        self.send(
            "Emulation.setDeviceMetricsOverride",
            width=width, height=height, deviceScaleFactor=2 if phone else 1, mobile=phone,
        )  # fmt: skip
        scheme = [{"name": "prefers-color-scheme", "value": "dark" if dark else "light"}]
        self.send("Emulation.setEmulatedMedia", features=scheme)

    def click(self, selector: str, x: float = 0.5, y: float = 0.5) -> None:
        """A real click, at a part of the element's box."""
        at = self.at(selector, x, y)
        self.mouse("mouseMoved", *at)
        self.mouse("mousePressed", *at, buttons=1)
        self.mouse("mouseReleased", *at)

    def at(self, selector: str, x: float = 0.5, y: float = 0.5) -> tuple[float, float]:
        """Where that part of the element is on screen, after scrolling to it."""
        box = self.js(
            f"(() => {{ const e = document.querySelector({json.dumps(selector)});"
            " e.scrollIntoView({block: 'center'}); const b = e.getBoundingClientRect();"
            " return [b.x, b.y, b.width, b.height]; })()"
        )
        return box[0] + x * box[2], box[1] + y * box[3]

    def mouse(self, kind: str, x: float, y: float, **more: Any) -> None:
        """One event of the mouse."""
        self.send(
            "Input.dispatchMouseEvent",
            **{"type": kind, "x": x, "y": y, "button": "left", "clickCount": 1, **more},
        )

    def key(self, name: str, text: str = "") -> None:
        """Press and let go of a key."""
        for kind in ("keyDown", "keyUp"):
            typed = {"text": text} if text and kind == "keyDown" else {}
            code = {"Tab": 9, "Enter": 13, " ": 32}.get(name, 0)
            self.send(
                "Input.dispatchKeyEvent", type=kind, key=name, windowsVirtualKeyCode=code, **typed
            )

    def picture(self, target: Path) -> None:
        """The whole page as PNG."""
        found = self.send("Page.captureScreenshot", format="png", captureBeyondViewport=True)
        target.write_bytes(base64.b64decode(found["data"]))

    def told(self, *methods: str) -> list[dict[str, Any]]:
        """Parameters of the events of that kind since the page was opened."""
        self.js("1")
        return [event["params"] for event in self.events if event.get("method") in methods]

    def _hear(self, patience_s: float) -> dict[str, Any]:
        while b"\0" not in self._buffer:
            ready, _, _ = select.select([self._from], [], [], patience_s)
            assert ready, "the browser says nothing"
            heard = os.read(self._from, 1 << 20)
            assert heard, "the browser is gone"
            self._buffer += heard
        text, _, self._buffer = self._buffer.partition(b"\0")
        message: dict[str, Any] = json.loads(text)
        if "id" not in message:
            self.events.append(message)
        return message


def _pipe() -> tuple[int, int]:
    """A pipe whose ends have numbers that the browser's own (3 and 4) cannot meet."""
    return tuple(fcntl.fcntl(end, fcntl.F_DUPFD_CLOEXEC, 10) for end in os.pipe())  # type: ignore[return-value]
