"""What OpenAI's and Anthropic's Python clients do with a base URL and a key alone. Writes one line of JSON for each answer."""

import json
import sys

import anthropic
import openai

origin, key, model = sys.argv[1:]


def tell(what, **facts):
    print(json.dumps({"what": what, **facts}), flush=True)


@anthropic.beta_tool
def weather(city: str) -> str:
    """The weather of a city."""
    return "sunny"


def main():
    chat = openai.OpenAI(api_key=key, base_url=f"{origin}/api/llm/v1", max_retries=0)
    asked = [{"role": "user", "content": "[[say: one two three]]"}]
    whole = chat.chat.completions.create(model=model, messages=asked)
    tell("chat", text=whole.choices[0].message.content, tokens=whole.usage.completion_tokens)
    pieces = [chunk.choices[0].delta.content or "" for chunk in chat.chat.completions.create(model=model, messages=asked, stream=True) if chunk.choices]
    tell("chat stream", text="".join(pieces))
    response = chat.responses.create(model=model, input="[[say: one two three]]")
    tell("responses", text=response.output_text, status=response.status, tokens=response.usage.output_tokens)
    with chat.responses.stream(model=model, input="[[say: one two three]]") as stream:
        kinds = [event.type for event in stream]
        final = stream.get_final_response()
    tell("responses stream", text=final.output_text, first=kinds[0], last=kinds[-1])
    messages = anthropic.Anthropic(api_key=key, base_url=f"{origin}/api/llm", max_retries=0)
    message = messages.messages.create(model=model, max_tokens=200, messages=asked)
    tell("messages", text=message.content[0].text, stop=message.stop_reason, tokens=message.usage.output_tokens)
    with messages.messages.stream(model=model, max_tokens=200, messages=asked) as stream:
        text = "".join(stream.text_stream)
        final = stream.get_final_message()
    tell("messages stream", text=text, tokens=final.usage.output_tokens)
    runner = messages.beta.messages.tool_runner(
        model=model, max_tokens=1000, tools=[weather], messages=[{"role": "user", "content": '[[call: weather {"city": "Rome"}]]'}]
    )
    tell("tool runner", stop=runner.until_done().stop_reason)
    counted = messages.messages.count_tokens(model=model, messages=asked)
    tell("count_tokens", some=counted.input_tokens > 0)
    try:
        chat.responses.create(model="nobody/knows-it", input="x")
    except openai.NotFoundError as error:
        tell("unknown model", code=error.code, status=error.status_code)
    try:
        messages.messages.create(model="nobody/knows-it", max_tokens=1, messages=asked)
    except anthropic.NotFoundError as error:
        tell("unknown model in messages", status=error.status_code, type=error.body["error"]["type"])


main()
