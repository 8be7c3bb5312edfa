// Answers that callers asked us to store: which calls continue from them, who may see them, and what is never stored.
import { randomUUID } from "node:crypto";
import { readdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import type OpenAI from "openai";
import { expect, it } from "vitest";
import { summarizing } from "../../../src/models/formats/responses/compaction.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { callResponses, flaws, type Json, outputOf } from "../../support/responses-call.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });
const client = account.client;
const asking = { url: gateway.url, key: account.key };

const WEATHER = {
  type: "function",
  name: "weather",
  parameters: { type: "object", properties: { city: { type: "string" } } },
} as const;

it.each(["sandbox-responses/ok", "sandbox-messages/ok"])("%s: a chain of ids is one conversation", async (model) => {
  const first = await callResponses(asking, {
    model,
    input: "[[say: I am Ann]]",
    store: true,
    stream: true,
    instructions: "Be brief",
  });
  expect(first.response).toMatchObject({ store: true, previous_response_id: null, status: "completed" });
  // Streamed or whole, the answer is stored as soon as its last event is out.
  const tools = [WEATHER];
  const previous_response_id = String(first.response.id);
  const second = await callResponses(asking, { model, input: "Go on", previous_response_id, store: true, tools });
  expect(second.response).toMatchObject({ store: true, previous_response_id, instructions: null });
  const call = outputOf(second).at(-1) as Json;
  expect(call.type).toBe("function_call");
  const input = [{ type: "function_call_output", call_id: call.call_id, output: "fine" }];
  const third = await callResponses(asking, { model, input, previous_response_id: String(second.response.id), tools });
  expect(third.error).toBeNull();
  expect(third.response).toMatchObject({ store: false, status: "completed" });
  // Each turn sends and pays the whole conversation again, and the caller sees its length.
  const tokens = [first, second, third].map(({ response }) => Number((response.usage as Json).input_tokens));
  expect(tokens[1]).toBeGreaterThan(tokens[0] ?? 0);
  expect(tokens[2]).toBeGreaterThan(tokens[1] ?? 0);
  const fourth = await callResponses(asking, { model, input: "More", previous_response_id: String(third.response.id) });
  expect([fourth.status, fourth.error?.code, fourth.error?.param]).toEqual([
    400,
    "previous_response_not_found",
    "previous_response_id",
  ]);
  expect(fourth.error?.hint).toContain("store: true");
});

it("it is got and deleted by its account alone", async () => {
  const made = await client.responses.create({ model: "sandbox/ok", input: "Hello", store: true });
  const { tools: _tools, ...kept } = (await client.responses.retrieve(made.id)) as OpenAI.Responses.Response;
  expect(kept).toMatchObject({ id: made.id, output: made.output, status: "completed", store: true });
  expect(kept.usage?.total_tokens).toBe(made.usage?.total_tokens);
  const other = await gateway.account();
  await expect(other.client.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
  await expect(other.client.responses.delete(made.id)).rejects.toMatchObject({ status: 404 });
  const stolen = { model: "sandbox/ok", input: "Hello", previous_response_id: made.id };
  await expect(other.client.responses.create(stolen)).rejects.toMatchObject({
    status: 400,
    code: "previous_response_not_found",
  });
  await client.responses.delete(made.id);
  await expect(client.responses.retrieve(made.id)).rejects.toMatchObject({ status: 404 });
});

it("nothing is kept unasked, or of a failed answer, or of one that is too long, which says so", async () => {
  const unasked = await client.responses.create({ model: "sandbox/ok", input: "Hello" });
  expect(unasked).toMatchObject({ store: false });
  await expect(client.responses.retrieve(unasked.id)).rejects.toMatchObject({ status: 404 });
  const broken = await callResponses(asking, {
    model: "sandbox/cut-after-3",
    input: "Hello",
    store: true,
    stream: true,
  });
  await expect(client.responses.retrieve(String(broken.response.id))).rejects.toMatchObject({ status: 404 });
  for (const stream of [false, true]) {
    const input = `[[say: short]] ${"a ".repeat(600_000)}`;
    const long = await callResponses(asking, { model: "openai/gpt-4.1", input, store: true, stream });
    expect(long.response).toMatchObject({ store: false, status: "completed" });
    await expect(client.responses.retrieve(String(long.response.id))).rejects.toMatchObject({ status: 404 });
  }
});

it("a reference to a thought is left out, and one to what is in the conversation already is that", async () => {
  const first = await callResponses(asking, { model: "sandbox/ok", input: "Hello", store: true });
  const reference = { type: "item_reference", id: (outputOf(first)[0] as Json).id };
  const thought = { type: "item_reference", id: "rs_1" };
  const input = [reference, thought, { role: "user", content: "More" }];
  const said = await callResponses(asking, { model: "sandbox/ok", input, previous_response_id: first.response.id });
  expect([said.error, said.headers.get("x-tollgate-dropped")]).toEqual([null, "input.item_reference"]);
});

it("a reference to an item of a kept answer is that item, without previous_response_id, for its account alone", async () => {
  for (const model of ["sandbox/ok", "sandbox-responses/ok"]) {
    const hello = { role: "user", content: `[[say: what was said]] Hello ${randomUUID()}` };
    const first = await callResponses(asking, { model, input: [hello], store: true });
    const [item = {}] = outputOf(first) as Json[];
    const referring = [hello, { type: "item_reference", id: item.id }, { role: "user", content: "More" }];
    const sent = [hello, item, { role: "user", content: "More" }];
    const [named, whole] = [
      await callResponses(asking, { model, input: referring }),
      await callResponses(asking, { model, input: sent }),
    ];
    expect([named.error, named.headers.get("x-tollgate-dropped")]).toEqual([null, null]);
    expect(named.response.usage).toMatchObject({ input_tokens: (whole.response.usage as Json).input_tokens });
    const other = await gateway.account();
    const stolen = await callResponses({ url: gateway.url, key: other.key }, { model, input: referring });
    expect([stolen.status, stolen.error?.param]).toEqual([400, "input.1.id"]);
    await client.responses.delete(String(first.response.id));
    const gone = await callResponses(asking, { model, input: referring });
    expect([gone.status, gone.error?.param]).toEqual([400, "input.1.id"]);
    expect(String(gone.error?.message)).toContain("store: false");
  }
});

it("items of answers are kept where storing is not spoken of, for clients that take it for granted, and never where it is refused", async () => {
  for (const model of ["sandbox/ok", "sandbox-responses/ok", "sandbox-messages/ok"]) {
    for (const stream of [false, true]) {
      const hello = { role: "user", content: `[[say: what was said]] Hello ${randomUUID()}` };
      const first = await callResponses(asking, { model, input: [hello], stream });
      expect(first.response.store).toBe(false);
      const said = outputOf(first).find(({ type }) => type === "message") as Json;
      const more = { role: "user", content: "More" };
      const input = [hello, { type: "item_reference", id: said.id }, more];
      const named = await callResponses(asking, { model, input });
      const { id: _id, ...words } = said;
      const whole = await callResponses(asking, { model, input: [hello, words, more] });
      expect([named.error, named.headers.get("x-tollgate-dropped")]).toEqual([null, null]);
      expect((named.response.usage as Json).input_tokens).toBe((whole.response.usage as Json).input_tokens);
      const other = await gateway.account();
      const stolen = await callResponses({ url: gateway.url, key: other.key }, { model, input });
      expect([stolen.status, stolen.error?.param]).toEqual([400, "input.1.id"]);
    }
    const refused = await callResponses(asking, { model, input: "[[say: a secret]]", store: false });
    const reference = { type: "item_reference", id: (outputOf(refused).at(-1) as Json).id };
    const unkept = await callResponses(asking, { model, input: [reference, { role: "user", content: "More" }] });
    expect([unkept.status, unkept.error?.param]).toEqual([400, "input.0.id"]);
  }
});

it("what is kept of an item unasked cannot be read in the store", async () => {
  const words = `secret-${randomUUID()}`;
  const first = await callResponses(asking, { model: "sandbox/ok", input: `[[say: ${words}]]` });
  const reference = { type: "item_reference", id: (outputOf(first).at(-1) as Json).id };
  const more = await callResponses(asking, {
    model: "sandbox/ok",
    input: [reference, { role: "user", content: "More" }],
  });
  expect(more.error).toBeNull();
  const files = readdirSync(gateway.dataDir, { recursive: true, withFileTypes: true }).filter((file) => file.isFile());
  const holding = files.filter(({ parentPath, name }) => readFileSync(join(parentPath, name)).includes(words));
  expect(holding.map(({ name }) => name)).toEqual([]);
});

it("a conversation is made short by its model, charged as a call, and goes on sealed", async () => {
  const input = [{ role: "user", content: "[[say: the summary]] Hello" }];
  const { status, headers, response } = await callResponses(asking, { model: "sandbox/ok", input }, "/compact");
  expect([status, flaws("CompactResource", response)]).toEqual([200, []]);
  expect(Number(headers.get("x-tollgate-cost-usd"))).toBeGreaterThan(0);
  const [summary] = outputOf({ response });
  expect(summary).toMatchObject({ type: "compaction", encrypted_content: expect.stringMatching(/^tgs1_/) });
  for (const model of ["sandbox/ok", "sandbox-responses/ok", "sandbox-messages/ok"]) {
    const next = await callResponses(asking, { model, input: [summary, { role: "user", content: "More" }] });
    expect(next.error).toBeNull();
  }
  const other = await gateway.account();
  const foreign = await callResponses({ url: gateway.url, key: other.key }, { model: "sandbox/ok", input: [summary] });
  expect([foreign.status, foreign.error?.param]).toEqual([400, "input.0.encrypted_content"]);
  const nameless = await callResponses(asking, { input }, "/compact");
  expect([nameless.status, nameless.error?.param]).toEqual([400, "model"]);
});

it("a summary is never asked to be longer than what can be carried, because one that cannot be is free", () => {
  expect(summarizing({ model: "m", input: "Hello", max_output_tokens: 128_000 })).toMatchObject({
    max_output_tokens: 16_384,
  });
});

it("input tokens are counted for nothing", async () => {
  const before = await client.responses.inputTokens.count({ model: "sandbox/ok", input: "How many are these?" });
  expect(before).toEqual({ object: "response.input_tokens", input_tokens: expect.any(Number) });
  const more = await client.responses.inputTokens.count({
    model: "sandbox/ok",
    input: "How many are these? ".repeat(5_000),
  });
  expect(more.input_tokens / before.input_tokens).toBeGreaterThan(1_000);
});
