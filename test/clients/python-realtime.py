"""OpenAI's realtime client in Python: a tool call, an interruption, and a lost network. Writes one line of JSON for each."""

import asyncio
import base64
import json
import math
import struct
import sys

from openai import AsyncOpenAI
from websockets.exceptions import ConnectionClosed

origin, key, model = sys.argv[1:]
address = origin.replace("http", "ws", 1) + "/v1"
client = AsyncOpenAI(api_key=key, base_url=f"{origin}/v1", websocket_base_url=address, max_retries=0)
LONG = "[[say: one two three four five six]] [[wait: 300]]"


def tell(what, **facts):
    print(json.dumps({"what": what, **facts}), flush=True)


def message(text):
    return {"type": "message", "role": "user", "content": [{"type": "input_text", "text": text}]}


def tone(seconds):
    """Sound of 16 bits at 24 kHz."""
    samples = (int(8_000 * math.sin(2 * math.pi * 440 * at / 24_000)) for at in range(int(24_000 * seconds)))
    return base64.b64encode(b"".join(struct.pack("<h", one) for one in samples)).decode()


async def until(connection, kind):
    async for event in connection:
        if event.type == "error":
            raise RuntimeError(event.error.message)
        if event.type == kind:
            return event
    raise RuntimeError(f"the session ended without {kind}")


async def tool_call():
    weather = {"type": "function", "name": "weather", "parameters": {"type": "object", "properties": {}}}
    async with client.realtime.connect(model=model) as connection:
        await connection.session.update(session={"type": "realtime", "tools": [weather], "output_modalities": ["text"]})
        await connection.conversation.item.create(item=message('[[call: weather {"city":"Oslo"}]]'))
        await connection.response.create()
        call = await until(connection, "response.function_call_arguments.done")
        await until(connection, "response.done")
        output = {"type": "function_call_output", "call_id": call.call_id, "output": "[[say: sunny]]"}
        await connection.conversation.item.create(item=output)
        await connection.response.create()
        text = await until(connection, "response.output_text.delta")
        done = await until(connection, "response.done")
        tell("tool call", arguments=json.loads(call.arguments), text=text.delta, status=done.response.status)


async def interruption():
    async with client.realtime.connect(model=model) as connection:
        await connection.conversation.item.create(item=message(LONG))
        await connection.response.create()
        await until(connection, "response.output_audio.delta")
        await connection.input_audio_buffer.append(audio=tone(0.1))
        done = await until(connection, "response.done")
        tell("interruption", status=done.response.status, reason=done.response.status_details.reason)


async def lost_network():
    async with client.realtime.connect(model=model) as connection:
        await connection.conversation.item.create(item=message(LONG))
        await connection.response.create()
        await until(connection, "response.output_audio.delta")
        connection._connection.transport.abort()
        try:
            await until(connection, "response.done")
        except ConnectionClosed:
            tell("cut")
    async with client.realtime.connect(model=model) as connection:
        await connection.conversation.item.create(item=message("[[say: again]]"))
        await connection.response.create()
        done = await until(connection, "response.done")
        tell("lost network", status=done.response.status)


async def main():
    await tool_call()
    await interruption()
    await lost_network()


asyncio.run(main())
