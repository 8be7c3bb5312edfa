"""What libraries upon OpenAI's and Anthropic's Python clients do with a base URL and a key alone. Writes one line of JSON for each answer."""

import json
import sys

import agents
import anthropic
import openai
from pydantic_ai import Agent
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel, OpenAIResponsesModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider

origin, key, model = sys.argv[1:]
BASE_URL = f"{origin}/api/llm/v1"
CALL = '[[call: weather {"city": "Rome"}]]'


def tell(what, **facts):
    print(json.dumps({"what": what, **facts}), flush=True)


def pydantic_ai():
    of_openai = OpenAIProvider(base_url=BASE_URL, api_key=key)
    client = anthropic.AsyncAnthropic(base_url=f"{origin}/api/llm", api_key=key, max_retries=0)
    models = {
        "chat": OpenAIChatModel(model, provider=of_openai),
        "responses": OpenAIResponsesModel(model, provider=of_openai),
        "messages": AnthropicModel(model, provider=AnthropicProvider(anthropic_client=client)),
    }
    for wire, spoken in models.items():
        asked = []
        agent = Agent(spoken)

        @agent.tool_plain
        def weather(city: str) -> str:
            asked.append(city)
            return "sunny"

        first = agent.run_sync(CALL)
        second = agent.run_sync("[[say: fine]]", message_history=first.all_messages())
        tell(f"pydantic-ai {wire}", asked=asked, said=len(first.output) > 0, again=second.output)


def openai_agents():
    agents.set_tracing_disabled(True)
    asked = []

    @agents.function_tool
    def weather(city: str) -> str:
        asked.append(city)
        return "sunny"

    client = openai.AsyncOpenAI(base_url=BASE_URL, api_key=key, max_retries=0)
    guide = agents.Agent(name="Guide", model=agents.OpenAIResponsesModel(model, client), tools=[weather])
    first = agents.Runner.run_sync(guide, CALL)
    second = agents.Runner.run_sync(guide, [*first.to_input_list(), {"role": "user", "content": "[[say: fine]]"}])
    tell("openai-agents", asked=asked, said=len(first.final_output) > 0, again=second.final_output)


pydantic_ai()
openai_agents()
