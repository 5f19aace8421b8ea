"""The command that serves levels to clients of the released environment: `daxlab serve`."""

from __future__ import annotations

import asyncio
import os
import signal
from dataclasses import dataclass


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
        # A room at a time is quicker on the CPU, and a step need not wake another thread.
        os.environ.setdefault("JAX_PLATFORMS", "cpu")
        # What gRPC has to say, we say in a sentence.
        os.environ.setdefault("GRPC_VERBOSITY", "NONE")
        import jax

        jax.config.update("jax_cpu_enable_async_dispatch", False)
        asyncio.run(self._serve())

    async def _serve(self) -> None:
        from daxlab.adapters.rpc import Server
        from daxlab.levels.registry import levels

        stop = asyncio.Event()
        for number in (signal.SIGINT, signal.SIGTERM):
            asyncio.get_running_loop().add_signal_handler(number, stop.set)
        async with Server(
            self.port, self.host, self.max_worlds, self.plain, lambda line: print(line, flush=True)
        ) as on:
            print(f"serving {len(levels())} levels at {self.host}:{on.port}; Ctrl-C ends it", flush=True)
            await stop.wait()
        print("stopped", flush=True)
