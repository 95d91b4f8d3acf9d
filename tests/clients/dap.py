"""A raw client of the Debug Adapter Protocol over a pipe: what VS Code sends and gets, nothing in between.

(Debug Adapter Protocol, "Base protocol": a Content-Length header, a blank line, JSON.)
"""

from __future__ import annotations

import json
import queue
import subprocess
import threading
from collections.abc import Mapping, Sequence
from typing import Any, Callable

SECONDS = 60
Message = dict[str, Any]


class Client:
    """Sends requests, keeps every message in the order in which it came."""

    def __init__(self, line: Sequence[str], environment: Mapping[str, str]) -> None:
        self.adapter = subprocess.Popen(
            line, env=dict(environment), stdin=subprocess.PIPE, stdout=subprocess.PIPE, stderr=subprocess.PIPE
        )
        self.seen: list[Message] = []
        self._unclaimed: list[Message] = []
        self._came: queue.Queue[Message | None] = queue.Queue()
        self._number = 0
        threading.Thread(target=self._read, daemon=True).start()

    def _read(self) -> None:
        stream = self.adapter.stdout
        while header := stream.readline():
            if header.startswith(b"Content-Length:"):
                stream.readline()
                self._came.put(json.loads(stream.read(int(header.split(b":")[1]))))
        self._came.put(None)

    def send(self, command: str, **arguments: Any) -> int:
        """Without waiting; the request's number."""
        self._number += 1
        body = {"seq": self._number, "type": "request", "command": command, "arguments": arguments}
        text = json.dumps(body).encode()
        self.adapter.stdin.write(b"Content-Length: %d\r\n\r\n%s" % (len(text), text))
        self.adapter.stdin.flush()
        return self._number

    def request(self, command: str, **arguments: Any) -> Message:
        """The response."""
        return self.response(self.send(command, **arguments))

    def response(self, number: int) -> Message:
        return self._first(lambda m: m["type"] == "response" and m["request_seq"] == number)

    def event(self, name: str, **wanted: Any) -> Message:
        """The body of the first event of that name (and with these entries) that has not been asked for yet."""

        def is_it(message: Message) -> bool:
            body = message.get("body") or {}
            return message.get("event") == name and all(body.get(k) == v for k, v in wanted.items())

        return self._first(is_it).get("body") or {}

    def _first(self, is_it: Callable[[Message], bool]) -> Message:
        """Adapters answer requests in any order."""
        found = next(filter(is_it, self._unclaimed), None) or self._wait(is_it)
        self._unclaimed = [m for m in self._unclaimed if m is not found]
        return found

    def _wait(self, is_it: Callable[[Message], bool]) -> Message:
        while True:
            try:
                message = self._came.get(timeout=SECONDS)
            except queue.Empty:
                raise AssertionError(f"did not come; seen: {self.seen}") from None
            assert message is not None, f"the adapter ended: {self.adapter.stderr.read().decode(errors='replace')}"
            self.seen.append(message)
            self._unclaimed.append(message)
            if is_it(message):
                return message

    def output(self) -> str:
        """Everything that an IDE's console has shown so far."""
        return "".join(m["body"]["output"] for m in self.seen if m.get("event") == "output")

    def close(self) -> None:
        self.adapter.kill()
        self.adapter.wait()
