// Adapters' requests conform to the vendors' own specifications: calls generated from every action's published params are built into
// requests and checked against names, types, limits and requirements from those specifications, each with its date.
import { describe, expect, it } from "vitest";
import { openActionCatalog } from "../../src/actions/run/action-catalog.ts";
import { paramsSchema } from "../../src/actions/run/params-schema.ts";
import type { JsonObject } from "../../src/catalog/said.ts";
import { callsOf } from "../actions/run/calls-of-schema.ts";
import { type AdapterWire, wire } from "../support/adapter-wire.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { type Checked, operationOf, toldOf, toldVendors } from "../support/vendor-requests.ts";

const SEED = 20_261_122;
const CALLS_MAX = 400;
/** The form in which an id chosen by the caller is sent. */
const HIDDEN_ID = `tg_${"aB3-_".repeat(7).slice(0, 32)}`;

/** Actions of these vendors that are in no specification. */
const UNTOLD = ["scrapingant/markdown", "scrapingant/extract"];

const catalog = await shippedCatalog();
const actions = openActionCatalog(() => catalog, []).all({ sandbox: true });

/** The generated calls that an action accepts. */
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

describe.each(toldVendors)("%s takes", async (vendor) => {
  const sender = await wire(vendor);
  const { date, operations } = toldOf(vendor);
  const used = new Set<Checked>();

  it.each(Object.keys(sender.actions).filter((name) => !UNTOLD.includes(`${vendor}/${name}`)))(
    "what %s sends",
    (name) => {
      const wrong = new Map<string, string>();
      let calls = 0;
      for (const params of goodCalls(vendor, name, sender)) {
        const sent = sender.send(name, params);
        const operation = operationOf(sent, operations);
        calls += 1;
        if (operation === undefined) {
          wrong.set(`${sent.method} ${new URL(sent.url).pathname}`, "there is no such operation");
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
    expect(date).toMatch(/^20\d\d-\d\d-\d\d$/);
    expect(used.size).toBe(operations.length);
  });
});
