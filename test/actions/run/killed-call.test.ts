// A gateway killed while a vendor works, and what a repeat of the call under its Idempotency-Key gets from the next gateway.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";
import { describe, expect, it } from "vitest";
import { spawnGateway } from "../../support/gateway-process.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { onlyAProcessShows } from "../../support/process-fact.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { startVendor } from "../../support/vendor-server.ts";

onlyAProcessShows("a call repeated after a kill");

const KEY = { "idempotency-key": "order-1" };

describe("a gateway that died in the middle of a call", () => {
  it.each([
    ["a write is never run again", "acme/buy", { sku: "x" }, 409],
    ["a read is run again", "acme/search", { q: "tea" }, 200],
  ])("%s", async (_, action, params, status) => {
    const vendor = await startVendor();
    const dataDir = mkdtempSync(join(tmpdir(), "tollgate-crash-"));
    const environment = {
      DATA_DIR: dataDir,
      OVERLAY_DIR: fileURLToPath(new URL("../../fixtures/acme-overlay", import.meta.url)),
      ACME_API_KEY: "k",
      ACME_BASE_URL: vendor.url,
    };
    const call = (url: string, key: string) => postAs(key, `${url}/api/run/${action}`, params, KEY);
    try {
      const before = await spawnGateway(environment);
      const made = await before.admin("POST", "/admin/v1/accounts", { name: "a", credit_cents: 100 });
      const key = String(made.api_key);
      const asked = Promise.withResolvers<void>();
      vendor.answers(() => asked.resolve());
      const lost = call(before.url, key).catch(() => null);
      await asked.promise;
      await before.kill();
      expect(await lost).toBeNull();

      vendor.answers({ body: { results: ["a"] } });
      const after = await spawnGateway(environment);
      const again = await call(after.url, key);
      expect(again.status).toBe(status);
      expect(vendor.asked).toHaveLength(status === 200 ? 1 : 0);
      const account = await after.admin("GET", `/admin/v1/accounts/${made.account_id}`);
      expect(account).toMatchObject({ held_cents: 0, balance_cents: status === 200 ? 99 : 100 });
      await after.terminate();
    } finally {
      await vendor.close();
      removeFolder(dataDir);
    }
  });
});
