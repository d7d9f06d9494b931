"""A process that has imported the command line once, and forks for each command that is to be run.

Importing takes ten times as long as most commands; here each still gets a process of its own, with its own stdin,
stdout, stderr, environment and folder, and ends as Python ends.

    python forks.py SOCKET    # the number of a descriptor to be asked through
"""

import json
import os
import socket
import sys
from typing import Any

from looms.commands import main
from looms.commands.app import run


def serve(asked: socket.socket) -> None:
    """Answer each request with an exit code; returns in the child that is to be the command."""
    while True:
        data, descriptors, _, _ = socket.recv_fds(asked, 1 << 20, 3)
        if not data:
            sys.exit()
        child = os.fork()
        if not child:
            asked.close()
            become(json.loads(data), descriptors)
            return
        for descriptor in descriptors:
            os.close(descriptor)
        _, status = os.waitpid(child, 0)
        asked.sendall(b"%d\n" % os.waitstatus_to_exitcode(status))


def become(request: Any, descriptors: list[int]) -> None:
    for number, descriptor in enumerate(descriptors):
        os.dup2(descriptor, number)
        os.close(descriptor)
    os.environ.clear()
    os.environ.update(request["environment"])
    os.chdir(request["folder"])
    sys.argv[1:] = request["args"]


if __name__ == "__main__":
    sys.argv[0] = "looms"
    run(["--version"])  # typer imports more when it is asked for the first time
    serve(socket.socket(fileno=int(sys.argv[1])))
    main()
