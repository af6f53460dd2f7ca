"""Chains of durable service calls by Restate.

    restate_chain.py PORT

Serves them at a port; the server calls them.
"""

import asyncio
import sys

import hypercorn.asyncio
import hypercorn.config
import restate

port = sys.argv[1]
steps = restate.Service("Steps")
chains = restate.Service("Chains")


@steps.handler()
async def step(ctx: restate.Context, number: int) -> int:
    return number


@chains.handler()
async def run(ctx: restate.Context, count: int) -> int:
    for number in range(count):
        await ctx.service_call(step, arg=number)
    return count


config = hypercorn.config.Config()
config.bind = [f"127.0.0.1:{port}"]
config.accesslog = None
config.loglevel = "ERROR"
asyncio.run(hypercorn.asyncio.serve(restate.app([steps, chains]), config))
