// Arbitrary bodies sent to actions of the shipped catalog: they cause no internal error, leave no hold, and keep the connection alive.
import { Agent, request as send } from "node:http";
import fc from "fast-check";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { JsonObject } from "../../../src/catalog/said.ts";
import { cpuMsOf } from "../../support/cpu-time.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { runs } from "../../support/runs.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";

const PLAY = { sandbox: true };
const RUNS = runs(800, 4_000);
const MIB = 1024 * 1024;

const catalog = await shippedCatalog();
// Only actions with one quick request: those that wait for their vendor would slow this down.
const actions = catalog.actions(PLAY).filter(({ offers }) => offers.every(({ spec }) => spec.steps === undefined));

const agent = new Agent({ keepAlive: true, maxSockets: 1 });
let gateway: TestGateway;
let account: TestAccount;
beforeAll(async () => {
  gateway = await startTestGateway();
  account = await gateway.account({ creditCents: 1_000_000 });
});
afterAll(async () => {
  agent.destroy();
  await gateway.stop();
});

interface Told {
  readonly status: number;
  readonly json: { readonly ok?: boolean; readonly error?: string };
  /** Identifies the connection by its local port. */
  readonly port: number | undefined;
}

function call(id: string, body: string | Buffer, headers: Record<string, string> = {}): Promise<Told> {
  return new Promise((resolve, reject) => {
    const { port } = new URL(gateway.url);
    const all = { authorization: `Bearer ${account.key}`, "content-type": "application/json", ...headers };
    const asking = send({ agent, port, method: "POST", path: `/api/run/${id}`, headers: all }, (response) => {
      const chunks: Buffer[] = [];
      const own = response.socket.localPort;
      response.on("data", (chunk: Buffer) => chunks.push(chunk));
      response.on("end", () => {
        const json = JSON.parse(Buffer.concat(chunks).toString("utf8")) as Told["json"];
        resolve({ status: response.statusCode ?? 0, json, port: own });
      });
      response.on("error", reject);
    });
    asking.on("error", reject);
    asking.end(body);
  });
}

function expectOurs({ status, json }: Told): void {
  expect(json.ok).toBe(status === 200);
  if (status < 500) return;
  expect([status, json.error]).toEqual([expect.any(Number), expect.stringMatching(/^upstream_/)]);
}

const strange = fc.oneof(
  fc.constantFrom<unknown>(
    "",
    " ",
    ".",
    "..",
    "../..",
    "//evil.invalid",
    "\\\\evil",
    "%2e%2e%2f",
    "\u0000",
    "\ud800",
    "\udfff\ud800",
  ),
  fc.constantFrom<unknown>(
    "https://us:er@example.com:1/?a#b",
    "javascript:alert(1)",
    "http://[::1]/",
    "{id}",
    "\r\nx: y",
    "ünï 🦆",
  ),
  fc.constantFrom<unknown>(
    null,
    true,
    0,
    -0,
    -1,
    1.5,
    1e308,
    -1e308,
    2 ** 53,
    2 ** 53 + 2,
    1e21,
    [],
    {},
    [[[]]],
    [null],
  ),
  fc.constantFrom<unknown>({ __proto__x: 1 }, { constructor: { prototype: 1 } }, { toString: "x", length: -1 }),
  fc.string({ unit: "binary", maxLength: 40 }),
  fc.jsonValue({ maxDepth: 4 }),
);
const names = fc.oneof(
  fc.constantFrom(
    "__proto__",
    "constructor",
    "prototype",
    "toString",
    "hasOwnProperty",
    "max_cost_cents",
    "",
    "a/b",
    "then",
  ),
  fc.string({ maxLength: 12 }),
);

/** A valid call with some params mutated, some removed and some added. */
const mutated = fc
  .record({
    action: fc.constantFrom(...actions),
    values: fc.array(strange, { minLength: 1, maxLength: 3 }),
    seed: fc.nat(),
    added: fc.array(fc.tuple(names, strange), { maxLength: 2 }),
    drop: fc.integer({ min: 0, max: 3 }).map((one) => one === 0),
  })
  .map(({ action, values, seed, added, drop }) => {
    const good = Object.entries(action.exampleParams as JsonObject).map(([name, value]) => [name, value] as const);
    const changed = good.map(([name, value], at) => {
      return (at + seed) % Math.max(1, good.length) < values.length
        ? [name, values[at % values.length]]
        : [name, value];
    });
    const kept = drop ? changed.slice(1) : changed;
    // Serialized by hand, so that `__proto__` and duplicate names are sent as they are.
    const fields = [...kept, ...added].map(([name, value]) => `${JSON.stringify(name)}:${JSON.stringify(value)}`);
    return { id: action.id, body: `{${fields.join(",")}}` };
  });
const garbled = fc
  .record({
    action: fc.constantFrom(...actions),
    bytes: fc.uint8Array({ maxLength: 6 }),
    at: fc.nat(400),
    cut: fc.boolean(),
  })
  .map(({ action, bytes, at, cut }) => {
    const good = Buffer.from(JSON.stringify(action.exampleParams));
    const from = at % (good.length + 1);
    return {
      id: action.id,
      body: Buffer.concat([good.subarray(0, from), bytes, cut ? Buffer.alloc(0) : good.subarray(from)]),
    };
  });

describe("a body of any kind", () => {
  it(`is never an error of ours, ${RUNS} times over one connection`, async () => {
    const ports = new Set<number | undefined>();
    const statuses = new Map<number, number>();
    const bodies = fc.oneof({ weight: 4, arbitrary: mutated }, { weight: 1, arbitrary: garbled });
    await fc.assert(
      fc.asyncProperty(bodies, async ({ id, body }) => {
        const told = await call(id, body);
        ports.add(told.port);
        statuses.set(told.status, (statuses.get(told.status) ?? 0) + 1);
        expectOurs(told);
      }),
      { numRuns: RUNS, endOnFailure: true },
    );
    expect(ports.size).toBe(1);
    // Both outcomes occurred: calls that succeeded, and calls that were refused.
    expect(statuses.get(200)).toBeGreaterThan(RUNS / 50);
    expect(statuses.get(400)).toBeGreaterThan(RUNS / 4);
  });

  const search = "brave/search";
  const deep = (depth: number) => `{"q":${"[".repeat(depth)}${"]".repeat(depth)}}`;
  it.each<[string, string | Buffer, number, Record<string, string>?]>([
    ["4 MiB of one text", JSON.stringify({ q: "x".repeat(4 * MIB - 8) }), 400],
    ["more than 4 MiB", JSON.stringify({ q: "x".repeat(4 * MIB) }), 413],
    [
      "4 MiB of fields that nobody knows",
      `{${Array.from({ length: 250_000 }, (_, at) => `"${at}":0`).join(",")}}`,
      400,
    ],
    ["one name of 4 MiB", `{"${"n".repeat(4 * MIB - 10)}":1}`, 400],
    ["100,000 levels", deep(100_000), 400],
    ["2,000,000 levels", deep(2_000_000), 400],
    ["4 MiB of white space", " ".repeat(4 * MIB), 400],
    ["4 MiB of digits", `{"count":${"9".repeat(4 * MIB - 12)}}`, 400],
    ["no JSON at all", "<xml/>", 400],
    ["a list", "[]", 400],
    ["a bound on the cost that is no number", '{"q":"tea","max_cost_cents":1e999}', 400],
    ["a bound below zero", '{"q":"tea","max_cost_cents":-1}', 400],
    ["another content-type", '{"q":"tea"}', 415, { "content-type": "text/plain" }],
    ["a form", "q=tea", 415, { "content-type": "application/x-www-form-urlencoded" }],
    ["a compressed body", "x", 415, { "content-encoding": "gzip" }],
    ["a key for the answer that is none", '{"q":"tea"}', 400, { "idempotency-key": "a b" }],
  ])("of %s is told as such, soon", async (_, body, status, headers = {}) => {
    const ms = await cpuMsOf(async () => expect((await call(search, body, headers)).status).toBe(status));
    expect(ms).toBeLessThan(4_000);
  });
});

it("leaves no hold, and the books agree", async () => {
  const headers = { authorization: `Bearer ${account.key}` };
  const held = async () =>
    ((await (await fetch(`${gateway.url}/api/v1/account`, { headers })).json()) as { held_cents: number }).held_cents;
  await eventually(async () => ((await held()) === 0 ? true : undefined), "the holds to end");
  expect(await gateway.doctor()).toEqual([]);
});
