// The official client at /responses, over every dialect: whole, streamed, with tools, and charged once.
import type OpenAI from "openai";
import { zodTextFormat } from "openai/helpers/zod";
import { describe, expect, it } from "vitest";
import { z } from "zod";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { NAMES, words } from "./asking.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });
const client = account.client;

const WEATHER = {
  type: "function",
  name: "weather",
  description: "The weather of a city",
  parameters: {
    type: "object",
    properties: { city: { type: "string" } },
    required: ["city"],
    additionalProperties: false,
  },
  strict: false,
} as const;

describe.concurrent.each(NAMES)("%s", (model, slug) => {
  it("answers whole, and says what served and what it cost", async () => {
    const { data, response } = await client.responses.create({ model, input: "hello" }).withResponse();
    expect(data).toMatchObject({ object: "response", status: "completed", model: slug, store: false, error: null });
    expect(data.id).toMatch(/^resp_\w{20,}$/);
    expect(words(data.output_text)).toBe(60);
    const usage = data.usage as NonNullable<typeof data.usage> & { cost: number };
    expect(usage.output_tokens).toBeGreaterThanOrEqual(60);
    expect(response.headers.get("x-tollgate-cost-usd")).toBe(String(usage.cost));
  });

  it("streams the same words to the helper of the client", async () => {
    const whole = await client.responses.create({ model, input: "hello again" });
    const stream = client.responses.stream({ model, input: "hello again" });
    let text = "";
    stream.on("response.output_text.delta", ({ delta }) => {
      text += delta;
    });
    const final = await stream.finalResponse();
    expect(text).toBe(whole.output_text);
    expect(final.status).toBe("completed");
    expect(final.usage?.output_tokens).toBe(whole.usage?.output_tokens);
    expect(final.output.map(({ type }) => type)).toEqual(whole.output.map(({ type }) => type));
  });

  it("calls a tool and takes its result back", async () => {
    const input = [{ role: "user" as const, content: "What is the weather?" }];
    const first = await client.responses.stream({ model, input, tools: [WEATHER] }).finalResponse();
    const [call] = first.output.filter(({ type }) => type === "function_call");
    if (call?.type !== "function_call") throw new Error("no call");
    expect(call.name).toBe("weather");
    expect(JSON.parse(call.arguments)).toEqual({ city: expect.any(String) });
    const echoed = first.output.map((item) => item as OpenAI.Responses.ResponseInputItem);
    const result = { type: "function_call_output" as const, call_id: call.call_id, output: "Sunny" };
    const last = await client.responses.create({ model, tools: [WEATHER], input: [...input, ...echoed, result] });
    expect(words(last.output_text)).toBeGreaterThan(0);
  });

  it("parses what was asked for by a schema", async () => {
    const format = zodTextFormat(z.object({ city: z.string(), days: z.number() }), "weather");
    const parsed = await client.responses.parse({ model, input: "Rome", text: { format } });
    expect(parsed.output_parsed).toEqual({ city: expect.any(String), days: expect.any(Number) });
  });
});
