// The files that mock vendors: all shipped ones load, an overlay brings its own, and each loads only when its vendor is called.
import { mkdirSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { describe, expect, it, onTestFinished } from "vitest";
import { STAND_INS } from "../../src/models/formats/stand-ins.ts";
import { vendorsOf } from "../../src/sandbox/action-vendors.ts";
import { startSandbox } from "../../src/sandbox/server.ts";
import { StandIns } from "../../src/sandbox/stand-ins.ts";
import { folderForTest } from "../support/for-file.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { json } from "./action-stand-ins.ts";
import { rawCall } from "./raw-client.ts";

const shipped = vendorsOf(await shippedCatalog());

describe("a stand-in that is shipped", () => {
  const played = [...shipped].filter(([, { standIn }]) => standIn !== null);

  it("there are many", () => expect(played.length).toBeGreaterThan(20));

  it.each(played)("%s can be read, and plays what its adapter has", async (_, vendor) => {
    expect(await new StandIns().of(vendor)).toBeTypeOf("object");
  });

  it("there is one for every vendor of machines", () => {
    const alone = [...shipped].filter(([, { spec, standIn }]) => spec.sessions !== undefined && standIn === null);
    expect(alone).toEqual([]);
  });
});

const SHOP = `import { action, bearer, defineAdapter, z } from "#adapter";
const order_id = "ord_5f2a9c1e7b3d";
const facts = { category: "commerce", price: { mode: "fixed", cents: 1 }, upstreamCents: 1 } as const;
export default defineAdapter({
  name: "Shop",
  docs: "none",
  origin: "https://shop.test",
  auth: bearer,
  actions: {
    buy: action({
      ...facts,
      description: "Buys.",
      effect: "write",
      params: z.strictObject({ thing: z.string() }),
      request: { method: "POST", path: "/orders" },
      issues: [{ kind: "order", at: "/id" }],
      example: { params: { thing: "a cup" }, answers: [{ id: order_id, thing: "a cup" }] },
    }),
  },
});`;
const PLAYED = `import { defineStandIn, put } from "#sandbox";
Object.assign(globalThis, { shopIsPlayed: true });
export default defineStandIn({ actions: { buy: (call) => put(call.answer, { "/thing": call.sent("thing") }) } });`;

/** An operator's folder with these files in its `adapters/`. */
function overlayOf(files: Readonly<Record<string, string>>): string {
  const folder = folderForTest("tollgate-stand-in-");
  mkdirSync(join(folder, "adapters"));
  for (const [name, text] of Object.entries(files)) writeFileSync(join(folder, "adapters", name), text);
  return folder;
}

/** The sandbox's answer for the shop of such an overlay. */
async function bought(overlayDir: string) {
  const vendors = vendorsOf(await shippedCatalog({ overlayDir }));
  const before = "shopIsPlayed" in globalThis;
  const sandbox = await startSandbox({ dialects: STAND_INS, host: "127.0.0.1", port: 0, adapters: () => vendors });
  onTestFinished(() => sandbox.close());
  const answer = await rawCall({
    url: `${sandbox.url}/shop/orders`,
    method: "POST",
    body: JSON.stringify({ thing: "a lamp" }),
    headers: {
      authorization: "Bearer any",
      "content-type": "application/json",
      "x-request-id": "req-1",
      "x-tollgate-sandbox-action": "buy",
    },
  });
  return { status: answer.status, body: json(answer), before };
}

describe("a stand-in of an overlay", () => {
  it("plays its vendor, and is read when that is asked first", async () => {
    const { status, body, before } = await bought(overlayOf({ "shop.ts": SHOP, "shop.sandbox.ts": PLAYED }));
    expect(before).toBe(false);
    expect(status).toBe(200);
    expect(body).toEqual({ id: expect.stringMatching(/^ord_[0-9a-f]{12}$/), thing: "a lamp" });
    expect(globalThis).toHaveProperty("shopIsPlayed", true);
  });

  it.each([
    ["cannot be parsed", "export default {", /shop\.sandbox\.ts cannot be loaded: \S/],
    ["has no default export", "export const a = 1;", /has no default export made by defineStandIn/],
    [
      "plays what is not sold",
      "export default { actions: { sell: () => null } };",
      /stands in for sell, which is none/,
    ],
    ["plays sessions that are none", "export default { sessions: () => null };", /its adapter has none/],
    [
      "throws",
      "export default { actions: { buy() { throw new Error('no cups'); } } };",
      /stand-in for shop\/buy has failed: no cups/,
    ],
  ])("that %s says so in its vendor's place", async (_, text, message) => {
    const { status, body } = await bought(overlayOf({ "shop.ts": SHOP, "shop.sandbox.ts": text }));
    expect(status).toBe(500);
    expect(body.error).toMatchObject({ message: expect.stringMatching(message) });
  });

  it("goes with its adapter: one that replaces a shipped adapter is played by its own file, or by its examples", async () => {
    const vendors = vendorsOf(await shippedCatalog({ overlayDir: overlayOf({ "zep.ts": SHOP }) }));
    expect(vendors.get("zep")?.standIn).toBeNull();
    expect(vendors.get("mem0")?.standIn).not.toBeNull();
  });

  it("that has no adapter is a mistake of the catalog", async () => {
    const overlayDir = overlayOf({ "shop.ts": SHOP, "stall.sandbox.ts": PLAYED });
    await expect(shippedCatalog({ overlayDir })).rejects.toThrow(
      /stall\.sandbox\.ts stands in for stall, which is not an adapter/,
    );
  });
});
