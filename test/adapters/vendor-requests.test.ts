// What adapters send is what vendors' own specifications take: calls made from the published params of every action are built into
// requests and held against names, types, bounds and requirements that were taken from those specifications, each with its date.
import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import { describe, expect, it } from "vitest";
import type { JsonObject } from "../../src/catalog/action.ts";
import { openActionCatalog } from "../../src/run/action-catalog.ts";
import { paramsSchema } from "../../src/run/params-schema.ts";
import { callsOf } from "../run/calls-of-schema.ts";
import { type AdapterWire, type Sent, wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

/** What a specification says of one operation; `{name}` in its path is anything but a slash. */
interface Operation {
  readonly query?: object;
  readonly body?: object;
  readonly bodyRequired?: boolean;
}

interface VendorRequests {
  readonly source: string;
  readonly date: string;
  /** What is taken from elsewhere, because the specification lags behind the vendor. */
  readonly beyond?: readonly string[];
  /** By method and path. */
  readonly operations: Readonly<Record<string, Operation>>;
}

const SEED = 20_261_122;
const CALLS_MAX = 400;
/** As an id goes out that the caller chose. */
const HIDDEN_ID = `tg_${"aB3-_".repeat(7).slice(0, 32)}`;
const folder = new URL("../fixtures/vendor-requests/", import.meta.url);
const vendors = readdirSync(folder).map((file) => file.replace(/\.json$/, ""));

/** Actions of these vendors that no specification tells of. */
const UNTOLD = ["scrapingant/markdown", "scrapingant/extract"];

const [inBody, inQuery] = [
  new Ajv2020({ strict: false, allErrors: true }),
  // All of a query is text.
  new Ajv2020({ strict: false, allErrors: true, coerceTypes: "array" }),
];
for (const ajv of [inBody, inQuery]) formats.default(ajv);

const catalog = await shippedCatalog();
const actions = openActionCatalog(() => catalog, []).all({ sandbox: true });

/** The calls that an action takes, of those made from its schema. */
function* goodCalls(vendor: string, name: string, sender: AdapterWire): Generator<JsonObject> {
  const action = actions.find(({ id }) => id === `${vendor}/${name}`);
  if (action === undefined) throw new Error(`${vendor}/${name} is not sold`);
  let made = 0;
  for (const call of callsOf(paramsSchema(action), action.exampleParams, SEED)) {
    const params = JSON.parse(JSON.stringify(call)) as Record<string, JsonObject[string]>;
    for (const param of sender.actions[name]?.callerIds ?? []) {
      if (typeof params[param] === "string") params[param] = HIDDEN_ID;
    }
    if (sender.refuses(name, params).length > 0) continue;
    yield params;
    made += 1;
    if (made === CALLS_MAX) return;
  }
}

interface Checked {
  readonly method: string;
  readonly path: RegExp;
  readonly check: (sent: Sent) => readonly string[];
}

function errorsOf(validate: ValidateFunction | null, value: unknown): readonly string[] {
  if (validate === null || validate(value) === true) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

function checkedOf([name, { query, body, bodyRequired }]: [string, Operation]): Checked {
  const [method = "", path = ""] = name.split(" ");
  const source = path.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+");
  const [ofQuery, ofBody] = [
    query === undefined ? null : inQuery.compile(query),
    body === undefined ? null : inBody.compile(body),
  ];
  return {
    method,
    path: new RegExp(`^${source}$`),
    check(sent) {
      const asked = Object.fromEntries(new URL(sent.url).searchParams);
      const unknownQuery = query === undefined && Object.keys(asked).length > 0 ? ["it takes no query"] : [];
      const noBody = sent.body === null && bodyRequired === true ? ["it needs a body"] : [];
      const extraBody = sent.body !== null && body === undefined ? ["it takes no body"] : [];
      const inside = sent.body === null ? [] : errorsOf(ofBody, sent.body);
      return [...unknownQuery, ...noBody, ...extraBody, ...errorsOf(ofQuery, asked), ...inside];
    },
  };
}

describe.each(vendors)("%s takes", async (vendor) => {
  const told = JSON.parse(readFileSync(new URL(`${vendor}.json`, folder), "utf8")) as VendorRequests;
  const sender = await wire(vendor);
  const operations = Object.entries(told.operations).map(checkedOf);
  const used = new Set<Checked>();

  it.each(Object.keys(sender.actions).filter((name) => !UNTOLD.includes(`${vendor}/${name}`)))(
    "what %s sends",
    (name) => {
      const wrong = new Map<string, string>();
      let calls = 0;
      for (const params of goodCalls(vendor, name, sender)) {
        const sent = sender.send(name, params);
        const { pathname } = new URL(sent.url);
        const operation = operations.find(({ method, path }) => method === sent.method && path.test(pathname));
        calls += 1;
        if (operation === undefined) {
          wrong.set(`${sent.method} ${pathname}`, "there is no such operation");
          continue;
        }
        used.add(operation);
        for (const error of operation.check(sent))
          if (!wrong.has(error)) wrong.set(error, JSON.stringify(params).slice(0, 200));
      }
      expect(calls).toBeGreaterThan(5);
      expect([...wrong]).toEqual([]);
    },
  );

  it("nothing that the fixture does not tell, and the fixture tells nothing that is not sent", () => {
    expect(told.date).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(used.size).toBe(operations.length);
  });
});
