// Every action of the shipped catalog, called with a sandbox account: it answers, costs the listed price, and its rules are met.
import { describe, expect, it } from "vitest";
import { rowCents } from "../../src/actions/run/table-params.ts";
import type { AnswerRule } from "../../src/catalog/answer-rule.ts";
import type { SoldAction } from "../../src/catalog/catalog.ts";
import type { Json, JsonObject } from "../../src/catalog/said.ts";
import type { ErrorCode } from "../../src/core/errors.ts";
import { FAILURES, type FailureKind } from "../../src/core/failures.ts";
import { valueAt } from "../../src/sandbox/action-body.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway, type TestAccount } from "../support/gateway.ts";
import { LONG_RUNS } from "../support/runs.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const PLAY = { sandbox: true };
const NANO_PER_CENT = 10_000_000;

const catalog = await shippedCatalog();
const actions = catalog.actions(PLAY);
const services = [...new Set(actions.map(({ service }) => service))];

const gateway = forFile(await startTestGateway());

/** Enough for purchases at whatever they cost. */
const MAX_COST_CENTS = 15_000;
const richAccount = () => gateway.account({ creditCents: 3 * MAX_COST_CENTS });

interface Ran {
  readonly status: number;
  readonly requestId: string;
  readonly json: Record<string, unknown> & { readonly data?: Json };
}

async function run(account: TestAccount, id: string, params: JsonObject, fault?: string): Promise<Ran> {
  const headers = {
    authorization: `Bearer ${account.key}`,
    "content-type": "application/json",
    ...(fault === undefined ? {} : { "x-tollgate-sandbox-fault": fault }),
  };
  const url = `${gateway.url}/api/run/${id}`;
  const response = await fetch(url, { method: "POST", headers, body: JSON.stringify(params) });
  const json = (await response.json()) as Ran["json"];
  return { status: response.status, requestId: response.headers.get("x-request-id") ?? "", json };
}

/** The ids that a param names, and which of the service's own actions issue such ids. */
function wantedIds(action: SoldAction) {
  const required = (action.offers[0]?.spec.requires ?? []).filter(
    ({ param }) => action.exampleParams[param] !== undefined,
  );
  return required.flatMap(({ kind, param, inside }) => {
    for (const issuer of actions.filter(({ service }) => service === action.service)) {
      const spec = issuer.offers[0]?.spec;
      const found = spec?.issues?.find((one) => one.kind === kind);
      const renamed = spec?.answer?.kind === "json" ? spec.answer.renamed : undefined;
      // The examples have no such id inside a param.
      if (found !== undefined && inside !== undefined) return [];
      const at = found === undefined ? "" : `/${renamed?.[found.at.slice(1)] ?? found.at.slice(1)}`;
      if (found !== undefined) return [{ param, issuer, at }];
    }
    throw new Error(`${action.id} wants an id of kind ${kind}, which no action of ${action.service} issues`);
  });
}

/** A file of the account with existing bytes. */
async function storedFile(account: TestAccount): Promise<Json> {
  const { json } = await run(account, "files/upload", { filename: "a.mp4", size_bytes: 1 });
  const { put_url, file_id } = json.data as { readonly put_url: string; readonly file_id: string };
  await fetch(put_url, { method: "PUT", body: "a" });
  return file_id;
}

/** Things whose ids callers choose, and the action that makes them first. */
const MADE_BY: Readonly<Record<string, string>> = {
  "zep/thread-create": "zep/user-add",
  "zep/add": "zep/thread-create",
  "zep/get-context": "zep/thread-create",
  "zep/search": "zep/user-add",
};

/** Makes the things that the example names by caller-chosen ids, as the vendor requires them to exist. */
async function makeUsed({ id }: SoldAction, account: TestAccount): Promise<void> {
  const maker = actions.find((one) => one.id === MADE_BY[id]);
  if (maker !== undefined) await run(account, maker.id, await paramsOf(maker, account));
}

/** The example's params, with ids issued to this account, and files that it has. */
async function paramsOf(action: SoldAction, account: TestAccount): Promise<JsonObject> {
  await makeUsed(action, account);
  const own: Record<string, Json> = { ...action.exampleParams };
  for (const { param, issuer, at } of wantedIds(action)) {
    const { json } = await run(account, issuer.id, await paramsOf(issuer, account));
    own[param] = valueAt(json.data ?? null, at) ?? null;
  }
  for (const name of action.offers[0]?.spec.files ?? []) own[name] = await storedFile(account);
  if (action.facts.price.needsMaxCost === true) own.max_cost_cents = MAX_COST_CENTS;
  return own;
}

/** The listed price of a call with the example's params, in nano-USD. */
function listedNano(action: SoldAction): number {
  const { facts, offers, table, exampleParams } = action;
  const { price } = facts;
  const by = offers[0]?.spec.table?.param;
  const row = by === undefined ? undefined : table?.[String(exampleParams[by])];
  if (row !== undefined) return Math.round(rowCents(row, exampleParams, price.cents) * NANO_PER_CENT);
  const quote = price.quoteCents?.(facts.params.parse(exampleParams) as JsonObject) ?? price.cents;
  if (price.paid !== undefined) return Math.round(price.paid.exampleCents * NANO_PER_CENT);
  if (price.counted === undefined) return Math.round(quote * NANO_PER_CENT);
  const answer = offers[0]?.spec.example.answers.at(-1) ?? null;
  const counted = valueAt(answer, price.counted.at);
  const count = Array.isArray(counted) ? counted.length : Number(counted);
  const cents = Math.min(
    quote,
    Math.max(price.minCents ?? 0, (price.counted.baseCents ?? 0) + count * price.counted.centsEach),
  );
  return Math.round(cents * NANO_PER_CENT);
}

async function charges(account: TestAccount): Promise<Record<string, unknown>[]> {
  const headers = { authorization: `Bearer ${account.key}` };
  const { transactions } = (await (await fetch(`${gateway.url}/api/v1/transactions`, { headers })).json()) as {
    transactions: Record<string, unknown>[];
  };
  return transactions.filter(({ kind }) => kind === "charge");
}

it("sells actions", () => {
  expect(actions.length).toBeGreaterThan(40);
});

describe("a call with the example's params", () => {
  it.concurrent.each(actions.map((action) => [action.id, action] as const))("%s", async (id, action) => {
    const account = await richAccount();
    const params = await paramsOf(action, account);
    const before = (await charges(account)).length;
    const { status, json, requestId } = await run(account, id, params);
    expect([status, json]).toMatchObject([200, { ok: true, data: expect.anything() }]);
    const nano = listedNano(action);
    if (before === 0) expect(json.charged_cents).toBe(Math.ceil(nano / NANO_PER_CENT));
    const posted = (await charges(account)).find(({ request_id }) => request_id === requestId);
    if (nano === 0) expect(posted).toBeUndefined();
    else {
      const [service, name] = id.split("/");
      expect(posted).toMatchObject({
        service,
        action: name,
        charged_nano_usd: nano,
        transaction_id: json.transaction_id,
      });
    }
  });
});

/** All rules for an action's answers, except those of its steps. */
function rulesOf({ offers: [offer] }: SoldAction): readonly AnswerRule[] {
  return [...(offer?.spec.rules ?? []), ...(offer?.adapter.spec.rules ?? [])];
}

function isFailure({ means }: AnswerRule): boolean {
  return means !== "success" && means !== "miss";
}

/** The faults of an action, and the code that the caller sees; null: any error. */
function faultsOf(action: SoldAction): readonly (readonly [fault: string, code: ErrorCode | null])[] {
  const rules = rulesOf(action);
  const kinds = [...new Set(rules.filter(isFailure).map(({ means }) => means as FailureKind))];
  const isJson = (action.offers[0]?.spec.answer?.kind ?? "json") === "json";
  // Some vendors answer a miss with an empty body.
  const mayBeEmpty = rules.some(({ at, is }) => (at ?? "") === "" && is === "");
  const broken = isJson ? ["html@0", "malformed@0", ...(mayBeEmpty ? [] : ["empty@0"])] : [];
  const ofRules = kinds.map((kind) => [`means-${kind}@0`, FAILURES[kind].code] as const);
  // Every service answers these alike for all its actions; the long form tests each one.
  if (!LONG_RUNS && actions.find(({ service }) => service === action.service) !== action) return ofRules;
  const ofAnyVendor = ["401@0", "402@0", "503@0", "redirect@0", "cut@0", ...broken];
  return [...ofRules, ...ofAnyVendor.map((fault) => [fault, null] as const)];
}

/** Rules of failure that no answer triggered. */
const unmet: string[] = [];

/** Plays the faults one after another; returns those that were not reported as errors. */
async function wrongOnes(action: SoldAction): Promise<readonly string[]> {
  const account = await richAccount();
  const params = await paramsOf(action, account);
  const before = (await charges(account)).length;
  const wrong: string[] = [];
  for (const [fault, code] of faultsOf(action)) {
    const { status, json } = await run(account, action.id, params, fault);
    const told = `${action.id} ${fault}: ${status} ${JSON.stringify(json).slice(0, 200)}`;
    if (told.includes("No rule of")) unmet.push(told);
    else if (json.ok !== false || status < 400 || (code !== null && json.error !== code)) wrong.push(told);
  }
  const charged = (await charges(account)).length - before;
  return charged === 0 ? wrong : [...wrong, `${action.id} was charged ${charged} times`];
}

describe("what a vendor does not mean to say, and what the rules take for a failure, is an error and costs nothing", () => {
  it.concurrent.each(services)("%s", async (service) => {
    const own = actions.filter((action) => action.service === service && action.offers.length === 1);
    const wrong = await Promise.all(own.map(wrongOnes));
    expect(wrong.flat()).toEqual([]);
  });
});

describe("an action that several vendors can serve", () => {
  const shared = actions.filter(({ offers }) => offers.length > 1);
  it.concurrent.each(shared.map((action) => [action.id, action] as const))(
    "%s asks the next one while one is overloaded, and costs nothing when all are",
    async (id, { exampleParams, offers }) => {
      const account = await gateway.account();
      const { status, json, requestId } = await run(account, id, exampleParams, "503");
      expect([status, json.error]).toEqual([500, "upstream_error"]);
      const asked = (await gateway.books()).requests.filter((row) => row.requestId === requestId);
      const adapters = asked.map(({ adapter }) => adapter);
      expect(new Set(adapters).size).toBe(Math.min(4, offers.length));
      expect(adapters).toHaveLength(new Set(adapters).size);
      expect(await charges(account)).toEqual([]);
    },
  );
});

it("nearly every rule was met", () => {
  expect(unmet.length, unmet.join("\n")).toBeLessThan(4);
});

it("after all of it the books agree", async () => {
  expect(await gateway.doctor()).toEqual([]);
});
