"""The worlds of a server, and what one client's connection may do with them.

Everything here runs on one event loop, so nothing is locked. A world has one owner, the connection that created it, and
at most one agent, the connection that joined it (usually the same). It lives until it is destroyed, or until its owner
is gone and nobody is joined to it.
"""

from __future__ import annotations

import asyncio
import secrets
from collections.abc import Awaitable, Callable
from typing import Any

from daxlab.adapters import rpc_properties
from daxlab.adapters.rpc_messages import (
    AgentSettings,
    RefusedError,
    WorldSettings,
    changes,
    check_requested,
    code_pb2,
    messages,
    observe,
)
from daxlab.adapters.rpc_room import Program, Room, first_key
from daxlab.levels.spec import Level

RUNNING, TERMINATED, INTERRUPTED = messages.RUNNING, messages.TERMINATED, messages.INTERRUPTED


class World:
    """A level and a seed; and the room, while somebody is joined."""

    def __init__(self, settings: WorldSettings, owner: Session) -> None:
        # Not to be guessed: a client gets into another's world only if it was told the name.
        self.name = secrets.token_hex(8)
        self.settings = settings
        self.owner: Session | None = owner
        self.agent: Session | None = None
        self.room: Room | None = None
        self.specs: Any = None
        self.joined: AgentSettings | None = None
        self.reseeded = False
        """The next episode is the first of the settings, not the one after the last."""
        self.resets: list[asyncio.Future[None]] = []
        """Requests of others to reset this world, which wait for its agent's next step."""

    def first_key(self) -> Any:
        """Of the first episode."""
        return first_key(self.settings.seed, self.settings.episode_id)

    def restart(self) -> None:
        """End the episode that is running; whoever waited for that goes on."""
        if self.room is not None:
            self.room.interrupt()
            if self.reseeded:
                self.room.next_key = self.first_key()
        self.reseeded = False
        for waiting in self.resets:
            if not waiting.done():
                waiting.set_result(None)
        self.resets = []

    def vacate(self) -> None:
        """The agent leaves: the world is as new."""
        self.agent = self.room = self.specs = self.joined = None
        self.restart()


class Worlds:
    """All worlds of a server."""

    def __init__(self, most: int, compiled: Callable[[Level], Awaitable[Program]]) -> None:
        """At most so many at a time; ``compiled`` gives a level's program, sooner or later."""
        self.most = most
        self.compiled = compiled
        self.by_name: dict[str, World] = {}

    def create(self, settings: WorldSettings, owner: Session) -> World:
        """A world of its own for everyone who asks, while there is room."""
        if len(self.by_name) >= self.most:
            raise RefusedError(
                f"there are {self.most} worlds, as many as this server holds; try again when one is left, or start the "
                "server with a larger --max-worlds",
                code_pb2.RESOURCE_EXHAUSTED,
            )
        world = World(settings, owner)
        self.by_name[world.name] = world
        return world

    def get(self, name: str) -> World:
        """The world of that name."""
        if name not in self.by_name:
            raise RefusedError(f"there is no world {name[:80]!r}; create one first", code_pb2.NOT_FOUND)
        return self.by_name[name]

    def release(self, world: World) -> None:
        """Free a world that nobody has any more."""
        if world.owner is None and world.agent is None:
            self.by_name.pop(world.name, None)


class Session:
    """One client's connection. Requests come one at a time; one that is refused changes nothing."""

    def __init__(self, worlds: Worlds) -> None:
        self.worlds = worlds
        self.world: World | None = None
        """The one that is joined."""

    async def answer(self, request: Any) -> Any:
        """The response to a request, or `RefusedError`."""
        kind = request.WhichOneof("payload")
        response = messages.EnvironmentResponse()
        # An empty message is none until it is marked.
        getattr(response, kind).SetInParent()
        done = getattr(self, f"_{kind}")(getattr(request, kind), getattr(response, kind))
        if done is not None:
            await done
        return response

    def end(self) -> None:
        """The client is gone: leave its world and free those that it created."""
        self._leave()
        for world in list(self.worlds.by_name.values()):
            if world.owner is self:
                world.owner = None
                self.worlds.release(world)

    def _joined(self) -> tuple[World, Room]:
        if self.world is None or self.world.room is None:
            raise RefusedError("no world is joined; send a JoinWorldRequest first", code_pb2.FAILED_PRECONDITION)
        return self.world, self.world.room

    def _create_world(self, request: Any, response: Any) -> None:
        response.world_name = self.worlds.create(WorldSettings.read(request.settings), self).name

    async def _join_world(self, request: Any, response: Any) -> None:
        if self.world is not None:
            raise RefusedError("a world is already joined; leave it first", code_pb2.FAILED_PRECONDITION)
        world = self.worlds.get(request.world_name)
        if world.agent is not None:
            raise RefusedError(
                "another client is in this world, and it has one agent; create a world of your own",
                code_pb2.FAILED_PRECONDITION,
            )
        level = world.settings.level
        joined = AgentSettings.of(level).change(request.settings)
        # The place is taken before the compiler is waited for, and given back if that fails or the client goes.
        world.agent, self.world = self, world
        try:
            program = await self.worlds.compiled(level)
        except BaseException:
            self._leave()
            raise
        world.room = Room(program, world.first_key(), joined.width, joined.height, joined.steps(level), joined.cross)
        world.joined, world.specs = joined, joined.specs()
        response.specs.CopyFrom(world.specs)

    def _step(self, request: Any, response: Any) -> None:
        world, room = self._joined()
        asked = check_requested(request.requested_observations)
        if world.resets:
            world.restart()
            response.state = INTERRUPTED
        elif not room.running:
            # The actions of a first step are ignored, good or bad.
            room.begin()
            response.state = RUNNING
        else:
            room.step(changes(request.actions))
            response.state = RUNNING if room.running else TERMINATED if room.ended_for_good else INTERRUPTED
        observe(room, asked, response)

    def _reset(self, request: Any, response: Any) -> None:
        world, room = self._joined()
        assert world.joined is not None
        if request.settings:
            level = world.settings.level
            joined = world.joined.change(request.settings)
            room.size, room.limit, room.cross = (joined.width, joined.height), joined.steps(level), joined.cross
            world.joined, world.specs = joined, joined.specs()
        world.restart()
        response.specs.CopyFrom(world.specs)

    async def _reset_world(self, request: Any, response: Any) -> None:
        world = self.worlds.get(request.world_name)
        settings = world.settings.change(request.settings)
        world.settings, world.reseeded = settings, world.reseeded or bool(request.settings)
        if world.room is None or not world.room.running or world.agent is self:
            world.restart()
            return
        # Its agent hears of it at its next step; so says the protocol.
        waiting: asyncio.Future[None] = asyncio.get_running_loop().create_future()
        world.resets.append(waiting)
        await waiting

    def _leave_world(self, request: Any, response: Any) -> None:
        self._leave()

    def _leave(self) -> None:
        world, self.world = self.world, None
        if world is not None:
            world.vacate()
            self.worlds.release(world)

    def _destroy_world(self, request: Any, response: Any) -> None:
        world = self.worlds.get(request.world_name)
        if world.agent is not None:
            who = "you are" if world.agent is self else "another client is"
            raise RefusedError(f"{who} in this world; it must be left first", code_pb2.FAILED_PRECONDITION)
        del self.worlds.by_name[world.name]

    def _extension(self, request: Any, response: Any) -> None:
        rpc_properties.answer(request, response, self.worlds.most)
