"""A client of the Model Context Protocol: PyPI's mcp, as it is.

    client.py URL MODE [KEY]

MODE is legacy (a handshake), auto, or the version of a protocol without a handshake. Reads lines of JSON, {"list": true} or
{"call": NAME, "arguments": {...}}, and answers each with one: what the client made of the answer. The first line says what was
agreed on when the connection was made. Ends with its standard input.
"""

import asyncio
import json
import sys

import httpx2
from mcp import MCPError
from mcp.client.client import Client
from mcp.client.streamable_http import streamable_http_client


def tell(line):
    sys.stdout.write(json.dumps(line) + "\n")
    sys.stdout.flush()


def plain(model):
    return model.model_dump(mode="json", by_alias=True, exclude_none=True)


async def answer(client, line):
    if "list" in line:
        return plain(await client.list_tools(cache_mode="bypass"))
    return plain(await client.call_tool(line["call"], line.get("arguments")))


async def main(url, mode, key=None):
    headers = {} if key is None else {"Authorization": "Bearer " + key}
    async with httpx2.AsyncClient(headers=headers, timeout=120, trust_env=False) as http:
        async with Client(streamable_http_client(url, http_client=http), mode=mode) as client:
            tell({"version": client.protocol_version, "server": client.server_info and plain(client.server_info)})
            loop = asyncio.get_running_loop()
            while line := await loop.run_in_executor(None, sys.stdin.readline):
                try:
                    tell({"result": await answer(client, json.loads(line))})
                except MCPError as error:
                    tell({"error": plain(error.error)})


def causes(error):
    if isinstance(error, BaseExceptionGroup):
        return [cause for inner in error.exceptions for cause in causes(inner)]
    return [error]


try:
    asyncio.run(main(*sys.argv[1:]))
except BaseException as error:
    tell({"failed": [f"{type(cause).__name__}: {cause}" for cause in causes(error)]})
