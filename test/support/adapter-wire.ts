// An adapter from the vendor's side: what a call sends, and what an answer means. Opens no connection.
import type { z } from "zod";
import { upstreamCentsOf } from "../../src/actions/run/action-price.ts";
import { namedRow, rowCents } from "../../src/actions/run/table-params.ts";
import type { ActionSpec } from "../../src/catalog/action.ts";
import type { Verdict } from "../../src/catalog/answer-rule.ts";
import type { ActionOffer } from "../../src/catalog/catalog.ts";
import { envName } from "../../src/catalog/configure.ts";
import type { JsonObject } from "../../src/catalog/said.ts";
import type { AdapterSpec } from "../../src/catalog/spec.ts";
import { systemClock } from "../../src/core/clock.ts";
import { loginAt } from "../../src/upstream/access-tokens.ts";
import { AnswerBody } from "../../src/upstream/answer-body.ts";
import { buildRequest } from "../../src/upstream/build-request.ts";
import { judge, rulebookOf } from "../../src/upstream/judge-answer.ts";
import { shippedCatalog } from "./shipped-catalog.ts";

/** No token is fetched here. */
const NO_TOKENS = { tokens: { of: () => "", forget() {} }, clock: systemClock, merchantPayerFor: () => null };

export interface Sent {
  readonly method: string;
  /** Scheme, host, path and query. */
  readonly url: string;
  readonly headers: Readonly<Record<string, string>>;
  /** Parsed where it is JSON. */
  readonly body: unknown;
}

export interface Answered {
  readonly status?: number;
  readonly headers?: Readonly<Record<string, string>>;
  /** A string is sent unchanged; everything else as JSON. */
  readonly body: unknown;
}

export interface Meant {
  readonly verdict: Verdict;
  /** The caller's data: the rule's own, or the vendor's body. */
  readonly data: unknown;
  readonly restMs: number | undefined;
}

export interface AdapterWire {
  readonly actions: Readonly<Record<string, ActionSpec>>;
  /** The request of a call; with `step`, that of a step after the answers `soFar`. Throws where the params are invalid. */
  send(action: string, params: JsonObject, step?: { readonly at: number; readonly soFar: unknown }): Sent;
  /** The paths of the invalid fields; none where the params are valid. */
  refuses(action: string, params: JsonObject): string[];
  means(action: string, answer: Answered, step?: number): Meant;
  /** The maximum price of a call, in cents. */
  quote(action: string, params: JsonObject): number;
  /** Our cost, in cents. */
  upstreamCents(action: string, params: JsonObject): number;
}

const KEY = "key-of-ours";

const OPTIONS = { sandboxOrigin: null, contact: "Ada ada@example.org" };
const specs = (await shippedCatalog(OPTIONS)).adapters({ sandbox: false });

/** Every variable that could hold a key of the adapter is `key-of-ours` (`key-of-ours-1`, ... for parts). */
function keysOf(adapterId: string, spec: AdapterSpec): [string, string][] {
  const names = spec.keyEnv ?? [envName(adapterId, "API_KEY")];
  return spec.keyParts?.map((name, at) => [name, `${KEY}-${at + 1}`]) ?? names.map((name) => [name, KEY]);
}

/** Code.Storage's key has a form that the start checks. */
const sellsActions = ([id, { spec }]: readonly [string, { spec: AdapterSpec }]) =>
  spec.actions !== undefined && id !== "codestorage";
const env = Object.fromEntries([...specs].filter(sellsActions).flatMap(([id, { spec }]) => keysOf(id, spec)));
/** One for all adapters, each with its keys. */
const catalog = await shippedCatalog({ ...OPTIONS, env });

export async function wire(adapterId: string): Promise<AdapterWire> {
  const spec = specs.get(adapterId)?.spec;
  if (spec === undefined) throw new Error(`there is no adapter ${adapterId}`);

  function offerOf(action: string): ActionOffer {
    const offer = catalog.action(`${adapterId}/${action}`, { sandbox: false })?.offers[0];
    if (offer === undefined) throw new Error(`${adapterId} has no action ${action}`);
    return offer;
  }

  function read(action: string, params: JsonObject) {
    const { spec: action_, table } = offerOf(action);
    const parsed = (action_.params as z.ZodType<Record<string, unknown>>).safeParse(params);
    if (!parsed.success) return parsed.error.issues.flatMap((issue) => pathsOf(issue));
    if (action_.table === undefined || table === null) return { params: parsed.data, row: null };
    const named = namedRow(table, action_.table, parsed.data);
    return "row" in named ? named : named.map(({ path }) => path);
  }

  function taken(action: string, params: JsonObject) {
    const found = read(action, params);
    if (Array.isArray(found)) throw new Error(`refused: ${found.join(", ")}`);
    return found as Exclude<typeof found, string[]>;
  }

  return {
    actions: spec.actions ?? {},
    send(action, given, step) {
      const { adapter, spec: whole } = offerOf(action);
      const { params, row } = taken(action, given);
      const request = step === undefined ? whole.request : whole.steps?.[step.at]?.request;
      if (request === undefined) throw new Error(`${action} has no step ${step?.at}`);
      const key = adapter.keys[0] ?? "";
      const unsigned = buildRequest({ adapter, spec: request, params, row, soFar: step?.soFar });
      const built = loginAt(adapter, key, NO_TOKENS).authorize(unsigned);
      if (built instanceof Promise) throw new Error(`${adapterId} needs more than its key`);
      return { ...built, url: built.origin + built.path, body: parsedBody(built.body) };
    },
    refuses(action, params) {
      const found = read(action, params);
      return Array.isArray(found) ? found : [];
    },
    means(action, { status = 200, headers = {}, body }, step) {
      const { adapter, spec: whole } = offerOf(action);
      const text = typeof body === "string" ? body : JSON.stringify(body);
      const collected = new AnswerBody({ "content-type": "application/json", ...headers });
      collected.push(Buffer.from(text));
      const answer = { status, headers, ...collected.read() };
      const book = rulebookOf(adapter.spec, whole, step === undefined ? null : (whole.steps?.[step] ?? null));
      const { verdict, rule } = judge(answer, book);
      return {
        verdict,
        data: rule?.data === undefined ? (answer.json ?? answer.text) : rule.data,
        restMs: rule?.restMs,
      };
    },
    quote(action, given) {
      const { price } = offerOf(action).spec;
      const { params, row } = taken(action, given);
      if (row !== null) return rowCents(row, params, price.cents);
      return price.quoteCents?.(params) ?? price.cents;
    },
    upstreamCents(action, given) {
      const { params, row } = taken(action, given);
      return upstreamCentsOf(offerOf(action).spec, params, row);
    },
  };
}

function pathsOf(issue: z.core.$ZodIssue): string[] {
  const path = issue.path.map(String).join(".");
  return issue.code === "unrecognized_keys" ? issue.keys.map((key) => [path, key].filter(Boolean).join(".")) : [path];
}

function parsedBody(body: string | Buffer | null): unknown {
  try {
    return body === null ? null : JSON.parse(String(body));
  } catch {
    return body;
  }
}
