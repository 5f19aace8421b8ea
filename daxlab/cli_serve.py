"""The command that serves levels to clients of the released environment: `daxlab serve`."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from daxlab.adapters.rpc import Server


@dataclass(frozen=True)
class Serve:
    """Serve every level over dm_env_rpc, for clients of the released Docker image: docs/rpc.md

    Example: daxlab serve --port 10000
    """

    port: int
    """Where to listen; 0 takes a free one and says which."""
    host: str = "localhost"
    """Address to listen at. Other machines are let in only with --plain as well."""
    max_worlds: int = 64
    """Most worlds at a time; a client that asks for one more is refused."""
    plain: bool = False
    """A plain channel without credentials: whoever reaches the port may play."""

    def run(self) -> None:
        """Serve until told to stop."""
        # What gRPC has to say, we say in a sentence.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        import jax

        from daxlab.adapters.rpc import Server

        server = Server(self.port, self.host, self.max_worlds, self.plain, say)
        # A room at a time is quicker on the CPU, and a step need not wake another thread.
        if "JAX_PLATFORMS" not in os.environ:
            jax.config.update("jax_platforms", "cpu")
        jax.config.update("jax_cpu_enable_async_dispatch", False)
        asyncio.run(self._serve(server))

    async def _serve(self, server: Server) -> None:
        from daxlab.levels.registry import levels

        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with server:
            say(f"serving {len(levels())} levels at {self.host}:{server.port}; Ctrl-C ends it")
            await stop.wait()
        say("stopped")


def say(line: str) -> None:
    """A line of the log, at once."""
    print(line, flush=True)
