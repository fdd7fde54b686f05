"""The test server as a process of its own: `python -m tests.api_server KUBECONFIG_FILE`, until it is interrupted.

It knows the built-in kinds alone, as a fresh API server does, so that whoever uses it installs the CRDs.
"""

import contextlib
import sys
import threading
from pathlib import Path

from tests.api_server.server import ApiServer

if __name__ == "__main__":
    with ApiServer() as server, contextlib.suppress(KeyboardInterrupt):
        Path(sys.argv[1]).write_text(server.kubeconfig())
        print(f"serving {server.url}", flush=True)
        threading.Event().wait()
