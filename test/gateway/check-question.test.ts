import { generateKeyPairSync } from "node:crypto";
import { afterAll, beforeAll, expect, test } from "vitest";
import type { Catalog } from "../../src/catalog/catalog.ts";
import { variablesOf } from "../../src/catalog/variables.ts";
import { systemClock } from "../../src/core/clock.ts";
import { checkQuestion } from "../../src/gateway/check-question.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import { createUpstream, type Upstream } from "../../src/upstream/upstream.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";

const LIVE = { sandbox: false };
/** Vendors whose actions all have side effects, need another action's result, cost more than a cent, or are rows of a table. */
const NOT_ASKED =
  "2captcha agentfax agentmail allium apex-db browserbase codestorage coingecko daytona e2b fal gemini-embeddings govlaws icypeas letta modal nansen nyne primary-sources recallradar rentcast runloop rxatlas sprites strale tikhub trends trialbase-db vercel-sandbox".split(
    " ",
  );

/** A variable's value, by the last word of its name. */
const VALUES: Readonly<Record<string, string>> = {
  URL: "http://127.0.0.1:1/v1",
  CREDENTIALS: "{}",
  DEPLOYMENTS: "gpt-4.1=deployed",
};

/** A signing key must be valid. */
const SIGNING = generateKeyPairSync("ec", { namedCurve: "P-256" }).privateKey.export({ type: "pkcs8", format: "pem" });

function madeUp(name: string): string {
  if (name.endsWith("PRIVATE_KEY")) return String(SIGNING);
  return VALUES[/[A-Z]+$/.exec(name)?.[0] ?? ""] ?? "key-12345";
}

let catalog: Catalog;
let upstream: Upstream;
beforeAll(async () => {
  upstream = createUpstream(systemClock, { dialects: DIALECTS });
  const contact = "Ada ada@lab.example";
  const bare = await shippedCatalog();
  const names = [...bare.adapters(LIVE)].flatMap(([id, { spec }]) => variablesOf(id, spec));
  const env = Object.fromEntries(names.map((name) => [name, madeUp(name)]));
  // A merchant is checked only where there is a wallet: its key is among the settings, not among the vendors' keys.
  const rails = (["mpp", "x402"] as const).filter((rail) => names.includes(`${rail.toUpperCase()}_WALLET_PRIVATE_KEY`));
  catalog = await shippedCatalog({ env, contact, rails });
});
afterAll(() => upstream.close());

test("the variables that are told turn every provider on, but for those that nothing does", () => {
  const off = [...catalog.adapters(LIVE).values()].filter(({ configured }) => !configured);
  expect(off.flatMap(({ id, spec }) => variablesOf(id, spec))).toEqual([]);
  expect(off.every(({ spec }) => spec.waitsFor !== undefined)).toBe(true);
});

test("every provider that is shipped can be asked, but for those that cannot be without an effect", () => {
  const order = { catalog, upstream, requestId: "req_1", createdS: 1, msMax: 1_000 };
  const asks = [...catalog.adapters(LIVE).values()]
    .filter(({ configured }) => configured)
    .map((adapter) => ({ id: adapter.id, question: checkQuestion(adapter, order) }));
  expect(asks.length).toBeGreaterThan(30);
  expect(asks.flatMap(({ id, question }) => (typeof question === "string" ? [id] : []))).toEqual(NOT_ASKED);
});
