// The hint of an error: what to do next about this specific problem.
import { describe, expect, test } from "vitest";
import { forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";
import { sendAs } from "../support/keyed-fetch.ts";

const gateway = forFile(await startTestGateway());
const account = await gateway.account();

interface Told {
  readonly error: string;
  readonly hint: string;
}

async function hintOf(method: string, path: string, body?: unknown): Promise<[code: string, hint: string]> {
  const response = await sendAs(account.key, method, `${gateway.url}${path}`, body);
  const { error, hint } = (await response.json()) as Told;
  return [error, hint];
}

describe("a hint", () => {
  test("is about the thing that was not found", async () => {
    for (const [method, path, body, leads] of [
      ["POST", "/api/run/files/get", { file_id: `file_${"0".repeat(32)}` }, "/api/run/files/list"],
      ["GET", "/api/v1/transactions/tx_none", undefined, "/api/v1/transactions"],
      ["DELETE", "/api/v1/agents/key_none", undefined, "/api/v1/agents"],
      ["POST", "/api/run/parallel/task-status", { run_id: "none" }, "earlier answer"],
      ["GET", "/nothing/here", undefined, "/llms.txt"],
      ["POST", "/api/run/nobody/knows", {}, "/api/run"],
    ] as const) {
      const [code, hint] = await hintOf(method, path, body);
      expect([path, code]).toEqual([path, "not_found"]);
      expect(hint).toContain(leads);
    }
  });

  test("of the operator's listener is about what that has", async () => {
    for (const [path, leads] of [
      ["/admin/v1/accounts/none", "/admin/v1/accounts"],
      ["/admin/v1/transactions/none", "transaction_id"],
      ["/api/run", "operator's listener"],
    ] as const) {
      const { status, json } = await gateway.admin("GET", path);
      expect([path, status]).toEqual([path, 404]);
      expect(json.hint).toContain(leads);
    }
  });

  test("names the admin token where that is missing or wrong", async () => {
    for (const headers of [{}, { authorization: `Bearer ${account.key}` }]) {
      const response = await fetch(`${gateway.adminUrl}/admin/v1/accounts`, { headers });
      const { error, hint } = (await response.json()) as Told;
      expect([response.status, error]).toEqual([401, "invalid_token"]);
      expect(hint).toMatch(/ADMIN_TOKEN.*admin\.token/);
    }
  });
});
