// A gateway with two vendors of the test in its catalog, and calls to it as an agent makes them.
import { fileURLToPath } from "node:url";
import { type AccountOptions, startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";

export interface RunAnswer {
  readonly status: number;
  readonly headers: Headers;
  readonly text: string;
  readonly json: Record<string, unknown> & { data?: unknown };
}

export interface AcmeGateway extends TestGateway {
  readonly vendor: VendorServer;
  /** A live account: its calls reach the vendor. */
  live(options?: AccountOptions): Promise<TestAccount>;
  run(
    account: TestAccount | string,
    action: string,
    params?: unknown,
    headers?: Record<string, string>,
  ): Promise<RunAnswer>;
  balanceCents(account: TestAccount): Promise<number>;
  heldCents(account: TestAccount): Promise<number>;
  transactions(account: TestAccount): Promise<Record<string, unknown>[]>;
}

export async function readAnswer(response: Response): Promise<RunAnswer> {
  const text = await response.text();
  return { status: response.status, headers: response.headers, text, json: JSON.parse(text) as RunAnswer["json"] };
}

export async function startAcmeGateway(
  environment: Record<string, string> = {},
  own: Parameters<typeof startTestGateway>[1] = {},
): Promise<AcmeGateway> {
  const vendor = await startVendor();
  const settings = {
    OVERLAY_DIR: fileURLToPath(new URL("../../fixtures/acme-overlay", import.meta.url)),
    ACME_API_KEY: "acme-key",
    ACME_BASE_URL: `${vendor.url}/v1`,
    BULK_API_KEY: "bulk-key",
    BULK_BASE_URL: vendor.url,
    RESTING_BASE_URL: `${vendor.url}/resting`,
    WORKSHOP_API_KEY: "key-of-ours",
    WORKSHOP_BASE_URL: `${vendor.url}/v1`,
    ...environment,
  };
  const gateway = await startTestGateway(settings, own);

  async function get(account: TestAccount, path: string): Promise<Record<string, unknown>> {
    const headers = { authorization: `Bearer ${account.key}` };
    return (await (await fetch(`${gateway.url}${path}`, { headers })).json()) as Record<string, unknown>;
  }

  return {
    ...gateway,
    vendor,
    live: (options = {}) => gateway.account({ kind: "personal", ...options }),
    async run(account, action, params = {}, headers = {}) {
      const key = typeof account === "string" ? account : account.key;
      const response = await fetch(`${gateway.url}/api/run/${action}`, {
        method: "POST",
        headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...headers },
        body: typeof params === "string" ? params : JSON.stringify(params),
      });
      return readAnswer(response);
    },
    balanceCents: async (account) => Number((await get(account, "/api/v1/account")).balance_cents),
    heldCents: async (account) => Number((await get(account, "/api/v1/account")).held_cents),
    transactions: async (account) => {
      const { transactions } = await get(account, "/api/v1/transactions");
      return (transactions as Record<string, unknown>[]).filter(({ kind }) => kind === "charge");
    },
    async stop() {
      await gateway.stop();
      await vendor.close();
    },
  };
}
