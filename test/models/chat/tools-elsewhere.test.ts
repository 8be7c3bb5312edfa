// Models whose vendor accepts tools only at a different address: each request goes to the address that accepts it.
import { expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { startVendor, type VendorRequest } from "../../support/vendor-server.ts";

const vendor = forFile(await startVendor());
const gateway = forFile(await startTestGateway({ OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: `${vendor.url}/v1` }));
const account = await gateway.account({ kind: "personal", creditCents: 10_000 });

const tools = [{ type: "function", function: { name: "weather", parameters: { type: "object", properties: {} } } }];
const MESSAGES = [{ role: "user", content: "How is the weather?" }];

/** The vendor's answer, since the first of these models, to tools in the chat wire. */
const REFUSAL =
  "Function tools with reasoning_effort are not supported for this model in /v1/chat/completions. Please use /v1/responses instead.";

function strict(request: VendorRequest): { status: number; body: unknown } {
  const body = request.body as { tools?: unknown };
  if (request.url === "/v1/chat/completions" && body.tools !== undefined) {
    const error = { message: REFUSAL, type: "invalid_request_error", param: "reasoning_effort", code: null };
    return { status: 400, body: { error } };
  }
  const usage = { input_tokens: 10, output_tokens: 20, output_tokens_details: { reasoning_tokens: 12 } };
  const call = { type: "function_call", id: "fc_1", call_id: "call_1", name: "weather", arguments: "{}" };
  if (request.url === "/v1/responses") return { status: 200, body: { status: "completed", output: [call], usage } };
  const message = { role: "assistant", content: "Fine." };
  const counted = { prompt_tokens: 10, completion_tokens: 20 };
  return { status: 200, body: { choices: [{ index: 0, message, finish_reason: "stop" }], usage: counted } };
}

async function ask(body: Record<string, unknown>) {
  vendor.answers((response, request) => {
    const { status, body: said } = strict(request);
    response.writeHead(status, { "content-type": "application/json" }).end(JSON.stringify(said));
  });
  const response = await postAs(account.key, `${gateway.url}/api/llm/v1/chat/completions`, {
    messages: MESSAGES,
    ...body,
  });
  const json = (await response.json()) as { choices?: [{ message: unknown; finish_reason: string }]; usage?: unknown };
  return { status: response.status, json, urls: vendor.asked.map(({ url }) => url) };
}

it.each(["openai/gpt-5.4", "openai/gpt-5.5", "openai/gpt-5.6-luna"])(
  "%s calls tools, with an effort and without",
  async (model) => {
    for (const effort of [{}, { reasoning_effort: "high" }]) {
      const { status, json, urls } = await ask({ model, tools, ...effort });
      expect([status, urls]).toEqual([200, ["/v1/responses"]]);
      expect(json.choices?.[0]).toMatchObject({
        finish_reason: "tool_calls",
        message: { tool_calls: [{ id: "call_1", function: { name: "weather", arguments: "{}" } }] },
      });
      expect(json.usage).toMatchObject({ prompt_tokens: 10, completion_tokens: 20 });
    }
  },
);

it("without tools they are asked as any other", async () => {
  const { status, urls } = await ask({ model: "openai/gpt-5.5", stop: "END", n: 2 });
  expect([status, urls]).toEqual([200, ["/v1/chat/completions"]]);
});

it("models that take tools like everything else are asked there", async () => {
  expect((await ask({ model: "openai/gpt-5.1", tools })).urls).toEqual(["/v1/chat/completions"]);
});
