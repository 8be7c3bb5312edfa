// Events of a real gateway, from the call that causes them to a receiver that verifies the sender.
import { createHmac } from "node:crypto";
import { createServer, type IncomingMessage, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { describe, expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway } from "../../support/gateway.ts";
import { postAs, sendAs } from "../../support/keyed-fetch.ts";

type Json = Record<string, unknown>;

const gateway = forFile(await startTestGateway({ WEBHOOKS_PRIVATE: "1" }));

interface Received {
  readonly headers: IncomingMessage["headers"];
  readonly body: string;
}

/** A receiver that records messages and sends a scripted answer. */
async function receiver(answer: (response: ServerResponse, seen: number) => void = (response) => response.end()) {
  const received: Received[] = [];
  const server: Server = createServer((request, response) => {
    let body = "";
    request.on("data", (chunk) => (body += chunk));
    request.on("end", () => {
      received.push({ headers: request.headers, body });
      answer(response, received.length);
    });
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  return {
    url,
    received,
    close: () => {
      server.closeAllConnections();
      server.close();
    },
  };
}

async function own(key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateway.url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Json };
}

const chat = (key: string) =>
  own(key, "POST", "/api/llm/v1/chat/completions", {
    ...{ model: "core/best", max_tokens: 200 },
    messages: [{ role: "user", content: "say ".repeat(10_000) }],
  });

const eventsOf = async (key: string) => (await own(key, "GET", "/api/v1/events")).json.events as Json[];

/** Verifies a signature as the specification requires of receivers. */
function isSigned({ headers, body }: Received, secret: string): boolean {
  const signed = `${headers["webhook-id"]}.${headers["webhook-timestamp"]}.${body}`;
  const key = Buffer.from(secret.replace("whsec_", ""), "base64");
  const expected = `v1,${createHmac("sha256", key).update(signed).digest("base64")}`;
  return String(headers["webhook-signature"]).split(" ").includes(expected);
}

describe("what happens to an account's money", () => {
  test("is listed, newest first, for the account and the operator: first use, marks, a refusal once, a low balance", async () => {
    const { key, accountId } = await gateway.account({ creditCents: 100 });
    const group = String((await own(key, "POST", "/api/v1/groups", { name: "red", ceiling_cents: 100 })).json.id);
    const agent = String((await own(key, "POST", "/api/v1/agents", { group })).json.api_key);
    expect((await chat(agent)).status).toBe(200);
    await gateway.admin("PATCH", `/admin/v1/accounts/${accountId}/budgets`, { low_balance_cents: 97 });
    await own(key, "PATCH", `/api/v1/groups/${group}`, { ceiling_cents: 15 });
    for (let at = 0; at < 10; at++) await chat(agent);
    const kinds = async () => (await eventsOf(key)).map(({ kind }) => String(kind)).sort();
    const seen = await eventually(async () => {
      const all = await kinds();
      return all.includes("budget.refused") && all.includes("budget.mark") ? all : undefined;
    }, "the events");
    expect(seen.filter((kind) => kind === "budget.refused")).toHaveLength(1);
    expect(seen.filter((kind) => kind === "key.first_use")).toHaveLength(1);
    const mark = (await eventsOf(key)).findLast(({ kind }) => kind === "budget.mark");
    expect(mark).toMatchObject({ account_id: accountId, data: { scope: `group:${group}`, percent: 50, name: "red" } });
    const { json } = await gateway.admin("GET", "/admin/v1/events");
    expect((json.events as Json[]).map(({ id }) => id)).toContain(mark?.id);
    const ofAccount = await gateway.admin("GET", `/admin/v1/events?account=${accountId}`);
    expect((ofAccount.json.events as Json[]).length).toBe(seen.length);
  });
});

/** Reads an event stream until `enough` events have arrived; then the client leaves. */
async function streamed(url: string, headers: Record<string, string>, enough: number, cause: () => Promise<unknown>) {
  const left = new AbortController();
  const response = await fetch(url, { headers: { accept: "text/event-stream", ...headers }, signal: left.signal });
  const events: { id: string; kind: string; data: Json }[] = [];
  let text = "";
  let caused: Promise<unknown> | null = null;
  for await (const chunk of response.body ?? []) {
    text += Buffer.from(chunk).toString();
    caused ??= cause();
    for (let end = text.indexOf("\n\n"); end >= 0; end = text.indexOf("\n\n")) {
      const [, id = "", kind = "", data = ""] = /^id: (.*)\nevent: (.*)\ndata: (.*)$/.exec(text.slice(0, end)) ?? [];
      text = text.slice(end + 2);
      if (id !== "") events.push({ id, kind, data: JSON.parse(data) as Json });
    }
    if (events.length >= enough) break;
  }
  await caused;
  left.abort();
  return { type: response.headers.get("content-type"), events };
}

describe("events as they happen", () => {
  test("reach a client that stays, and one that comes again is told what it has missed and nothing twice", async () => {
    const { key } = await gateway.account();
    const headers = { authorization: `Bearer ${key}` };
    const url = `${gateway.url}/api/v1/events`;
    const make = async () => String((await own(key, "POST", "/api/v1/agents", {})).json.api_key);
    const [one, two, three] = [await make(), await make(), await make()];
    const first = await streamed(url, headers, 1, () => chat(one));
    expect(first).toMatchObject({ type: "text/event-stream", events: [{ kind: "key.first_use" }] });
    expect(first.events[0]?.data).toMatchObject({ id: first.events[0]?.id, data: { key_id: expect.any(String) } });
    await chat(two);
    await eventually(async () => ((await eventsOf(key)).length === 2 ? true : undefined), "the second event");
    const again = await streamed(url, { ...headers, "last-event-id": first.events[0]?.id ?? "" }, 2, () => chat(three));
    expect(again.events.map(({ id }) => id)).toEqual(
      (await eventsOf(key))
        .map(({ id }) => id)
        .slice(0, 2)
        .reverse(),
    );
  });

  test("are the operator's of all accounts, the primary key's of its own, and no agent key's", async () => {
    const { key, accountId } = await gateway.account();
    const agent = String((await own(key, "POST", "/api/v1/agents", {})).json.api_key);
    const admin = { authorization: `Bearer ${gateway.adminToken}` };
    const { events } = await streamed(`${gateway.adminUrl}/admin/v1/events`, admin, 1, () => chat(agent));
    expect(events[0]?.data).toMatchObject({ kind: "key.first_use", account_id: accountId });
    const refused = await fetch(`${gateway.url}/api/v1/events`, {
      headers: { authorization: `Bearer ${agent}`, accept: "text/event-stream" },
    });
    expect(refused.status).toBe(403);
  });

  test("no refusal is told of a call that a smaller bound then lets through", async () => {
    const { key } = await gateway.account();
    const agent = await own(key, "POST", "/api/v1/agents", { ceiling_cents: 8 });
    const ask = (words: number) =>
      own(String(agent.json.api_key), "POST", "/api/llm/v1/chat/completions", {
        ...{ model: "core/best", max_tokens: 20 },
        messages: [{ role: "user", content: "tide ".repeat(words) }],
      });
    // Estimated by bytes it could exceed the ceiling, counted in tokens it does not.
    expect((await ask(9_000)).status).toBe(200);
    await eventually(async () => ((await eventsOf(key)).length > 0 ? true : undefined), "the first use");
    expect((await eventsOf(key)).map(({ kind }) => kind)).not.toContain("budget.refused");
    await own(key, "PATCH", `/api/v1/agents/${agent.json.id}`, { ceiling_cents: 0 });
    expect((await ask(9_000)).status).toBe(402);
    const refused = await eventually(
      async () => (await eventsOf(key)).find(({ kind }) => kind === "budget.refused"),
      "the refusal",
    );
    expect(refused.data).toMatchObject({ scope: `key:${agent.json.id}`, key_id: agent.json.id });
  });

  test("a route that rests is told once, and when it is back", async () => {
    const { RouteWatch } = await import("../../../src/money/events/route-watch.ts");
    const watch = new RouteWatch();
    const route = { provider: "vendor", model: "maker/model" };
    const kinds = (resting: readonly (typeof route)[], atMs: number) =>
      watch.look(resting, atMs).map(({ kind }) => kind);
    expect(kinds([route], 0)).toEqual(["route.rests"]);
    expect([...kinds([], 5_000), ...kinds([route], 10_000), ...kinds([], 39_999)]).toEqual([]);
    expect([...kinds([], 40_000), ...kinds([], 41_000)]).toEqual(["route.returns"]);
    expect(kinds([route], 50_000)).toEqual(["route.rests"]);
  });

  test("the operator is told of routes that rest", async () => {
    const { key } = await gateway.account({ kind: "sandbox" });
    for (let at = 0; at < 3; at++)
      await own(key, "POST", "/api/llm/v1/chat/completions", {
        ...{ model: "sandbox/503", max_tokens: 5 },
        messages: [{ role: "user", content: "Hello" }],
      });
    const rests = await eventually(async () => {
      const { json } = await gateway.admin("GET", "/admin/v1/events?limit=1000");
      return (json.events as Json[]).find(({ kind }) => kind === "route.rests");
    }, "a route that rests");
    expect(rests).toMatchObject({ account_id: null, data: { vendor: expect.any(String), model: expect.any(String) } });
  });
});

describe("a webhook", () => {
  test("gets signed messages with the event's id, by its secret and by the one before it", async () => {
    const { key } = await gateway.account();
    const hears = await receiver();
    const made = await own(key, "POST", "/api/v1/webhooks", { url: hears.url, kinds: ["key.first_use"] });
    expect(made.status).toBe(201);
    const rotated = await own(key, "POST", `/api/v1/webhooks/${made.json.id}/rotate`, { overlap_seconds: 60 });
    await chat(key);
    const first = await eventually(() => hears.received[0], "a message");
    const [event] = await eventsOf(key);
    expect(first.headers["webhook-id"]).toBe(event?.id);
    expect(JSON.parse(first.body)).toMatchObject({ type: "key.first_use", data: { key_id: expect.any(String) } });
    expect([isSigned(first, String(made.json.secret)), isSigned(first, String(rotated.json.secret))]).toEqual([
      true,
      true,
    ]);
    expect(isSigned({ ...first, body: `${first.body} ` }, String(made.json.secret))).toBe(false);
    const again = await own(key, "POST", `/api/v1/webhooks/${made.json.id}/redeliver`, { event_id: event?.id });
    expect(again.status).toBe(202);
    const second = await eventually(() => hears.received[1], "the same message again");
    expect(second.headers["webhook-id"]).toBe(event?.id);
    hears.close();
  });

  test("that fails or redirects is sent to again with the same id, at its own address, and others do not wait for one that hangs", async () => {
    const { key } = await gateway.account();
    const other = await receiver();
    /** Redirects the first message, and accepts the second. */
    const redirects = (status: number, location: () => string) =>
      receiver((response, seen) => {
        if (seen === 1) response.writeHead(status, { location: location() });
        response.end();
      });
    const circle = await receiver((response) => response.writeHead(308, { location: "/hook" }).end());
    const moved = await Promise.all([
      redirects(301, () => other.url.replace("127.0.0.1", "localhost")),
      redirects(307, () => other.url),
      redirects(308, () => "http://169.254.169.254/latest/meta-data/"),
    ]);
    const [hangs, fails, long] = await Promise.all([
      receiver(() => {}),
      receiver((response, seen) => {
        response.statusCode = seen === 1 ? 500 : 204;
        response.end();
      }),
      receiver((response) => {
        response.writeHead(200, { "content-length": String(10 ** 10) });
        response.write("x".repeat(1_000));
      }),
    ]);
    const all = [...moved, circle, hangs, fails, long];
    for (const { url } of all) expect((await own(key, "POST", "/api/v1/webhooks", { url })).status).toBe(201);
    await chat(key);
    const again = [...moved, circle, fails];
    for (const { received } of again) await eventually(() => received[1], "a second try");
    const ids = new Set(again.flatMap(({ received }) => received.map(({ headers }) => headers["webhook-id"])));
    expect(ids.size).toBe(1);
    expect(again.map(({ received }) => received.length)).toEqual([2, 2, 2, 2, 2]);
    expect(other.received).toEqual([]);
    expect(long.received).toHaveLength(1);
    expect(hangs.received).toHaveLength(1);
    for (const one of [...all, other]) one.close();
  });

  test("is told and made by the primary key alone, ten at most, at an address that can be sent to", async () => {
    const { key } = await gateway.account();
    const agent = String((await own(key, "POST", "/api/v1/agents", {})).json.api_key);
    expect((await own(agent, "GET", "/api/v1/events")).status).toBe(403);
    expect((await own(agent, "POST", "/api/v1/webhooks", { url: "https://example.com/" })).status).toBe(403);
    expect((await own(key, "POST", "/api/v1/webhooks", { url: "ftp://example.com/" })).json.error).toBe("bad_url");
    expect((await own(key, "POST", "/api/v1/webhooks", { url: "https://example.com/", kinds: ["x"] })).status).toBe(
      400,
    );
    const urls = Array.from({ length: 11 }, (_, at) =>
      own(key, "POST", "/api/v1/webhooks", { url: `https://example.com/${at}` }),
    );
    await Promise.all(urls);
    expect(((await own(key, "GET", "/api/v1/webhooks")).json.webhooks as Json[]).length).toBeLessThanOrEqual(11);
    expect((await own(key, "POST", "/api/v1/webhooks", { url: "https://example.com/" })).status).toBe(409);
  });

  test("is made for no private address, in whatever spelling, unless the operator allows it", async () => {
    const names: Record<string, readonly string[]> = {
      "public.example": ["93.184.216.34"],
      "private.example": ["10.0.0.1"],
      "both.example": ["93.184.216.34", "fd00::1"],
    };
    const resolve = async (name: string) => {
      if (name === "away.example") throw new Error("no name server answers");
      return names[name] ?? [];
    };
    const strict = await startTestGateway({}, { internet: { resolve } });
    const { key } = await strict.account();
    const make = async (url: string) => {
      const response = await postAs(key, `${strict.url}/api/v1/webhooks`, { url });
      return response.status;
    };
    const refused = [
      ...["localhost", "LOCALHOST", "localhost.", "db.internal", "db.internal.", "printer", "a.localhost"],
      ...["127.0.0.1", "127.0.0.1.", "2130706433", "0x7f000001", "0x7f.0.0.1", "0177.0.0.1", "017700000001", "127.1"],
      ...["１２７.0.0.1", "10.0.0.1", "10.0.0.1:8080", "172.16.0.1", "192.168.0.1", "100.64.0.1", "169.254.169.254"],
      ...["0.0.0.0", "0", "168.63.129.16", "[::1]", "[::]", "[::ffff:10.0.0.1]", "[::ffff:a00:1]", "[::127.0.0.1]"],
      ...["[fd00::1]", "[fe80::1]", "[64:ff9b::a00:1]", "[2002:a00:1::]", "private.example", "PRIVATE.example."],
      ...["both.example", "unknown.example", "away.example", "user:password@public.example"],
    ];
    for (const host of refused) expect([host, await make(`http://${host}/`)]).toEqual([host, 400]);
    expect(await make("https://public.example/")).toBe(201);
    expect(await make("https://93.184.216.34/")).toBe(201);
    await strict.stop();
  });
});
