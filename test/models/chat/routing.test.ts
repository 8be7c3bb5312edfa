// Routing beyond the catalog's order: conversations that stay where they were served, deployments that share their calls, routes by
// measured speed, and the trace with the reasons.
import type OpenAI from "openai";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { type RecordingVendor, startRecordingVendor } from "./recording-vendor.ts";

const MODEL = "moonshotai/kimi-k3";
const SELLERS = ["moonshot", "avian"];

let vendor: RecordingVendor;
let gateway: TestGateway;
let client: OpenAI;

beforeAll(async () => {
  vendor = await startRecordingVendor();
  const keys = SELLERS.flatMap((id) => [
    [`${id.toUpperCase()}_API_KEY`, `key-of-${id}`],
    [`${id.toUpperCase()}_BASE_URL`, `${vendor.url}/${id}/v1`],
  ]);
  gateway = await startTestGateway({
    SANDBOX: "0",
    ...Object.fromEntries(keys),
    AZURE_OPENAI_API_KEY: "key-of-azure",
    AZURE_OPENAI_BASE_URL: `${vendor.url}/azure-openai/v1`,
    AZURE_OPENAI_DEPLOYMENTS: "gpt-4.1=east, gpt-4.1=west*3",
  });
  client = (await gateway.account({ kind: "personal", creditCents: 100_000 })).client;
});

afterAll(async () => {
  expect(await gateway.doctor()).toEqual([]);
  await gateway.stop();
  await vendor.close();
});

beforeEach(() => vendor.forget());

const words = (text: string) => [{ role: "user" as const, content: `${text} [[pace: 100000]]` }];

async function ask(text: string, more: object = {}, headers: Record<string, string> = {}) {
  const body = { model: MODEL, messages: words(text), ...more };
  const traced = { headers: { "x-tollgate-trace": "1", ...headers } };
  const { data, response } = await client.chat.completions.create(body, traced).withResponse();
  const { attempts } = (data as unknown as { tollgate: { attempts: { provider: string }[] } }).tollgate;
  return { provider: attempts.at(-1)?.provider ?? "", routes: response.headers.get("x-tollgate-routes") ?? "" };
}

// This test runs first: measurements by other tests would count, too.
it("sort by latency and by throughput go by what was measured", async () => {
  for (const only of SELLERS) {
    const pace = only === "avian" ? "[[pace: 20]]" : "[[pace: 100000]]";
    const messages = [{ role: "user" as const, content: `slow or fast [[words: 12]] ${pace}` }];
    const stream = client.chat.completions.stream({ model: MODEL, messages, ...{ provider: { only: [only] } } });
    await stream.finalChatCompletion();
  }
  const fast = await ask("which", { provider: { sort: "throughput" } });
  expect(fast.provider).toBe("moonshot");
  expect((await ask("which", { provider: { sort: "latency" } })).routes).toMatch(/^1 /);
  const { response } = await client.chat.completions
    .create({ model: MODEL, messages: words("x"), ...{ provider: { sort: "latency" } } })
    .withResponse();
  expect(response.headers.get("x-tollgate-dropped")).toBeNull();
});

// No conversation has moved before: then the session is read once the stream has begun, when most of its request is freed.
it("the first conversation that moves may be a stream of a session that a header names", async () => {
  const first = (await ask("where now?")).provider;
  const other = SELLERS.find((id) => id !== first) ?? "";
  vendor.refuse(`key-of-${first}`, 422);
  const streamed = { model: MODEL, messages: words("as a stream"), stream: true as const };
  for await (const _ of await client.chat.completions.create(streamed, { headers: { "x-session-id": "session-0" } }));
  vendor.forget();
  expect((await ask("not streamed", {}, { "x-session-id": "session-0" })).provider).toBe(other);
});

it("a conversation goes on where it was served last, and others do not follow it", async () => {
  const first = (await ask("what is sold here?")).provider;
  const other = SELLERS.find((id) => id !== first) ?? "";
  // It fails once, so that the first conversation moves; a single failure rests no provider.
  vendor.refuse(`key-of-${first}`, 422);
  expect((await ask("the one that moves")).provider).toBe(other);
  vendor.forget();
  // A later turn begins like the first one.
  const later = (begin: string) => ({
    messages: [...words(begin), { role: "assistant" as const, content: "So it is." }, ...words("and?")],
  });
  const again = await ask("", later("the one that moves"));
  expect(again.provider).toBe(other);
  expect(again.routes).toContain(`1 ${other}/`);
  expect(again.routes).toContain("the conversation was served there");
  expect((await ask("", later("another one altogether"))).provider).toBe(first);
  // The same prompt alone is not a turn of that conversation, and stays at its provider.
  expect((await ask("the one that moves")).provider).toBe(first);
  expect((await ask("", later("the one that moves"))).provider).toBe(other);
  // An explicit order in the request wins.
  expect((await ask("", { ...later("the one that moves"), provider: { order: [first] } })).provider).toBe(first);
});

it("a session that its client names is one conversation, whatever is said in it, and of one account alone", async () => {
  const first = (await ask("the beginning", { prompt_cache_key: "session-1" })).provider;
  const other = SELLERS.find((id) => id !== first) ?? "";
  vendor.refuse(`key-of-${first}`, 422);
  await ask("the second turn", { prompt_cache_key: "session-1" });
  await ask("by a header", {}, { "x-session-id": "session-2" });
  vendor.forget();
  expect((await ask("something else", { prompt_cache_key: "session-1" })).provider).toBe(other);
  expect((await ask("also else", {}, { "x-session-id": "session-2" })).provider).toBe(other);
  const stranger = (await gateway.account({ kind: "personal", creditCents: 1_000 })).client;
  const body = { model: MODEL, messages: words("mine"), prompt_cache_key: "session-1" };
  await stranger.chat.completions.create(body);
  expect(vendor.arrivals.at(-1)?.path.startsWith(`/${first}/`)).toBe(true);
});

it("deployments of one model share its calls by weight, a conversation always at the same one", async () => {
  const asked: string[] = [];
  for (let at = 0; at < 60; at++) {
    const body = { model: "openai/gpt-4.1", messages: words(`conversation ${at}`) };
    await client.chat.completions.create(body);
    asked.push(String(vendor.arrivals.at(-1)?.body.model));
  }
  const west = asked.filter((name) => name === "west").length;
  expect(asked.filter((name) => name === "east").length + west).toBe(60);
  // Three quarters of sixty deterministic draws.
  expect(west).toBeGreaterThan(35);
  expect(west).toBeLessThan(58);
  await client.chat.completions.create({ model: "openai/gpt-4.1", messages: words("conversation 0") });
  expect(vendor.arrivals.at(-1)?.body.model).toBe(asked[0]);
});

it("a trace says of every route why it was tried when it was, or was not", async () => {
  const { routes } = await ask("only one", { provider: { only: ["avian"] } });
  expect(routes).toMatch(/^1 avian\/moonshotai\/kimi-k3; - moonshot\/kimi-k3 left out by provider$/);
  const body = { model: MODEL, messages: words("no trace") };
  const { response } = await client.chat.completions.create(body).withResponse();
  expect(response.headers.get("x-tollgate-routes")).toBeNull();
});
