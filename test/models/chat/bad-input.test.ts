// Every malformed request gets a clear 4xx in its wire's shape; nothing is held for it, and its connection stays open.
import { Client } from "undici";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { BAD, type BadRequest, CHAT, GOOD, MESSAGES, WIRES } from "./bad-requests.ts";

interface Seen {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly json: Record<string, unknown>;
}

interface ToldError {
  readonly message: string;
  readonly type: string;
  readonly param?: string | null;
  readonly code: string;
  readonly hint: string;
  readonly metadata?: Record<string, unknown>;
}

let connections = 0;

const gateway = forFile(await startTestGateway({ ADDRESS_REQUESTS_PER_MINUTE: "100000", OPENAI_API_KEY: "sk-test" }));
const account = await gateway.account();
/** One connection, one request at a time: a request after a bad one uses the same socket. */
const line = forFile(new Client(gateway.url, { pipelining: 1 }));
line.on("connect", () => connections++);

async function send(wish: Partial<BadRequest>, key = account.key): Promise<Seen> {
  const { body = GOOD, method = "POST", path = CHAT, headers = {} } = wish;
  const bytes = typeof body === "string" || Buffer.isBuffer(body) ? body : JSON.stringify(body);
  const answer = await line.request({
    method: method as "POST",
    path,
    headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
    ...(["POST", "PATCH"].includes(method) ? { body: bytes } : {}),
  });
  const json = (await answer.body.json()) as Record<string, unknown>;
  return { status: answer.statusCode, headers: answer.headers, json };
}

async function purse(of = account): Promise<Record<string, unknown>> {
  const { json } = await send({ method: "GET", path: "/api/v1/account" }, of.key);
  return { balance: json.balance_cents, held: json.held_cents };
}

/** Checks what every refusal must have, whatever was wrong. */
function errorOf(seen: Seen, path = CHAT): ToldError {
  const error = seen.json.error as ToldError;
  const { error: _, ...beside } = seen.json;
  const id = seen.headers["x-request-id"];
  expect(beside).toEqual(path === MESSAGES ? { type: "error", request_id: id } : {});
  expect(error).toMatchObject({
    message: expect.stringMatching(/\S/),
    type: expect.stringMatching(/^[a-z_]+$/),
    code: expect.stringMatching(/^[a-z_]+$/),
    hint: expect.stringMatching(/\S/),
  });
  expect(error.message).not.toMatch(/\{\w+\}|undefined|\[object/);
  expect(seen.headers["content-type"]).toBe("application/json");
  expect(seen.headers["x-request-id"]).toMatch(/^req_\w{20}$/);
  expect(seen.headers["x-should-retry"]).toMatch(/^(true|false)$/);
  for (const name of ["limit", "remaining", "reset"]) expect(seen.headers[`ratelimit-${name}`]).toMatch(/^\d+$/);
  expect(seen.headers["ratelimit-policy"]).toMatch(/^\d+;w=60$/);
  return error;
}

/** Sends a bad request and then a good one, which must use the same connection. */
async function refused(wish: BadRequest): Promise<Seen> {
  const before = await purse();
  const opened = connections;
  const seen = await send(wish);
  const { code, param = null } = errorOf(seen, wish.path);
  expect([seen.status, code, param]).toEqual([wish.status, wish.code, wish.param]);
  expect(seen.headers["x-should-retry"]).toBe("false");
  expect(await purse()).toEqual(before);
  expect(before.held).toBe(0);
  expect(connections).toBe(opened);
  return seen;
}

/** The model names in a bad request. */
function namesOf({ body }: BadRequest): Record<string, unknown> {
  const { model, models } = body as Record<string, unknown>;
  return { model, models };
}

describe.each(WIRES)("at %s", (path, good) => {
  it.each(BAD.notJson)("$what is no request", async (row) => {
    await refused({ ...row, path });
  });

  it.each(BAD.keys)("$what", async (row) => {
    await refused({ ...row, path, body: good });
  });

  it.each(BAD.models)("$what", async (row) => {
    const { headers } = await refused({ ...row, path, body: { ...good, ...namesOf(row) } });
    expect(headers["x-evil"]).toBeUndefined();
  });
});

describe("a field of the responses wire that is wrong", () => {
  it.each(BAD.responses)("$what", async (row) => {
    const { json } = await refused(row);
    const { message, param } = json.error as ToldError;
    expect(message).toContain(param);
  });
});

describe("a field of the messages wire that is wrong, or is not sold", () => {
  it.each(BAD.messages)("$what", async (row) => {
    const { json } = await refused(row);
    const { message, param } = json.error as ToldError;
    expect(message).toContain(param);
  });
});

describe("a field that is wrong", () => {
  it.each(BAD.fields)("$what", async (row) => {
    const { json } = await refused(row);
    const { message, param } = json.error as ToldError;
    expect(message).toContain(param);
  });

  it("is told with all others that are wrong", async () => {
    const seen = await send({ body: { ...GOOD, n: 9, top_p: 3, messages: [{ role: "boss" }] } });
    const { metadata } = errorOf(seen);
    const fields = (metadata?.fields ?? []) as { field: string }[];
    expect(fields.map(({ field }) => field)).toEqual(["messages.0.role", "n", "top_p"]);
  });
});

describe("a request for embeddings", () => {
  it.each(BAD.embeddings)("$what", async (row) => {
    await refused(row);
  });
});

describe("a field that changes the price", () => {
  it.each(BAD.priced)("$what", async (row) => {
    await refused(row);
  });

  it.each(BAD.neutral)("passes where it changes nothing: %j", async (fields) => {
    const { status, json } = await send({ body: { ...GOOD, ...fields } });
    expect([status, json.error]).toEqual([200, undefined]);
  });
});

describe("what the edge turns away", () => {
  it.each(BAD.atTheEdge)("$what", async (row) => {
    const { headers } = await refused(row);
    if (row.status === 405) expect(headers.allow).toBe("POST, OPTIONS");
  });
});

describe("a key", () => {
  async function agentKey(wish: Record<string, unknown> = {}): Promise<{ id: string; key: string }> {
    const { json } = await send({ path: "/api/v1/agents", body: wish });
    return { id: String(json.id), key: String(json.api_key) };
  }

  it("that was revoked stops working at once", async () => {
    const agent = await agentKey();
    expect((await send({}, agent.key)).status).toBe(200);
    await send({ method: "DELETE", path: `/api/v1/agents/${agent.id}` });
    const seen = await send({}, agent.key);
    expect([seen.status, errorOf(seen).code]).toEqual([401, "invalid_token"]);
  });

  it("that is paused is refused, and works again afterwards", async () => {
    const agent = await agentKey();
    await send({ method: "PATCH", path: `/api/v1/agents/${agent.id}`, body: { paused: true } });
    const seen = await send({}, agent.key);
    expect([seen.status, errorOf(seen).code]).toEqual([403, "key_paused"]);
    await send({ method: "PATCH", path: `/api/v1/agents/${agent.id}`, body: { paused: false } });
    expect((await send({}, agent.key)).status).toBe(200);
  });

  it("over its ceiling is told what the ceiling leaves", async () => {
    const agent = await agentKey({ ceiling_cents: 1, ceiling_period: "day" });
    const seen = await send({ body: { ...GOOD, max_tokens: 16_000 } }, agent.key);
    expect([seen.status, errorOf(seen).code]).toEqual([402, "api_key_limit_exceeded"]);
    const { metadata } = errorOf(seen);
    expect(metadata).toMatchObject({ ceiling_cents: 1, ceiling_period: "day", spent_cents: 0, held_cents: 0 });
    const affordable = Number(metadata?.affordable_output_tokens);
    expect(affordable).toBeGreaterThan(4_000);
    expect(affordable).toBeLessThanOrEqual(5_000);
    expect(Date.parse(String(metadata?.resets_at))).toBeGreaterThan(Date.now());
    expect((await send({ body: { ...GOOD, max_tokens: affordable } }, agent.key)).status).toBe(200);
  });

  it("of a frozen account is refused", async () => {
    const other = await gateway.account();
    await gateway.admin("PATCH", `/admin/v1/accounts/${other.accountId}`, { frozen: true });
    const seen = await send({}, other.key);
    expect([seen.status, errorOf(seen).code]).toEqual([403, "account_frozen"]);
    expect(await purse(other)).toEqual({ balance: 1_000, held: 0 });
  });
});

describe("an account without money", () => {
  it("is told what it has and what that buys", async () => {
    const poor = await gateway.account({ creditCents: 0 });
    const seen = await send({}, poor.key);
    expect([seen.status, errorOf(seen).code]).toEqual([402, "insufficient_balance"]);
    const money = { needed_cents: 1, free_cents: 0, balance_cents: 0, held_cents: 0 };
    expect(errorOf(seen).metadata).toEqual({ ...money, affordable_output_tokens: 0 });
    expect(await purse(poor)).toEqual({ balance: 0, held: 0 });
  });

  it("can afford exactly what it was told", async () => {
    const poor = await gateway.account({ creditCents: 1 });
    const body = { ...GOOD, max_tokens: 16_000 };
    const seen = await send({ body }, poor.key);
    expect(seen.status).toBe(402);
    const affordable = Number(errorOf(seen).metadata?.affordable_output_tokens);
    expect((await send({ body: { ...body, max_tokens: affordable + 1 } }, poor.key)).status).toBe(402);
    expect((await send({ body: { ...body, max_tokens: affordable } }, poor.key)).status).toBe(200);
  });
});

describe("a header of ours", () => {
  it.each(BAD.idempotency)("$what", async (row) => {
    await refused(row);
  });

  it("says what max_tokens was lowered to", async () => {
    const { status, headers } = await send({ body: { ...GOOD, max_tokens: 100_000 } });
    expect([status, headers["x-tollgate-max-tokens"]]).toEqual([200, "16384"]);
    const asked = await send({ body: { ...GOOD, max_tokens: 16_384 } });
    expect(asked.headers["x-tollgate-max-tokens"]).toBeUndefined();
  });
});
