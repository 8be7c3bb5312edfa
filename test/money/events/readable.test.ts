// Events as people read them: dollars beside nano-USD, dates beside milliseconds, names and labels beside ids, in lists, in webhooks, in
// the command's table and on pages. The test checks every field of every event, so a new one joins by itself.
import { createServer, type Server } from "node:http";
import type { AddressInfo } from "node:net";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { eventually, startTestGateway, type TestGateway } from "../../support/gateway.ts";
import { sendAs } from "../../support/keyed-fetch.ts";
import { anyRedis, REDIS_MS_MAX } from "../../support/redis.ts";

type Json = Record<string, unknown>;
interface Event extends Json {
  readonly kind: string;
  readonly account_id: string | null;
  readonly data: Json;
}

const KINDS = ["balance.low", "budget.mark", "budget.refused", "job.ended", "key.first_use"];
const BESIDE = [
  [/_nano_usd$/, "_usd", /^\d+(\.\d+)?$/],
  [/_at_ms$/, "_at", /^\d{4}-\d\d-\d\dT[\d:.]+Z$/],
  [/^key_id$/, "key_label", /^(nightly|primary)$/],
  [/^account_id$/, "account_name", /^Ada$/],
] as const;

/** Fields without a readable form beside them, with their event. */
function bare(kind: string, data: Json): string[] {
  return Object.keys(data).flatMap((name) =>
    BESIDE.flatMap(([exact, readable, looks]) => {
      if (!exact.test(name) || data[name] === null) return [];
      const beside = data[name.replace(exact, readable)];
      return looks.test(String(beside)) ? [] : [`${kind}: ${name} without ${name.replace(exact, readable)}`];
    }),
  );
}

describe.each(["sqlite", "redis"])("over %s", (store) => {
  let gateway: TestGateway;
  let receiver: Server;
  let redis: Awaited<ReturnType<typeof anyRedis>> | null = null;
  let account: { id: string; key: string };
  const sent: { readonly type: string; readonly data: Json }[] = [];

  const own = async (path: string, body?: unknown, key = account.key, method = "POST") => {
    const response = await sendAs(key, body === undefined ? "GET" : method, `${gateway.url}${path}`, body);
    return (await response.json()) as Json;
  };
  const listed = async () => (await gateway.admin("GET", "/admin/v1/events?limit=100")).json.events as Event[];

  beforeAll(async () => {
    redis = store === "redis" ? await anyRedis() : null;
    gateway = await startTestGateway({ WEBHOOKS_PRIVATE: "1", ...(redis === null ? {} : { REDIS_URL: redis.url }) });
    receiver = createServer(async (request, response) => {
      const chunks: Buffer[] = [];
      for await (const chunk of request) chunks.push(chunk as Buffer);
      sent.push(JSON.parse(Buffer.concat(chunks).toString()));
      response.end();
    });
    await new Promise<void>((resolve) => receiver.listen(0, "127.0.0.1", resolve));
    await gateway.admin("POST", "/admin/v1/webhooks", {
      url: `http://127.0.0.1:${(receiver.address() as AddressInfo).port}/`,
    });
    const opened = await gateway.admin("POST", "/admin/v1/accounts", {
      name: "Ada",
      kind: "sandbox",
      credit_cents: 100,
    });
    account = { id: String(opened.json.account_id), key: String(opened.json.api_key) };
    await own("/api/v1/budgets", { low_balance_cents: 99 }, account.key, "PATCH");
    const agent = await own("/api/v1/agents", { label: "nightly", ceiling_cents: 2 });
    for (let calls = 0; calls < 3; calls++) await own("/api/run/exa/search", { query: "tides" }, String(agent.api_key));
    await own("/api/run/core/onescrape-deep", { urls: ["https://example.com/"] });
    await eventually(
      async () => {
        const kinds = new Set(sent.map(({ type }) => type));
        return KINDS.every((kind) => kinds.has(kind)) ? true : undefined;
      },
      `events of every kind, of ${[...new Set(sent.map(({ type }) => type))]}`,
    );
  }, REDIS_MS_MAX);
  afterAll(async () => {
    await gateway.stop();
    receiver.close();
    await redis?.dispose();
  });

  it("lists and webhooks tell sums in dollars, times as dates, and what ids are called", async () => {
    const events = await listed();
    expect(events.flatMap(({ kind, data, account_id }) => bare(kind, { account_id, ...data }))).toEqual([]);
    expect(sent.flatMap(({ type, data }) => bare(type, data))).toEqual([]);
    const marks = events.filter(({ data }) => String(data.scope).startsWith("key:"));
    expect(marks.map(({ data }) => data.name)).toEqual(marks.map(() => "nightly"));
    expect(marks[0]?.data).toMatchObject({ ceiling_nano_usd: 20_000_000, ceiling_usd: "0.02" });
  });

  it("the command and the page do too", async () => {
    const there = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
    const out: string[] = [];
    await run(["events"], { environment: there, out: (line) => out.push(line), err: (line) => out.push(line) });
    for (const words of ["Ada", "nightly", "ceiling_usd"]) expect(out.join("\n")).toContain(words);
    const signedIn = await fetch(`${gateway.url}/sign-in`, {
      method: "POST",
      redirect: "manual",
      headers: { origin: gateway.url, "content-type": "application/x-www-form-urlencoded" },
      body: new URLSearchParams({ key: account.key }),
    });
    const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
    const page = await (await fetch(`${gateway.url}/account/events`, { headers: { cookie } })).text();
    expect(page).toMatch(/key_label: nightly/);
    expect(page).toMatch(/ceiling_usd: 0\.02/);
  });

  it("transactions tell dollars beside nano-USD and labels beside keys, to the account and to the operator", async () => {
    const { transactions } = await own("/api/v1/transactions");
    const rows = transactions as Json[];
    expect(rows.length).toBeGreaterThan(0);
    expect(rows.flatMap((row) => bare("own", row))).toEqual([]);
    const one = await own(`/api/v1/transactions/${rows[0]?.transaction_id}`);
    expect(bare("one", one)).toEqual([]);
    expect(bare("any", (await gateway.admin("GET", `/admin/v1/transactions/${rows[0]?.transaction_id}`)).json)).toEqual(
      [],
    );
  });
});
