// Refund requests that are repeated, concurrent, for other accounts' calls, for running calls, and for calls that were never paid.
import { describe, expect, it } from "vitest";
import { startAcmeGateway } from "../actions/run/acme-gateway.ts";
import { forFile } from "../support/for-file.ts";

const gateway = forFile(await startAcmeGateway());
const eve = await gateway.live({ creditCents: 100 });

const refund = (id: string, reason = "asked") =>
  gateway.admin("POST", `/admin/v1/transactions/${id}/refund`, { reason });

async function paidCall(): Promise<string> {
  gateway.vendor.answers({ body: { results: ["found"] } });
  const { json } = await gateway.run(eve, "acme/search", { q: "tea" });
  return String(json.transaction_id);
}

describe("a refund", () => {
  it("asked for fifty times at once is made once", async () => {
    const before = await gateway.balanceCents(eve);
    const id = await paidCall();
    expect(await gateway.balanceCents(eve)).toBe(before - 1);
    const said = await Promise.all(Array.from({ length: 50 }, () => refund(id)));
    expect(new Set(said.map(({ json }) => json.refund_id)).size).toBe(1);
    expect(await gateway.balanceCents(eve)).toBe(before);
  });

  it("is none of the caller's to make", async () => {
    const id = await paidCall();
    const before = await gateway.balanceCents(eve);
    const headers = { authorization: `Bearer ${eve.key}`, "content-type": "application/json" };
    const path = `/admin/v1/transactions/${id}/refund`;
    for (const url of [gateway.url, gateway.adminUrl]) {
      const { status } = await fetch(url + path, { method: "POST", headers, body: '{"reason":"mine"}' });
      expect([401, 403, 404]).toContain(status);
    }
    expect(await gateway.balanceCents(eve)).toBe(before);
  });

  it.each([
    ["of a refund", async () => String((await refund(await paidCall())).json.refund_id)],
    ["of a call that was never made", async () => "tx_000000000000000000000000"],
    [
      "of a call that was free",
      async () => {
        gateway.vendor.answers({ status: 500, body: {} });
        const { headers } = await gateway.run(eve, "acme/search", { q: "tea" });
        return String(headers.get("x-request-id")).replace("req_", "tx_");
      },
    ],
    ["of an id with a path in it", async () => "tx_%2f..%2f..%2faccounts"],
  ])("%s is 404 and moves nothing", async (_, find) => {
    const id = await find();
    const before = await gateway.balanceCents(eve);
    expect((await refund(id)).status).toBe(404);
    expect(await gateway.balanceCents(eve)).toBe(before);
  });
});
