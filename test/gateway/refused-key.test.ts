// A key that a vendor rejects is the first thing the operator sees, in every view; callers never see it. One row per vendor of the catalog
// that a single key enables: a new one joins by itself.
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { envName } from "../../src/catalog/configure.ts";
import { keyVariablesOf, variablesOf } from "../../src/catalog/variables.ts";
import { run } from "../../src/cli/run.ts";
import { explained } from "../../src/gateway/refused-key.ts";
import { startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { sendAs } from "../support/keyed-fetch.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

type Json = Record<string, unknown>;
interface Row extends Json {
  readonly asked: string;
  readonly reason: string;
}

const KEY = "sk-operators-own-1234567890";
const REFUSALS = [
  { verdict: "key bad", status: 401, says: "refuses our key" },
  { verdict: "empty", status: 402, says: "has nothing left for our key" },
] as const;

const catalog = await shippedCatalog({ sandboxOrigin: "http://127.0.0.1:1" });
const models = catalog.models({ sandbox: true });
/** The first chat model that each vendor sells. */
const VENDORS = [...catalog.adapters({ sandbox: true }).values()].flatMap((adapter) => {
  const { id, spec } = adapter;
  const model = models.find(({ listed, offers }) => listed && offers.some((offer) => offer.adapter.id === id))?.slug;
  const [variable, ...others] = variablesOf(id, spec);
  const isPlain = keyVariablesOf(id, spec)[0] === variable && others.length === 0 && spec.local !== true;
  if (model === undefined || variable === undefined || !isPlain || spec.origins !== undefined) return [];
  return [{ id, name: spec.name, variable, model }];
});

let vendor: VendorServer;
let gateway: TestGateway;
let account: TestAccount;

const call = async (path: string, body?: unknown, to = account) => {
  const response = await sendAs(to.key, body === undefined ? "GET" : "POST", `${gateway.url}${path}`, body);
  return { status: response.status, json: (await response.json()) as Json };
};
const chat = (model: string, only: string, to = account) =>
  call("/v1/chat/completions", { model, provider: { only: [only] }, messages: [{ role: "user", content: "Hi" }] }, to);
const listed = async (status: string, id: string) => {
  const { json } = await gateway.admin("GET", `/admin/v1/transactions?status=${status}&account=${id}`);
  return json.transactions as Row[];
};

/** The output of the command. */
async function printed(...words: string[]): Promise<string> {
  const there = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
  const out: string[] = [];
  await run(words, { environment: there, out: (line) => out.push(line), err: (line) => out.push(line) });
  return out.join("\n");
}

async function consolePage(path: string): Promise<string> {
  const signedIn = await fetch(`${gateway.adminUrl}/console/sign-in`, {
    method: "POST",
    redirect: "manual",
    headers: { origin: gateway.adminUrl, "content-type": "application/x-www-form-urlencoded" },
    body: new URLSearchParams({ token: gateway.adminToken, name: "ada" }),
  });
  const cookie = signedIn.headers.get("set-cookie")?.split(";")[0] ?? "";
  return (await fetch(`${gateway.adminUrl}${path}`, { headers: { cookie } })).text();
}

beforeAll(async () => {
  vendor = await startVendor();
  const settings = VENDORS.flatMap(({ id, variable }) => [
    [variable, KEY],
    [envName(id, "BASE_URL"), `${vendor.url}/v1`],
  ]);
  gateway = await startTestGateway(Object.fromEntries(settings));
});
afterAll(async () => {
  await gateway.stop();
  await vendor.close();
});

it("knows many vendors, over every dialect that takes a key alone", () => {
  expect(VENDORS.length).toBeGreaterThan(10);
  expect(VENDORS.map(({ id }) => id)).toEqual(expect.arrayContaining(["openai", "anthropic", "gemini"]));
});

describe.each(REFUSALS)("a vendor that says $status", ({ verdict, status, says }) => {
  beforeAll(async () => {
    vendor.answers({ status, body: { error: { message: `Not with\n${KEY}, said the vendor.`, type: "refused" } } });
    account = await gateway.account({ kind: "personal", creditCents: 10_000 });
    for (const { id, model } of VENDORS) expect((await chat(model, id)).status, id).toBe(503);
  });

  it("is named with its variable, what it said and what to do, beside each failed call", async () => {
    const rows = await listed("failed", account.accountId);
    expect(rows).toHaveLength(VENDORS.length);
    const text = await printed("transactions", "--status", "failed", "--limit", "1000");
    const csv = await printed("transactions", "--status", "failed", "--limit", "1000", "--csv");
    expect(text.split("\n")[0]).toContain("REASON");
    for (const [at, { name, variable }] of VENDORS.toReversed().entries()) {
      const reason = String(rows[at]?.reason);
      expect(reason).toContain(`${name} ${says} (${verdict}): ${variable}; `);
      expect(reason).toMatch(new RegExp(`It said ${status}: .*Not with \\[key\\], said the vendor$`));
      expect(text).toContain(reason);
      expect(csv).toContain(reason.replaceAll('"', '""'));
    }
    expect(JSON.stringify(rows) + text + csv).not.toContain(KEY);
  });

  it("is the first thing in the doctor's report, at the start and on the operator's pages, and one line in the log", async () => {
    const report = (await gateway.admin("GET", "/admin/v1/doctor")).json;
    const refusals = (report.refusals as Json[]).filter((one) => one.verdict === verdict);
    expect(refusals.map(({ provider }) => provider).toSorted()).toEqual(VENDORS.map(({ id }) => id).toSorted());
    const [doctor, start] = [await printed("doctor"), (await gateway.startWords()).join("\n")];
    const pages = await Promise.all(
      ["", "/routes", "/calls?status=failed", "/doctor", `/accounts/${account.accountId}`].map((path) =>
        consolePage(`/console${path}`),
      ),
    );
    for (const { name, variable } of VENDORS) {
      const words = `${name} ${says} (${verdict}): ${variable}; `;
      expect(doctor.slice(0, doctor.indexOf("accounts,"))).toContain(words);
      expect(start.slice(0, start.indexOf("Configured:"))).toContain(`Warning: ${words}`);
      for (const page of pages) expect(page.indexOf(words)).toBeGreaterThan(0);
    }
    expect(gateway.lines().filter((line) => line.includes(`${says} (${verdict})`))).toHaveLength(
      // A key that is already resting is not logged again.
      verdict === "key bad" ? VENDORS.length : 0,
    );
    expect([doctor, start, ...pages, ...gateway.lines()].join("\n")).not.toContain(KEY);
  });

  it("is not the caller's to know", async () => {
    const own = await call("/api/v1/transactions?status=failed");
    expect(own.json.transactions).toHaveLength(VENDORS.length);
    expect(JSON.stringify(own.json)).not.toMatch(/API_KEY|said the vendor|refusal|our key/);
  });
});

describe("what no key is set for", () => {
  const said = [{ role: "user", content: "Hi" }];
  const ASKED: readonly (readonly [asked: string, path: string, body: Json, variable: RegExp])[] = [
    ["openai/gpt-5.4-mini", "/v1/chat/completions", { messages: said }, /\bOPENAI_API_KEY\b/],
    ["gpt-5.4-mini", "/v1/chat/completions", { messages: said }, /\bOPENAI_API_KEY\b/],
    ["core/cheap", "/v1/responses", { input: "Hi" }, /_API_KEY or /],
    ["anthropic/claude-haiku-4.5", "/v1/messages", { max_tokens: 9, messages: said }, /\bANTHROPIC_API_KEY\b/],
    ["google/gemini-3.5-flash", "/v1beta/models/google/gemini-3.5-flash:generateContent", {}, /\bGEMINI_API_KEY\b/],
    ["openai/text-embedding-3-small", "/v1/embeddings", { input: "Hi" }, /\bOPENAI_API_KEY\b/],
    ["openai/gpt-image-1-mini", "/v1/images/generations", { prompt: "Hi" }, /\bOPENAI_API_KEY\b/],
    ["exa/search", "/api/run/exa/search", { query: "tides" }, /: set EXA_API_KEY$/],
  ];
  let bare: TestGateway;
  beforeAll(async () => {
    bare = await startTestGateway();
  });
  afterAll(() => bare.stop());

  it.each(ASKED)("%s at %s", async (asked, path, body, variable) => {
    const { accountId, key } = await bare.account({ kind: "personal" });
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const sent = path.includes(asked)
      ? { contents: [{ parts: [{ text: "Hi" }] }], ...body }
      : { model: asked, ...body };
    const json = path.startsWith("/api/run") ? body : sent;
    const answer = await fetch(`${bare.url}${path}`, { method: "POST", headers, body: JSON.stringify(json) });
    expect(answer.status, await answer.text()).toBe(503);
    const { json: found } = await bare.admin("GET", `/admin/v1/transactions?status=refused&account=${accountId}`);
    const [row] = found.transactions as Row[];
    expect(row?.reason).toMatch(/^No key is set for /);
    expect(row?.reason).toMatch(variable);
  });
});

it("takes no caller's own key that a vendor refuses for ours", async () => {
  const other = await gateway.account({ kind: "personal" });
  const put = await sendAs(other.key, "PUT", `${gateway.url}/api/v1/provider-keys/openai`, {
    key: "sk-callers-own-1234567890",
    fallback: false,
  });
  expect(put.status).toBe(200);
  await chat("openai/gpt-5.4-mini", "openai", other);
  const [row] = await listed("failed", other.accountId);
  expect(row).toMatchObject({ code: "provider_key_refused" });
  expect(row?.reason).not.toMatch(/our key|OPENAI_API_KEY/);
});

it("blames no key for what the sandbox plays", async () => {
  const before = (await gateway.admin("GET", "/admin/v1/doctor")).json.refusals;
  const play = await gateway.account();
  await call("/v1/chat/completions", { model: "sandbox/401", messages: [{ role: "user", content: "Hi" }] }, play);
  const [row] = await listed("failed", play.accountId);
  expect(row?.reason).not.toMatch(/our key|API_KEY/);
  expect((await gateway.admin("GET", "/admin/v1/doctor")).json.refusals).toEqual(before);
});

it("explains a call that an earlier release kept with a reason of its own", async () => {
  const attempt = {
    vendor: "openai",
    model: "m",
    status: 401,
    reason: "of-old",
    refusal: "no",
    ms: 1,
    upstreamNano: 0,
  };
  const [of, at] = [
    { accountId: "a", keyId: "k", endpoint: "chat", asked: "m" },
    { createdAtMs: 0, ms: 1, tags: [] },
  ];
  const told = {
    requestId: "r",
    status: "failed",
    httpStatus: 503,
    code: "upstream_error",
    message: "It failed.",
  } as const;
  const calls = { find: async () => ({ rows: [{ ...told, ...of, ...at, attempts: [attempt] }], next: null }) };
  const { rows } = await explained(calls, () => catalog).find({ status: null } as never);
  expect(rows[0]?.reason).toBe("It failed.");
});
