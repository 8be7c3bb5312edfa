// Limits that a session reaches while it is open: each ends it with OpenAI's code, and none is exceeded. Endless messages end it, too.
import { connect, type Socket } from "node:net";
import { expect, onTestFinished, test } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { sendAs } from "../../support/keyed-fetch.ts";
import { type Event, openRealtime, said } from "../../support/realtime.ts";

const gateway = forFile(await startTestGateway());
const open = (key: string) => openRealtime({ url: gateway.url, key });

async function api(key: string, method: string, path: string, body?: unknown) {
  const response = await sendAs(key, method, `${gateway.url}/api/v1${path}`, body);
  return (await response.json()) as Event;
}

interface Limited {
  readonly account: TestAccount;
  /** The key that opens the session, and a change that no further response fits. */
  readonly key: string;
  readonly close: () => Promise<unknown>;
}

const CENTS = { ceiling_cents: 8, ceiling_period: "day" };

async function ofKey(): Promise<Limited> {
  const account = await gateway.account();
  const { id, api_key } = await api(account.key, "POST", "/agents", CENTS);
  const close = () => api(account.key, "PATCH", `/agents/${id}`, { ...CENTS, ceiling_cents: 0 });
  return { account, key: String(api_key), close };
}

async function ofGroup(): Promise<Limited> {
  const account = await gateway.account();
  const { id: group } = await api(account.key, "POST", "/groups", { name: "voices", ...CENTS });
  const { api_key } = await api(account.key, "POST", "/agents", { group });
  const close = () => api(account.key, "PATCH", `/groups/${group}`, { ceiling_cents: 0 });
  return { account, key: String(api_key), close };
}

async function ofCap(): Promise<Limited> {
  const account = await gateway.account({ inferenceCapCents: 8 });
  const path = `/admin/v1/accounts/${account.accountId}`;
  return { account, key: account.key, close: () => gateway.admin("PATCH", path, { inference_cap_cents: 0 }) };
}

async function ofBalance(): Promise<Limited> {
  const account = await gateway.account({ creditCents: 8 });
  return { account, key: account.key, close: async () => {} };
}

/** Speaks until a response is refused; returns the sum of what responses said they cost. */
async function untilRefused({ key }: Limited) {
  const session = await open(key);
  let cost = 0;
  for (let at = 0; at < 50; at++) {
    session.send(said(`[[say: ${"word ".repeat(100)}]]`));
    session.send({ type: "response.create", event_id: `mine${at}` });
    const ends = () => session.heard.filter(({ type }) => type === "response.done" || type === "error")[at];
    const ended = await eventually(ends, "the response's end");
    if (ended.type === "error") return { session, error: ended.error as Event, cost, done: at };
    cost += ((ended.response as Event).usage as { cost: number }).cost;
  }
  throw new Error("no response was refused");
}

test.each([
  ["a key's ceiling", ofKey],
  ["a group's ceiling", ofGroup],
  ["an account's inference cap", ofCap],
  ["an account's balance", ofBalance],
])("%s is reached in mid-session and not exceeded", async (_, limited) => {
  const limit = await limited();
  const { session, error, cost, done } = await untilRefused(limit);
  expect(error).toMatchObject({ code: "insufficient_quota", event_id: `mine${done}` });
  expect((await session.closed).code).toBe(1008);
  expect(done).toBeGreaterThan(0);
  expect(cost).toBeLessThanOrEqual(0.08);
  const { transactions } = (await api(limit.account.key, "GET", "/transactions")) as { transactions: Event[] };
  const charges = transactions.filter(({ kind }) => kind === "charge");
  expect(charges).toHaveLength(done);
  const chargedNano = charges.reduce((sum, { charged_nano_usd }) => sum + Number(charged_nano_usd), 0);
  expect(chargedNano / 1e9).toBeCloseTo(cost, 8);
});

test.each([
  ["a key's ceiling", ofKey],
  ["a group's ceiling", ofGroup],
  ["an account's inference cap", ofCap],
])("%s that is lowered while a session is open holds for its next response", async (_, limited) => {
  const { key, close } = await limited();
  const session = await open(key);
  session.send(said("[[say: hello]]"));
  session.send({ type: "response.create" });
  await session.next("response.done");
  await close();
  session.send({ type: "response.create" });
  expect((await session.next("error")).error).toMatchObject({ code: "insufficient_quota" });
  expect((await session.closed).code).toBe(1008);
});

/** A session's socket below its frames. */
async function rawSession(): Promise<Socket> {
  const { key } = await gateway.account();
  const { hostname, port } = new URL(gateway.url);
  const socket = connect(Number(port), hostname);
  onTestFinished(() => void socket.destroy());
  socket.on("error", () => {});
  const lines = [
    "GET /v1/realtime?model=core/voice HTTP/1.1",
    `host: ${hostname}:${port}`,
    "connection: Upgrade",
    "upgrade: websocket",
    "sec-websocket-version: 13",
    `sec-websocket-key: ${Buffer.alloc(16).toString("base64")}`,
    `authorization: Bearer ${key}`,
  ];
  const opened = new Promise<void>((resolve) => {
    let seen = "";
    socket.on("data", (bytes) => {
      seen += bytes.toString("latin1");
      if (seen.includes("session.created")) resolve();
    });
  });
  socket.write(`${lines.join("\r\n")}\r\n\r\n`);
  await opened;
  return socket;
}

const MASK = Buffer.alloc(4);

/** A frame of text; `opcode` 0 continues the one before. */
function frame(opcode: number, payload: Buffer): Buffer {
  const head = Buffer.from([opcode, 0x80 | 127, 0, 0, 0, 0, 0, 0, 0, 0]);
  head.writeBigUInt64BE(BigInt(payload.length), 2);
  return Buffer.concat([head, MASK, payload]);
}

test.each([
  ["announces more than a message may have", [Buffer.from([0x81, 0xff, 0, 0, ...Array(6).fill(0xff), ...MASK])]],
  [
    "never ends, in fragments,",
    [frame(1, Buffer.alloc(1024 * 1024, "a")), ...Array(3).fill(frame(0, Buffer.alloc(1024 * 1024, "a")))],
  ],
])("a message that %s ends its session alone", async (_, frames) => {
  const [socket, other] = [await rawSession(), await open((await gateway.account()).key)];
  const closed = new Promise((resolve) => socket.on("close", resolve));
  for (const bytes of frames) socket.write(bytes);
  await closed;
  other.send(said("[[say: still here]]"));
  other.send({ type: "response.create" });
  await other.next("response.done");
});
