"""A proxy on the loopback that holds back every byte for a while: a slow link, without root."""

import asyncio
import contextlib
import threading
from dataclasses import dataclass, field


@dataclass(slots=True)
class DelayProxy:
    """Forwards `port` (chosen freely) to `target_port`, each direction late by `one_way_seconds`.

    Bytes keep flowing while others are on their way: the delay costs latency, not bandwidth.
    """

    target_port: int
    one_way_seconds: float
    port: int = 0
    _loop: asyncio.AbstractEventLoop = field(default_factory=asyncio.new_event_loop)
    _thread: threading.Thread | None = None

    def start(self) -> None:
        """Listen and forward in a thread of its own."""
        ready = threading.Event()

        async def serve() -> None:
            server = await asyncio.start_server(self._accept, "127.0.0.1", 0)
            self.port = int(server.sockets[0].getsockname()[1])
            ready.set()

        def run() -> None:
            asyncio.set_event_loop(self._loop)
            self._loop.run_until_complete(serve())
            self._loop.run_forever()

        self._thread = threading.Thread(target=run, daemon=True)
        self._thread.start()
        ready.wait(10)

    def stop(self) -> None:
        """Close every connection and end the thread."""
        self._loop.call_soon_threadsafe(self._cancel)
        if self._thread is not None:
            self._thread.join(5)

    def _cancel(self) -> None:
        for task in asyncio.all_tasks(self._loop):
            task.cancel()
        self._loop.call_soon(self._loop.stop)

    async def _accept(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        try:
            far_reader, far_writer = await asyncio.open_connection("127.0.0.1", self.target_port)
        except OSError:
            writer.close()
            return
        await asyncio.gather(self._pump(reader, far_writer), self._pump(far_reader, writer))

    async def _pump(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        """Read at once, write late: a queue of (due time, bytes)."""
        queue: asyncio.Queue[tuple[float, bytes]] = asyncio.Queue()
        clock = asyncio.get_running_loop().time

        async def write_late() -> None:
            while True:
                due, chunk = await queue.get()
                await asyncio.sleep(max(0.0, due - clock()))
                if not chunk:
                    break
                writer.write(chunk)
                await writer.drain()

        late = asyncio.ensure_future(write_late())
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            while chunk := await reader.read(65536):
                queue.put_nowait((clock() + self.one_way_seconds, chunk))
        queue.put_nowait((clock() + self.one_way_seconds, b""))
        with contextlib.suppress(ConnectionError, asyncio.CancelledError):
            await late
        with contextlib.suppress(ConnectionError, OSError):
            writer.close()
