"""What the protocol's Python client does with an address and a key alone. Writes one line of JSON for each answer."""

import asyncio
import json
import sys

from mcp import ClientSession

try:
    import httpx2
    from mcp.client.streamable_http import streamable_http_client
except ImportError:
    from mcp.client.streamable_http import streamablehttp_client

url, key = sys.argv[1:]


def tell(what, **facts):
    print(json.dumps({"what": what, **facts}), flush=True)


def transport():
    """The majors differ in who makes the client of HTTP."""
    headers = {"Authorization": f"Bearer {key}"}
    if "streamable_http_client" in globals():
        return streamable_http_client(url, http_client=httpx2.AsyncClient(headers=headers))
    return streamablehttp_client(url, headers=headers)


def field(result, new, old):
    return getattr(result, new) if hasattr(result, new) else getattr(result, old)


async def main():
    async with transport() as (read, write, *_):
        async with ClientSession(read, write) as session:
            await session.initialize()
            tools = (await session.list_tools()).tools
            tell("tools", first=tools[0].name, last=tools[-1].name)
            ran = await session.call_tool("run_action", {"action": "brave/search", "params": {"q": "tolls"}})
            tell("run", ok=field(ran, "structured_content", "structuredContent")["ok"])
            wrong = await session.call_tool("run_action", {"action": "nonsense"})
            tell("wrong", error=field(wrong, "is_error", "isError"))


asyncio.run(main())
