// A key's day on a real gateway: its secret is rotated with an overlap, it is used from elsewhere, and its owner asks why it is refused.
import { expect, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, withinAMinute } from "../../support/gateway.ts";

type Json = Record<string, unknown>;

const gateway = forFile(await startTestGateway({ TRUST_PROXY: "1" }));
const account = await gateway.account();

async function call(key: string, method: string, path: string, { body, from }: { body?: unknown; from?: string } = {}) {
  const response = await fetch(`${gateway.url}${path}`, {
    method,
    headers: {
      ...{ authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(from === undefined ? {} : { "x-forwarded-for": from }),
    },
    ...(body === undefined ? {} : { body: JSON.stringify(body) }),
  });
  return { status: response.status, json: (await response.json()) as Json };
}

const own = (method: string, path: string, body?: unknown) => call(account.key, method, path, { body });
const chat = (key: string, model = "core/cheap", from?: string) =>
  call(key, "POST", "/api/llm/v1/chat/completions", {
    body: { model, max_tokens: 20, messages: [{ role: "user", content: "Hello" }] },
    ...(from === undefined ? {} : { from }),
  });

async function agent(limits: Json = {}) {
  const { json } = await own("POST", "/api/v1/agents", { label: "agent", ...limits });
  return { id: String(json.id), key: String(json.api_key) };
}

const code = ({ json }: { json: Json }) => (json.error as Json | undefined)?.code ?? json.error;
const works = async (key: string) => (await call(key, "GET", "/api/v1/account")).status;
const why = async (id: string, query = "") => (await own("GET", `/api/v1/agents/${id}/why${query}`)).json;
const codes = (answer: Json) => (answer.reasons as Json[]).map((reason) => reason.code);

test("a rotation with an overlap leaves the old secret good until the next rotation, and its key's limits hold for both", async () => {
  const { id, key: first } = await agent();
  const turned = await own("POST", `/api/v1/agents/${id}/rotate`, { overlap_seconds: 600 });
  const second = String(turned.json.api_key);
  const lasts = Date.parse(String(turned.json.old_secret_until)) - Date.now();
  expect(lasts).toBeGreaterThan(500_000);
  expect([await works(first), await works(second)]).toEqual([200, 200]);
  await own("PATCH", `/api/v1/agents/${id}`, { models: [] });
  expect([code(await chat(first)), code(await chat(second))]).toEqual(["key_not_allowed", "key_not_allowed"]);
  const third = String((await own("POST", `/api/v1/agents/${id}/rotate`, { overlap_seconds: 600 })).json.api_key);
  expect([await works(first), await works(second), await works(third)]).toEqual([401, 200, 200]);
  const last = await own("POST", `/api/v1/agents/${id}/rotate`);
  expect(last.json.old_secret_until).toBeNull();
  expect([await works(second), await works(third), await works(String(last.json.api_key))]).toEqual([401, 401, 200]);
});

test("the overlap ends by itself, and a revoked key has none", async () => {
  const { id, key } = await agent();
  await own("POST", `/api/v1/agents/${id}/rotate`, { overlap_seconds: 1 });
  expect(await works(key)).toBe(200);
  await eventually(async () => ((await works(key)) === 401 ? true : undefined), "the end of the overlap");
  const other = await agent();
  await own("POST", `/api/v1/agents/${other.id}/rotate`, { overlap_seconds: 600 });
  await own("DELETE", `/api/v1/agents/${other.id}`);
  expect(await works(other.key)).toBe(401);
});

test("an overlap of more than a week is refused, and the secret stays", async () => {
  const { id, key } = await agent();
  const turned = await own("POST", `/api/v1/agents/${id}/rotate`, { overlap_seconds: 604_801 });
  expect([turned.status, turned.json.error]).toEqual([400, "bad_request"]);
  expect(await works(key)).toBe(200);
});

test("a key is used from the addresses on its list alone, in both families, and from everywhere once the list is gone", async () => {
  const { id, key } = await agent({ addresses: ["203.0.113.0/24", "2001:db8::/32"] });
  const from = async (address: string) => code(await chat(key, "core/cheap", address));
  expect(await from("203.0.113.77")).toBeUndefined();
  expect(await from("2001:db8:1::1")).toBeUndefined();
  expect(await from("::ffff:203.0.113.1")).toBeUndefined();
  expect(await from("203.0.114.1")).toBe("address_not_allowed");
  expect(await from("2001:db9::1")).toBe("address_not_allowed");
  await own("PATCH", `/api/v1/agents/${id}`, { addresses: null });
  expect(await from("203.0.114.1")).toBeUndefined();
});

test("a key from elsewhere is as good as none where none is needed, too: it opens no socket and takes nothing of its account's window", async () => {
  const limited = await gateway.account({ requestsPerMinute: 77 });
  const made = await call(limited.key, "POST", "/api/v1/agents", { body: { addresses: ["203.0.113.0/24"] } });
  const headersFrom = (address: string) => ({
    ...{ authorization: `Bearer ${made.json.api_key}`, "x-forwarded-for": address },
  });
  const limitSeen = async (address: string) => {
    const response = await fetch(`${gateway.url}/api/llm/v1/models`, { headers: headersFrom(address) });
    return [response.status, response.headers.get("ratelimit-limit")];
  };
  expect(await limitSeen("203.0.113.9")).toEqual([200, "77"]);
  expect(await limitSeen("203.0.114.9")).toEqual([200, expect.not.stringMatching(/^77$/)]);
  const opens = async (address: string) => {
    const url = `${gateway.url.replace("http", "ws")}/api/llm/v1/responses`;
    const socket = new WebSocket(url, { headers: headersFrom(address) });
    const opened = await new Promise<boolean>((resolve) => {
      socket.addEventListener("open", () => resolve(true));
      socket.addEventListener("error", () => resolve(false));
    });
    socket.close();
    return opened;
  };
  expect([await opens("203.0.113.9"), await opens("203.0.114.9")]).toEqual([true, false]);
});

test.each([[["203.0.113.0/33"]], [["203.0.113.0/"]], [["fe80::1%eth0"]], [["localhost"]], [[]], ["203.0.113.1"]])(
  "%j is not a list of addresses",
  async (addresses) => {
    const { status, json } = await own("POST", "/api/v1/agents", { label: "agent", addresses });
    expect([status, String(json.message)]).toEqual([400, expect.stringMatching(/^addresses/)]);
  },
);

test("the primary key takes no list of addresses", async () => {
  const { json } = await own("GET", "/api/v1/account");
  const primary = (json.key as Json).id;
  expect((await own("PATCH", `/api/v1/agents/${primary}`, { addresses: ["203.0.113.1"] })).status).toBe(409);
});

test("why names all that stands in the way of a call, and the most that one may cost", async () => {
  const free = await agent();
  expect(await why(free.id)).toMatchObject({ refused: false, reasons: [] });
  const { id } = await agent({ models: ["core/mid"], addresses: ["203.0.113.1"], ceiling_cents: 0 });
  const asked = await why(id, "?model=core/best&action=files/get&address=203.0.113.2");
  expect(codes(asked)).toEqual(["key_not_allowed", "address_not_allowed", "api_key_limit_exceeded"]);
  expect(asked).toMatchObject({ refused: true, most_usd: 0 });
  expect((asked.reasons as Json[]).at(-1)?.until).toMatch(/T00:00:00.000Z$/);
  await own("PATCH", `/api/v1/agents/${id}`, { paused: true, ceiling_cents: null });
  expect(codes(await why(id, "?model=core/mid&address=203.0.113.1"))).toEqual(["key_paused"]);
  expect((await own("GET", "/api/v1/agents/key_none/why")).status).toBe(404);
});

test("an agent key explains itself and no other", async () => {
  const [one, other] = [await agent(), await agent()];
  expect((await call(one.key, "GET", `/api/v1/agents/${one.id}/why`)).status).toBe(200);
  expect((await call(one.key, "GET", `/api/v1/agents/${other.id}/why`)).status).toBe(403);
});

test("the operator is told what refused calls asked for and were told, also of those that no plan was made for", async () => {
  const { id, key } = await agent({ models: ["core/mid"] });
  await chat(key, "core/best");
  await call(key, "POST", "/api/run/files/nothing", { body: {} });
  const limited = await withinAMinute(async () => {
    const slow = await gateway.account({ requestsPerMinute: 1 });
    await chat(slow.key);
    await chat(slow.key, "core/mid");
    return slow;
  });
  const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}/keys/${id}/why`);
  expect(json.recent).toMatchObject([
    { kind: "refused", asked: "files/nothing", status: 404, message: expect.stringContaining("files/nothing") },
    { kind: "refused", asked: "core/best", code: "key_not_allowed", message: "This key may not call core/best." },
  ]);
  const path = `/admin/v1/transactions?status=refused&account=${limited.accountId}`;
  const rows = (await gateway.admin("GET", path)).json.transactions as Json[];
  expect(rows).toMatchObject([{ code: "rate_limited", asked: "core/mid", message: expect.stringContaining("1") }]);
});

test("spending is told by groups, of revoked keys too, by their names", async () => {
  const red = await own("POST", "/api/v1/groups", { name: "red" });
  const [one, gone, none] = [await agent({ group: red.json.id }), await agent({ group: red.json.id }), await agent()];
  for (const { key } of [one, gone, none]) expect((await chat(key)).status).toBe(200);
  await own("DELETE", `/api/v1/agents/${gone.id}`);
  const rows = (await own("GET", "/api/v1/usage?by=group")).json.usage as Json[];
  expect(rows.find(({ group_id }) => group_id === red.json.id)).toMatchObject({ group_name: "red", calls: 2 });
  expect(rows.find(({ group_id }) => group_id === null)).toMatchObject({ group_name: null });
  const path = `/admin/v1/usage?by=group,key&sandbox=1&account=${account.accountId}`;
  const finer = (await gateway.admin("GET", path)).json.usage as Json[];
  expect(finer.find(({ key_id }) => key_id === one.id)).toMatchObject({ group_name: "red", calls: 1 });
  expect((await gateway.admin("GET", "/admin/v1/usage?by=group")).status).toBe(400);
});
