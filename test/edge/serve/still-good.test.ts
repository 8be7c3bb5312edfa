// Every authorization that lasts, as docs/internals/failures.md lists them, ends within seconds of a change, even one that another process
// made.
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { z } from "zod";
import type { RunningJob } from "../../../src/catalog/job-kind.ts";
import { launched, localAction } from "../../../src/catalog/local-action.ts";
import { nano } from "../../../src/core/money.ts";
import { callerOf } from "../../actions/files/calling.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { REDIS_MS_MAX, type RedisServer, startRedis } from "../../support/redis.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { Client, Person } from "../oauth/person.ts";

type Json = Record<string, unknown>;
type Headers = Record<string, string>;

/** Two seconds, stretched for a busy machine. */
const SECONDS_MS = 20_000;
const PAGE = readFileSync(join(import.meta.dirname, "../../../docs/internals/failures.md"), "utf8");
const LISTED = (PAGE.split("## What lasts")[1]?.split("\n## ")[0] ?? "")
  .split("\n")
  .filter((line) => line.includes("test/edge/serve/still-good.test.ts"))
  .map((line) => line.split(" | ")[0]?.slice(2) ?? "");

/** A job that runs until it is cancelled. */
const endless = localAction({
  service: "core",
  action: "endless",
  description: "Waits.",
  category: "core",
  effect: "read",
  params: z.strictObject({}),
  price: { mode: "capped", cents: 10 },
  launches: { job: "endless", inFlightMax: 100 },
  run: (_, call) => launched(call),
  example: { params: {} },
});
const ENDLESS = {
  name: "endless",
  msMax: 600_000,
  counted: "price",
  async run({ signal }: RunningJob) {
    await new Promise<void>((resolve) => {
      signal.addEventListener("abort", () => resolve());
      if (signal.aborted) resolve();
    });
    return { status: "succeeded", result: {}, chargeNano: nano(0) } as const;
  },
} as const;

/** An established authorization; `at` is its address, `elsewhere` another process over the same store. */
interface Entered {
  readonly at: TestGateway;
  readonly elsewhere: TestGateway;
  readonly account: TestAccount;
  readonly person: Person;
  readonly keyId: string;
  readonly headers: Headers;
  /** What identifies an agent key, or a grant, to other endpoints. */
  readonly secret: string;
  readonly client: Client | null;
}

const bearer = (key: string): Headers => ({ authorization: `Bearer ${key}` });

async function posted(url: string, headers: Headers, body: Json): Promise<Json> {
  const sent = { ...headers, "content-type": "application/json" };
  return (await (await fetch(url, { method: "POST", headers: sent, body: JSON.stringify(body) })).json()) as Json;
}

const keysOf = ({ elsewhere, account }: Pick<Entered, "elsewhere" | "account">) =>
  elsewhere
    .admin("GET", `/admin/v1/accounts/${account.accountId}`)
    .then(({ json }) => json.keys as { id: string; primary: boolean; kind: string }[]);

async function base(at: TestGateway, elsewhere: TestGateway): Promise<Omit<Entered, "keyId" | "headers" | "secret">> {
  const account = await at.account({ creditCents: 10_000 });
  return { at, elsewhere, account, person: new Person(at.url), client: null };
}

type Kind = "primary key" | "agent key" | "grant" | "session" | "operator's session";

const ENTER: Readonly<Record<Kind, (at: TestGateway, elsewhere: TestGateway) => Promise<Entered>>> = {
  async "primary key"(at, elsewhere) {
    const made = await base(at, elsewhere);
    const { key } = made.account;
    const keyId = (await keysOf(made)).find(({ primary }) => primary)?.id ?? "";
    return { ...made, keyId, headers: bearer(key), secret: key };
  },
  async "agent key"(at, elsewhere) {
    const made = await base(at, elsewhere);
    const agent = await posted(`${at.url}/api/v1/agents`, bearer(made.account.key), { label: "agent" });
    const secret = String(agent.api_key);
    const keyId = (await keysOf(made)).find(({ primary }) => !primary)?.id ?? "";
    return { ...made, keyId, headers: bearer(secret), secret };
  },
  async grant(at, elsewhere) {
    const made = await base(at, elsewhere);
    const client = new Client(at.url);
    await client.register();
    await made.person.signIn(made.account.key);
    const { access_token: secret } = await client.tokens(made.person, { dollars: "50" });
    const keyId = (await keysOf(made)).find(({ kind }) => kind === "grant")?.id ?? "";
    return { ...made, client, keyId, headers: bearer(secret), secret };
  },
  async session(at, elsewhere) {
    const made = await base(at, elsewhere);
    await made.person.signIn(made.account.key);
    const csrf = await made.person.csrf();
    const cookie = `tollgate_session=${made.person.cookie("tollgate_session")}`;
    const keyId = (await keysOf(made)).find(({ primary }) => primary)?.id ?? "";
    return { ...made, keyId, headers: { cookie, "x-csrf-token": csrf }, secret: made.account.key };
  },
  async "operator's session"(at, elsewhere) {
    return { ...(await base(at, elsewhere)), keyId: "", headers: await operator(at), secret: "" };
  },
};

async function operator(at: TestGateway): Promise<Headers> {
  const body = new URLSearchParams({ token: at.adminToken });
  const headers = { origin: at.adminUrl, "content-type": "application/x-www-form-urlencoded" };
  const sent = { method: "POST", headers, body: body.toString(), redirect: "manual" } as const;
  const signedIn = await fetch(`${at.adminUrl}/console/sign-in`, sent);
  return { cookie: signedIn.headers.get("set-cookie")?.split(";")[0] ?? "" };
}

const ofKey = ({ account, keyId }: Entered) => `/admin/v1/accounts/${account.accountId}/keys/${keyId}`;
async function changed(entered: Entered, method: string, path: string, body?: Json): Promise<void> {
  const { status, json } = await entered.elsewhere.admin(method, path, body);
  if (status >= 300) throw new Error(JSON.stringify([path, status, json]));
}
const revoked = (entered: Entered) => changed(entered, "DELETE", ofKey(entered));
const rotated = (entered: Entered) => changed(entered, "POST", `${ofKey(entered)}/rotate`, { overlap_seconds: 0 });
const paused = (entered: Entered) => changed(entered, "PATCH", ofKey(entered), { paused: true });
/** Tried again where the time is past when the request arrives. */
async function expired(entered: Entered): Promise<void> {
  const soon = () => ({ expires_at: new Date(Date.now() + 1_000).toISOString() });
  const change = () => changed(entered, "PATCH", ofKey(entered), soon());
  const isSet = () =>
    change().then(
      () => true,
      () => undefined,
    );
  await eventually(isSet, "a time of expiry");
}
const frozen = (entered: Entered) =>
  changed(entered, "PATCH", `/admin/v1/accounts/${entered.account.accountId}`, { frozen: true });
async function grantRevoked({ client, secret }: Entered): Promise<void> {
  expect((await client?.post("/oauth/revoke", { token: secret }))?.status).toBe(200);
}
async function signedOut({ person }: Entered): Promise<void> {
  await person.submit("/sign-out", { csrf: await person.csrf() });
}

async function operatorSignedOut({ at, headers }: Entered): Promise<void> {
  const page = await (await fetch(`${at.adminUrl}/console`, { headers })).text();
  const body = new URLSearchParams({ csrf: /name="csrf" value="([^"]+)"/.exec(page)?.[1] ?? "" });
  const form = { origin: at.adminUrl, "content-type": "application/x-www-form-urlencoded", ...headers };
  await fetch(`${at.adminUrl}/console/sign-out`, {
    method: "POST",
    headers: form,
    body: body.toString(),
    redirect: "manual",
  });
}

type Change = (entered: Entered) => Promise<void>;
const CHANGES: Readonly<Record<Kind, Readonly<Record<string, Change>>>> = {
  "primary key": { "its key is rotated": rotated, "its account is frozen": frozen },
  "agent key": {
    "its key is revoked": revoked,
    "its key is rotated": rotated,
    "its key is paused": paused,
    "its key expires": expired,
    "its account is frozen": frozen,
  },
  grant: { "the client revokes its token": grantRevoked, "the owner revokes the grant": revoked },
  session: { "its person signs out": signedOut, "the key that opened it is rotated": rotated },
  "operator's session": { "the operator signs out": operatorSignedOut },
};

/** Reads a body that has begun to its end. */
async function readOn(response: Response): Promise<{ readonly ended: Promise<unknown> }> {
  expect(response.status).toBe(200);
  const reader = response.body?.getReader();
  await reader?.read();
  const rest = async () => {
    for (;;) if ((await reader?.read().catch(() => ({ done: true })))?.done !== false) return;
  };
  return { ended: rest() };
}

async function jobId({ at, account }: Entered): Promise<string> {
  const { data } = await posted(`${at.url}/api/run/core/endless`, bearer(account.key), {});
  return String((data as Json).job_id);
}

const EVENTS = { accept: "text/event-stream" };

async function mcpWait(entered: Entered): Promise<Response> {
  const params = { name: "get_result", arguments: { job_id: await jobId(entered), wait_seconds: 50 } };
  const body = { jsonrpc: "2.0", id: 1, method: "tools/call", params: { ...params, _meta: { progressToken: 1 } } };
  const headers = { ...entered.headers, "content-type": "application/json", ...EVENTS };
  return fetch(`${entered.at.url}/mcp`, { method: "POST", headers, body: JSON.stringify(body) });
}

interface Lasting {
  readonly by: readonly Kind[];
  open(entered: Entered): Promise<{ readonly ended: Promise<unknown> }>;
}

const LASTING: Readonly<Record<string, Lasting>> = {
  "Events as a stream: `GET /api/v1/events`": {
    by: ["primary key", "session"],
    open: async ({ at, headers }) =>
      readOn(await fetch(`${at.url}/api/v1/events`, { headers: { ...headers, ...EVENTS } })),
  },
  "A socket at `/v1/responses` that rests": {
    by: ["primary key", "agent key", "grant"],
    async open({ at, headers }) {
      const socket = new WebSocket(`${at.url.replace(/^http/, "ws")}/v1/responses`, { headers });
      const ended = new Promise((resolve) => socket.addEventListener("close", resolve));
      await new Promise((resolve) => socket.addEventListener("open", resolve));
      // The socket opens before its key has been looked up; a message is answered after that.
      const answered = new Promise((resolve) => socket.addEventListener("message", resolve));
      socket.send("{}");
      await answered;
      return { ended };
    },
  },
  "Progress of a job as events: `core/result`": {
    by: ["primary key", "agent key", "grant", "session"],
    async open(entered) {
      const { at, headers } = entered;
      const path = "cookie" in headers ? "/try/run/core/result" : "/api/run/core/result";
      const sent = { ...headers, ...EVENTS, "content-type": "application/json" };
      const body = JSON.stringify({ job_id: await jobId(entered) });
      return readOn(await fetch(`${at.url}${path}`, { method: "POST", headers: sent, body }));
    },
  },
  "Progress of a job over MCP: `get_result`": {
    by: ["agent key", "grant"],
    open: async (entered) => readOn(await mcpWait(entered)),
  },
  "A signed link to a file": {
    by: ["agent key", "grant", "primary key"],
    async open({ at, secret }) {
      const { get_url: url } = await callerOf(at, { key: secret } as TestAccount).store({ filename: "a.txt" }, "hello");
      expect((await fetch(url)).status).toBe(200);
      const isGone = async () => ((await fetch(url)).status === 403 ? true : undefined);
      return { ended: eventually(isGone, "the end of the link", SECONDS_MS) };
    },
  },
  "A live page of the account: `/account/jobs/live`": {
    by: ["session"],
    open: async ({ at, headers }) => readOn(await fetch(`${at.url}/account/jobs/live`, { headers })),
  },
  "A live page of the console: `/console/running/live`": {
    by: ["operator's session"],
    open: async ({ at, headers }) => readOn(await fetch(`${at.adminUrl}/console/running/live`, { headers })),
  },
};

const CASES = Object.entries(LASTING).flatMap(([what, { by, open }]) =>
  by.flatMap((kind) =>
    Object.entries(CHANGES[kind]).map(([change, make]) => ({ what, kind, change: `${kind}: ${change}`, make, open })),
  ),
);
/** Things that a paused key or a frozen account may still do. */
const GOES_ON: readonly string[] = ["its key is paused", "its account is frozen"];
const MCP = "Progress of a job over MCP: `get_result`";

it("has a use here of all that the page lists", () => {
  expect(Object.keys(LASTING)).toEqual(LISTED);
});

describe.each(["a file", "Redis"])("over %s", (store) => {
  let gateways: TestGateway[] = [];
  let redis: RedisServer | null = null;
  const folder = mkdtempSync(join(tmpdir(), "tollgate-archive-"));
  beforeAll(async () => {
    redis = store === "Redis" ? await startRedis() : null;
    const archive = { ARCHIVE_URL: `file://${folder}/archive.db`, SIGNING_SECRET: "a-secret-of-both-gateways" };
    const shared = redis === null ? {} : { REDIS_URL: redis.url, ...archive };
    const environment = { OAUTH: "1", TRUST_PROXY: "1", REDIS_COMMAND_MS: "10000", ...shared };
    const own = { actions: [endless], jobKinds: [ENDLESS] };
    const start = () => startTestGateway({ ...environment, ADDRESS_REQUESTS_PER_MINUTE: "1000000" }, own);
    gateways = await Promise.all((redis === null ? [1] : [1, 2]).map(start));
  }, REDIS_MS_MAX);
  afterAll(async () => {
    await Promise.all(gateways.map((gateway) => gateway.stop()));
    await redis?.dispose();
    removeFolder(folder);
  });

  it.concurrent.each(CASES.filter(({ what, change }) => what !== MCP || !GOES_ON.some((one) => change.endsWith(one))))(
    "$what ends for a $change",
    async ({ kind, make, open }) => {
      const [at, elsewhere = at] = gateways;
      if (at === undefined || elsewhere === undefined) throw new Error("no gateway");
      const entered = await ENTER[kind](at, elsewhere);
      const { ended } = await open(entered);
      await make(entered);
      const late = new Promise((_, reject) => setTimeout(() => reject(new Error("it lives on")), SECONDS_MS).unref());
      await Promise.race([ended, late]);
    },
    SECONDS_MS * 3,
  );
});
