// The responses wire over a WebSocket, as its client sees it: each message is a separate call with its own hold and posting.
import { describe, expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, withinAMinute } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { expectResponse, type Json } from "../../support/responses-call.ts";
import { openResponses, refusedSocket } from "../../support/responses-socket.ts";

const MODEL = "sandbox-responses/ok";

const gateway = forFile(await startTestGateway());
const account = await gateway.account({ creditCents: 100_000 });

const open = (key = account.key, headers: Readonly<Record<string, string>> = {}) =>
  openResponses({ url: gateway.url, key, headers });

interface Posting {
  readonly kind: string;
}

async function postings(key: string): Promise<readonly Posting[]> {
  const headers = { authorization: `Bearer ${key}` };
  const answer = await fetch(`${gateway.url}/api/v1/transactions`, { headers });
  const { transactions } = (await answer.json()) as { transactions: Posting[] };
  return transactions.filter(({ kind }) => kind !== "topup");
}

function textOf(response: Json): string {
  const items = response.output as { type: string; content?: { text: string }[] }[];
  return items.flatMap(({ content }) => content?.map(({ text }) => text) ?? []).join("");
}

describe.each(["sandbox-responses/ok", "sandbox-messages/ok", "sandbox/ok"])("%s", (model) => {
  test("is answered in the events of a stream, each a message, and charged once", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const socket = await open(own.key);
    const said = await socket.ask({ model, input: "[[say: one two three]]" });
    expect(said.types.slice(0, 3)).toEqual(["created", "in_progress", "output_item.added"]);
    expect(said.last.type).toBe("response.completed");
    expectResponse(said.response);
    expect(textOf(said.response)).toBe("one two three");
    const all = await postings(own.key);
    expect(all).toHaveLength(1);
    expect(Number((said.response.usage as Json).cost)).toBeGreaterThan(0);
  });

  test("goes on from the answer before, though it is stored nowhere", async () => {
    const socket = await open();
    const first = await socket.ask({ model, store: false, input: "Remember cobalt. [[say: OK]]" });
    const on = { model, store: false, previous_response_id: first.response.id };
    const second = await socket.ask({ ...on, input: "[[say: still here]]" });
    expect(textOf(second.response)).toBe("still here");
    const tokens = ({ response }: { response: Json }) => Number((response.usage as Json).input_tokens);
    expect(tokens(second)).toBeGreaterThan(tokens(first));
    const elsewhere = await open();
    const lost = await elsewhere.ask({ ...on, previous_response_id: second.response.id, input: "And now?" });
    expect([lost.last.status, lost.error?.code]).toEqual([400, "previous_response_not_found"]);
    const afresh = await elsewhere.ask({ model, input: "[[say: anew]]" });
    expect(textOf(afresh.response)).toBe("anew");
  });
});

describe("a socket", () => {
  test("answers one message after the other, however they come", async () => {
    const socket = await open();
    for (const word of ["first", "second", "third"])
      socket.send({ type: "response.create", model: MODEL, input: `[[say: ${word}]]` });
    const texts = [await socket.answer(), await socket.answer(), await socket.answer()].map((said) =>
      textOf(said.response),
    );
    expect(texts).toEqual(["first", "second", "third"]);
  });

  test("forgets what a failed request went on from", async () => {
    const socket = await open();
    const first = await socket.ask({ model: MODEL, store: false, input: "Remember ember." });
    const on = { model: MODEL, store: false, previous_response_id: first.response.id };
    const output = { type: "function_call_output", call_id: "call_missing", output: "of no call" };
    const failed = await socket.ask({ ...on, input: [output] });
    expect([failed.last.status, failed.error?.param]).toEqual([400, "input.0.call_id"]);
    const again = await socket.ask({ ...on, input: "And?" });
    expect(again.error?.code).toBe("previous_response_not_found");
  });

  test("takes the output of a tool that the answer before has called", async () => {
    const socket = await open();
    const tools = [{ type: "function", name: "weather", parameters: { type: "object", properties: {} } }];
    const first = await socket.ask({ model: MODEL, store: false, tools, input: "[[call: weather {}]]" });
    const call = (first.response.output as Json[]).find(({ type }) => type === "function_call");
    const output = { type: "function_call_output", call_id: call?.call_id, output: "Sunny" };
    const on = { model: MODEL, store: false, tools, previous_response_id: first.response.id };
    const second = await socket.ask({ ...on, input: [output] });
    expect(second.last.type).toBe("response.completed");
  });

  test("is made ready for free, and goes on from what it was made ready with", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const socket = await open(own.key);
    const ready = await socket.ask({ model: MODEL, store: false, generate: false, input: "Remember slate." });
    expect(ready.types).toEqual(["created", "completed"]);
    expectResponse(ready.response);
    expect(ready.response.output).toEqual([]);
    expect(await postings(own.key)).toEqual([]);
    const on = { model: MODEL, store: false, previous_response_id: ready.response.id };
    const second = await socket.ask({ ...on, input: "[[say: slate]]" });
    expect(textOf(second.response)).toBe("slate");
    expect(await postings(own.key)).toHaveLength(1);
  });

  test("is made ready with what is long, and goes on from it, only by who has something to pay with", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const socket = await open(poor.key);
    const ready = (more: Json) => socket.ask({ model: MODEL, store: false, generate: false, ...more });
    const long = await ready({ input: "x".repeat(70_000) });
    expect([long.last.status, long.error?.code]).toEqual([402, "insufficient_balance"]);
    let previous = (await ready({ input: "x".repeat(60_000) })).response.id;
    previous = (await ready({ previous_response_id: previous, input: "x".repeat(4_000) })).response.id;
    expect(previous).toMatch(/^resp_/);
    const grown = await ready({ previous_response_id: previous, input: "x".repeat(4_000) });
    expect([grown.last.status, grown.error?.code]).toEqual([402, "insufficient_balance"]);
  });

  test("is asked for an answer where generate is said within a tool alone", async () => {
    const tools = [
      { type: "function", name: "draw", parameters: { type: "object", properties: {}, default: { generate: false } } },
    ];
    const said = await (await open()).ask({ model: MODEL, store: false, tools, input: "[[say: drawn]]" });
    expect(textOf(said.response)).toBe("drawn");
  });

  test("goes on from an answer that was kept over HTTP", async () => {
    const kept = await postAs(account.key, `${gateway.url}/v1/responses`, {
      model: MODEL,
      store: true,
      input: "Remember teal.",
    });
    const { id } = (await kept.json()) as { id: string };
    const socket = await open();
    const said = await socket.ask({ model: MODEL, previous_response_id: id, input: "[[say: teal]]" });
    expect(textOf(said.response)).toBe("teal");
  });

  test.each([
    ["what is no JSON", "{", 400, null],
    ["a list", "[]", 400, null],
    ["another kind of message", { type: "session.update" }, 400, "type"],
    ["no kind", { model: MODEL, input: "Hi" }, 400, "type"],
    ["no model", { type: "response.create", input: "Hi" }, 400, "model"],
    ["a model that is not there", { type: "response.create", model: "none/at-all", input: "Hi" }, 404, "model"],
    [
      "what changes the price",
      { type: "response.create", model: MODEL, input: "Hi", background: true },
      400,
      "background",
    ],
    [
      "a temperature that is none",
      { type: "response.create", model: MODEL, input: "Hi", temperature: 9 },
      400,
      "temperature",
    ],
  ])("tells %s, names the field, and goes on", async (_, message, status, param) => {
    const socket = await open();
    socket.send(message);
    const { last, error } = await socket.answer();
    expect([last.type, last.status, error?.param ?? null]).toEqual(["error", status, param]);
    expect(error?.hint).toBeTruthy();
    expect(last.headers).toMatchObject({ "x-request-id": expect.stringMatching(/^req_/) });
    const next = await socket.ask({ model: MODEL, input: "[[say: well]]" });
    expect(textOf(next.response)).toBe("well");
  });

  test("tells an answer that breaks in one event, the last of it, and is not charged for it", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const socket = await open(own.key);
    const said = await socket.ask({ model: "sandbox-responses/cut-after-3", input: "Hello" });
    expect(said.last.type).toBe("response.failed");
    expect(said.types.filter((type) => type === "error")).toEqual([]);
    expect((said.response.error as Json).code).toBe("server_error");
    const next = await socket.ask({ model: MODEL, input: "[[say: well]]" });
    expect(textOf(next.response)).toBe("well");
    expect(await postings(own.key)).toHaveLength(1);
  });

  test("that closes in an answer pays for what came, and no more than it held", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const socket = await open(own.key);
    socket.send({ type: "response.create", model: `${MODEL}-at-50`, input: "[[words: 500]]" });
    await new Promise<void>((resolve) => {
      let seen = 0;
      socket.socket.addEventListener("message", () => ++seen === 20 && resolve());
    });
    socket.socket.close();
    const left = await eventually(
      () =>
        gateway
          .records()
          .find(
            (one) => one.account_id === own.accountId && one.outcome !== undefined && one.operation === "responses",
          ),
      "the record of the answer that was left",
    );
    expect(left.outcome).toBe("left_after_content");
    expect(await postings(own.key)).toHaveLength(1);
  });

  test("whose key is revoked is told so at the next message, and is closed", async () => {
    const own = await gateway.account({ creditCents: 1_000 });
    const made = await postAs(own.key, `${gateway.url}/api/v1/agents`, { label: "agent" });
    const { api_key: key, id } = (await made.json()) as { api_key: string; id: string };
    const socket = await open(key);
    expect((await socket.ask({ model: MODEL, input: "Hi" })).last.type).toBe("response.completed");
    await fetch(`${gateway.url}/api/v1/agents/${id}`, {
      method: "DELETE",
      headers: { authorization: `Bearer ${own.key}` },
    });
    const refused = await socket.ask({ model: MODEL, input: "Hi" });
    expect([refused.last.status, refused.error?.code]).toEqual([401, "invalid_token"]);
    expect((await socket.closed).code).toBe(1008);
  });

  test("is bounded by its account's window, message by message", async () => {
    const statuses = await withinAMinute(async () => {
      const own = await gateway.account({ creditCents: 1_000, requestsPerMinute: 3 });
      const socket = await open(own.key);
      const seen: unknown[] = [];
      for (let i = 0; i < 3; i++) seen.push((await socket.ask({ model: MODEL, input: "Hi" })).last.status);
      return seen;
    });
    expect(statuses).toEqual([undefined, undefined, 429]);
  });

  test("without money is told what a call costs, over and over", async () => {
    const own = await gateway.account({ creditCents: 0 });
    const socket = await open(own.key);
    for (let i = 0; i < 2; i++) {
      const { last, error } = await socket.ask({ model: MODEL, input: "Hi" });
      expect([last.status, error?.type]).toEqual([402, "insufficient_quota"]);
    }
  });

  test("keeps the caller's bound of every request on it", async () => {
    const socket = await open(account.key, { "x-tollgate-max-cost-cents": "0" });
    const { error } = await socket.ask({ model: MODEL, max_output_tokens: 4_000, input: "Hi" });
    expect(error?.code).toBe("max_cost_exceeded");
  });
});

describe("opening a socket", () => {
  test("takes a good key", async () => {
    const without = await refusedSocket({ url: gateway.url });
    expect([without.status, (without.body.error as Json).code]).toEqual([401, "invalid_token"]);
    const wrong = await refusedSocket({ url: gateway.url, headers: { authorization: "Bearer tg_sk_wrong" } });
    expect([wrong.status, (wrong.body.error as Json).code]).toEqual([401, "invalid_token"]);
  });

  test("is possible where answers are asked for, and nowhere else", async () => {
    const headers = { authorization: `Bearer ${account.key}` };
    const { status } = await refusedSocket({ url: gateway.url, path: "/v1/chat/completions", headers });
    expect(status).toBe(405);
  });

  test("is possible as often as the account may have calls in flight", async () => {
    const own = await gateway.account({ creditCents: 1_000, inFlight: 2 });
    const headers = { authorization: `Bearer ${own.key}` };
    // A known key is counted before its socket opens; any other is looked up afterwards.
    await fetch(`${gateway.url}/api/v1/account`, { headers });
    const sockets = [await open(own.key), await open(own.key)];
    const third = await refusedSocket({ url: gateway.url, headers });
    expect([third.status, (third.body.error as Json).code]).toEqual([429, "too_many_streams"]);
    sockets[0]?.socket.close();
    await eventually(async () => (await open(own.key).catch(() => undefined)) && true, "room for another socket");
  });

  test("is possible for a page of any origin that has a key, as a call is: no cookie counts here", async () => {
    const socket = await open(account.key, { origin: "https://elsewhere.example" });
    expect((await socket.ask({ model: MODEL, input: "Hi" })).last.type).toBe("response.completed");
    const headers = { origin: "https://elsewhere.example", cookie: "tollgate_session=x" };
    expect((await refusedSocket({ url: gateway.url, headers })).status).toBe(401);
  });
});

test("a gateway that drains answers what it has begun, and tells those that rest to go", async () => {
  const own = await startTestGateway({ DRAIN_SECONDS: "20" });
  const { key } = await own.account({ creditCents: 1_000 });
  const rests = await openResponses({ url: own.url, key });
  const works = await openResponses({ url: own.url, key });
  works.send({ type: "response.create", model: `${MODEL}-at-50`, input: "[[words: 40]]" });
  await new Promise((resolve) => works.socket.addEventListener("message", resolve, { once: true }));
  const drained = own.drain();
  expect((await rests.closed).code).toBe(1001);
  expect((await works.answer()).last.type).toBe("response.completed");
  expect((await works.closed).code).toBe(1001);
  await drained;
  await own.stop();
});
