// Published schemas accept exactly what the gateway accepts: calls that every schema allows, and calls that it forbids, are checked by
// both.
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { beforeAll, describe, expect, test } from "vitest";
import { z } from "zod";
import { filesActions } from "../../../src/actions/files/file-actions.ts";
import type { Files } from "../../../src/actions/files/files.ts";
import { type CatalogAction, openActionCatalog } from "../../../src/actions/run/action-catalog.ts";
import { descriptorOf, rowDescriptor } from "../../../src/actions/run/descriptor.ts";
import { discoverAction } from "../../../src/actions/run/discover.ts";
import {
  type JsonSchema,
  MAIL_PATTERN,
  paramNames,
  paramNamesOf,
  paramsSchema,
  tableOf,
  UNSAID,
} from "../../../src/actions/run/params-schema.ts";
import { readParams } from "../../../src/actions/run/read-call.ts";
import { offeredCalls } from "../../../src/actions/run/vendor-serving.ts";
import { GatewayError, refusalIn } from "../../../src/core/errors.ts";
import type { Payer } from "../../../src/core/plan.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { callsOf } from "./calls-of-schema.ts";
import { inSmallCatalog } from "./small-catalog.ts";

const SEED = 20_261_122;
const ROW_STEP = 23;
const PAYER: Payer = { id: "acct:acct_1", sandbox: true };
const FORMATS = ["date"];

/** As strict as readers come: a schema that one cannot read throws. */
const ajv = new Ajv2020({ strictTypes: false });
formats.default(ajv);

let actions: readonly CatalogAction[];

beforeAll(async () => {
  const catalog = await shippedCatalog();
  const openPublic = () => Promise.reject(new Error("nothing is fetched here"));
  const files = filesActions({ files: {} as Files, openPublic });
  actions = openActionCatalog(() => catalog, [discoverAction(() => ({}) as never), ...files]).all({ sandbox: true });
});

type Call = Record<string, unknown>;

/** The errors for which a call is refused, by field; null: it is accepted. */
function refusalOf(action: CatalogAction, call: Call): readonly string[] | null {
  const read = readParams(action, call);
  const refused = read instanceof GatewayError ? read : vendorsRefuse(action, read);
  if (refused === null) return null;
  const { fields } = refused.options.data as { fields: readonly { message: string }[] };
  return fields.map(({ message }) => message);
}

function vendorsRefuse(action: CatalogAction, { params, row }: Exclude<ReturnType<typeof readParams>, GatewayError>) {
  try {
    if (action.kind === "sold") offeredCalls({ sold: action.sold, params, row, payer: PAYER });
    return null;
  } catch (error) {
    return refusalIn(error);
  }
}

/** All descriptions in a schema. */
function saidIn(schema: unknown): readonly string[] {
  if (typeof schema !== "object" || schema === null) return [];
  const { $comment: own } = schema as JsonSchema;
  return [...(typeof own === "string" ? [own] : []), ...Object.values(schema).flatMap(saidIn)];
}

interface Tally {
  accepted: number;
  refused: number;
  wrong: string[];
}

/** Compares the published schema's verdict on calls with the gateway's. */
function compare(
  name: string,
  schema: JsonSchema,
  example: Call,
  refusal: (call: Call) => readonly string[] | null,
): Tally {
  let isValid: ValidateFunction;
  try {
    isValid = ajv.compile(schema);
  } catch (cause) {
    throw new Error(`no strict reader can read the schema of ${name}`, { cause });
  }
  const said = saidIn(schema);
  const tally: Tally = { accepted: 0, refused: 0, wrong: [] };
  for (const made of callsOf(schema, example, SEED)) {
    const call = JSON.parse(JSON.stringify(made)) as Call;
    const refused = refusal(call);
    if (refused === null) tally.accepted += 1;
    else tally.refused += 1;
    const shown = `${name} ${JSON.stringify(call).slice(0, 300)}`;
    if (refused === null && !isValid(call))
      tally.wrong.push(`accepted, but not published: ${shown} ${ajv.errorsText(isValid.errors)}`);
    // What JSON Schema cannot express is in the descriptions, with the exact words of the error.
    const isTold = refused?.every((message) => said.some((words) => words.includes(message)));
    if (refused !== null && isTold === false && isValid(call))
      tally.wrong.push(`refused, but published: ${shown} ${refused}`);
  }
  return tally;
}

describe("every published schema is read by a strict reader, and none differs from what is accepted", () => {
  test("for calls made from the schema of every action, and from what it forbids", () => {
    const all: string[] = [];
    for (const action of actions) {
      // Its other params belong to a row; see below.
      const table = tableOf(action) !== null;
      const refusal = (call: Call) => {
        if (!table) return refusalOf(action, call);
        const read = action.facts.params.safeParse(call);
        return read.success ? null : read.error.issues.map(({ message }) => message);
      };
      const { accepted, refused, wrong } = compare(action.id, paramsSchema(action), action.exampleParams, refusal);
      expect(accepted, `${action.id} was never called well`).toBeGreaterThan(0);
      if (Object.keys(action.facts.params).length > 0) expect(refused, action.id).toBeGreaterThan(0);
      all.push(...wrong);
    }
    expect(all).toEqual([]);
    expect(actions.length).toBeGreaterThan(80);
  }, 600_000);

  test("for calls of rows of tables", () => {
    const all: string[] = [];
    let rows = 0;
    for (const action of actions) {
      const names = Object.keys(tableOf(action)?.rows ?? {});
      const step = names.length > 100 ? ROW_STEP : 1;
      for (const name of names.filter((_, at) => at % step === 0)) {
        const shown = rowDescriptor(action, name);
        if (shown === null) throw new Error(`${action.id} has no ${name}`);
        const refusal = (call: Call) => refusalOf(action, call);
        const example = shown.example as Call;
        // Another name may select another row, which has its own schema.
        const pinned = (call: Call) => (call[Object.keys(example)[0] ?? ""] === name ? refusal(call) : ["another row"]);
        all.push(...compare(`${action.id} ${name}`, shown.params, example, pinned).wrong);
        rows += 1;
      }
    }
    expect(all).toEqual([]);
    expect(rows).toBeGreaterThan(80);
  });

  test("in a format that not everybody reads alike, by a pattern with a flag, or by a check without words", () => {
    for (const action of actions) {
      const text = JSON.stringify(paramsSchema(action));
      const named = [...text.matchAll(/"format":"([^"]+)"/g)].map(([, format]) => format ?? "");
      expect(
        named.filter((format) => !FORMATS.includes(format)),
        action.id,
      ).toEqual([]);
      expect(text, action.id).not.toContain(UNSAID);
      expect(
        saidIn(paramsSchema(action)).filter((words) => words.includes("must match /")),
        action.id,
      ).toEqual([]);
    }
  });
});

test("the names of params are those of the schema, without one", () => {
  for (const action of actions) {
    expect(paramNamesOf(action), action.id).toEqual(paramNames(paramsSchema(action)));
  }
});

describe("a schema", () => {
  const shown = (params: z.ZodType) => {
    const { facts, ...action } = inSmallCatalog("finders/search");
    return paramsSchema({ ...action, facts: { ...facts, params } } as CatalogAction);
  };

  test("publishes an either-or as anyOf", () => {
    const byId = (id: string) => {
      const found = actions.find((one) => one.id === id);
      if (found === undefined) throw new Error(`there is no ${id}`);
      return descriptorOf(found).params;
    };
    const needs = (...names: string[]) => names.map((name) => ({ required: [name] }));
    expect(byId("exa/contents").anyOf).toEqual(needs("urls", "ids"));
    expect(byId("parallel/search").anyOf).toEqual(needs("query", "objective", "search_queries"));
    expect(byId("courtlistener/opinions").anyOf).toEqual(needs("q", "case_name", "docket_number", "court"));
    expect(byId("propublica-nonprofits/search").anyOf).toEqual(needs("q", "state", "ntee", "c_code"));
    expect(byId("firecrawl/extract").anyOf).toEqual(needs("prompt", "schema"));
    const point = { required: ["latitude", "longitude"] };
    expect(byId("rentcast/value-estimate").anyOf).toEqual([...needs("address"), point]);
    expect(byId("tomba/phone-finder").oneOf).toEqual(needs("email", "domain", "linkedin"));
    expect(byId("nyne/person-enrichment")).toMatchObject({
      oneOf: needs("email", "phone", "social_media_url", "name"),
      anyOf: [{ required: ["company", "name"] }, { not: { anyOf: needs("company", "name") } }],
    });
  });

  test("publishes a mail address by its pattern, of which no reader has a notion of its own", () => {
    const { properties } = shown(z.strictObject({ to: z.email() }));
    expect(properties).toEqual({ to: { type: "string", pattern: MAIL_PATTERN } });
  });

  test("never publishes a pattern whose flag it would lose: it says so in words", () => {
    const { properties } = shown(z.strictObject({ country: z.string().regex(/^[a-z]{2}$/i) }));
    expect(properties).toEqual({ country: { type: "string", $comment: "must match /^[a-z]{2}$/i" } });
  });

  test("says in words what it cannot say otherwise, of a field and across fields", () => {
    const even = z.int().refine((count) => count % 2 === 0, "must be even");
    const params = z
      .strictObject({ from: even, to: even })
      .refine(({ from, to }) => from <= to, { path: ["to"], error: "must not be before from" });
    expect(shown(params)).toMatchObject({
      properties: { from: { $comment: "must be even" } },
      $comment: "to must not be before from",
    });
  });
});
