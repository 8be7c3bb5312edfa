"""What Google's Python client does with a base URL and a key alone. Writes one line of JSON for each answer."""

import json
import sys

from google import genai
from google.genai import errors, types
from pydantic import BaseModel

origin, key, model = sys.argv[1:]
asked = []


def tell(what, **facts):
    print(json.dumps({"what": what, **facts}), flush=True)


def weather(city: str) -> str:
    """The weather of a city.

    Args:
        city: its name
    """
    asked.append(city)
    return "sunny"


class Person(BaseModel):
    name: str


def main():
    client = genai.Client(api_key=key, http_options=types.HttpOptions(base_url=f"{origin}/api/llm"))
    question = "[[say: one two three]]"
    whole = client.models.generate_content(model=model, contents=question)
    tell("whole", text=whole.text, tokens=whole.usage_metadata.candidates_token_count)
    chunks = list(client.models.generate_content_stream(model=model, contents=question))
    text = "".join(chunk.text or "" for chunk in chunks)
    tell("stream", text=text, tokens=chunks[-1].usage_metadata.candidates_token_count)
    # The client calls the function by itself, and asks again with what it said.
    config = types.GenerateContentConfig(tools=[weather])
    answer = client.models.generate_content(model=model, contents='[[call: weather {"city": "Rome"}]]', config=config)
    tell("function", said=bool(answer.text), asked=asked)
    config = types.GenerateContentConfig(response_mime_type="application/json", response_schema=Person)
    person = client.models.generate_content(model=model, contents="Who?", config=config)
    tell("schema", fields=list(json.loads(person.text)))
    tell("count", some=client.models.count_tokens(model=model, contents=question).total_tokens > 0)
    try:
        client.models.generate_content(model="maker/nothing", contents="Hi")
    except errors.ClientError as error:
        tell("unknown", code=error.code)


main()
