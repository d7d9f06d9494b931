"""A model that follows a script, behind the same protocol as a real one: a server on loopback, words in a stream.

It knows three things: to look an order up that is spoken of, to ask for a refund, and to say what came of it.
"""

import json
import re
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any


def reply(messages: list[dict[str, Any]]) -> tuple[str, list[tuple[str, dict[str, Any]]]]:
    """What the script says to a conversation: words, or tools with what they are given."""
    last = messages[-1]
    if last["role"] == "tool":
        return _of_result(messages), []
    order = re.search(r"order (\d+)", last["content"])
    if order is None:
        return f"Hello! You said: {last['content']} How can I help with an order?", []
    if "refund" in last["content"]:
        return "", [("refund", {"order": int(order[1]), "cents": _cents(messages, int(order[1]))})]
    return "", [("look_up_order", {"order": int(order[1])})]


def _cents(messages: list[dict[str, Any]], order: int) -> int:
    """What an order cost, as far as it was looked up."""
    for message in messages:
        if message["role"] == "tool" and f'"order":{order},' in message["content"] and '"cents"' in message["content"]:
            return int(json.loads(message["content"])["cents"])
    return 100


def _of_result(messages: list[dict[str, Any]]) -> str:
    result = messages[-1]["content"]
    if not result.startswith("{"):
        return f"I am sorry, that is not possible: {result}."
    told = json.loads(result)
    if "receipt" in told:
        return f"Done: {told['cents'] / 100:.2f} for order {told['order']} are on their way back to you."
    return f"Order {told['order']} is {told['status']}."


class Scripted(BaseHTTPRequestHandler):
    """Answers `POST .../chat/completions`, streaming."""

    protocol_version = "HTTP/1.1"
    pause = 0.0  # seconds between words

    def do_POST(self) -> None:
        asked = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.send_response(200)
        self.send_header("Content-Type", "text/event-stream")
        self.send_header("Connection", "close")
        self.end_headers()
        for delta in self.deltas(asked["messages"]):
            self.chunk({"delta": delta, "index": 0, "finish_reason": None})
            time.sleep(self.pause)
        self.chunk({"delta": {}, "index": 0, "finish_reason": "stop"})
        self.wfile.write(b"data: [DONE]\n\n")

    def deltas(self, messages: list[dict[str, Any]]) -> Iterator[dict[str, Any]]:
        """The parts of what is said, as they are sent."""
        text, calls = reply(messages)
        for word in re.findall(r"\S+\s*", text):
            yield {"content": word}
        for index, (name, arguments) in enumerate(calls):
            call = {"index": index, "id": f"call_{len(messages)}_{index}", "type": "function"}
            yield {"tool_calls": [{**call, "function": {"name": name, "arguments": ""}}]}
            yield {"tool_calls": [{"index": index, "function": {"arguments": json.dumps(arguments)}}]}

    def chunk(self, choice: dict[str, Any]) -> None:
        """Send a part."""
        told = {"id": "1", "object": "chat.completion.chunk", "created": 0, "model": "scripted", "choices": [choice]}
        self.wfile.write(b"data: " + json.dumps(told).encode() + b"\n\n")
        self.wfile.flush()

    def log_message(self, format: str, *args: Any) -> None:
        """Say nothing."""


class Server(ThreadingHTTPServer):
    daemon_threads = True

    def handle_error(self, request: Any, client_address: Any) -> None:
        """Say nothing of clients that went away."""


@contextmanager
def serving(handler: type[Scripted] = Scripted) -> Iterator[str]:
    """Serve the model while the block is open; gives the address that the client is to have as its base URL."""
    server = Server(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, kwargs={"poll_interval": 0.05}, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_address[1]}/v1"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()
