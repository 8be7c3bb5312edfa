// A gateway with every vendor of the rows at the recorder's address, with the key that their SDKs use.
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { KEY } from "./told.ts";

export interface VendorRow {
  readonly vendor: string;
  /** The settings that enable the vendor, with `{recorder}` for the recorder's address; absent: its key alone. */
  readonly settings?: Readonly<Record<string, string>>;
}

export interface VendorsGateway {
  readonly gateway: TestGateway;
  /** The host that the adapter calls in production. */
  hostOf(row: VendorRow): string;
  /** Calls the gateway and waits for the answer. Throws where it is refused. */
  post(path: string, body: object): Promise<void>;
}

export async function startVendors(rows: readonly VendorRow[], recorder: string): Promise<VendorsGateway> {
  const nameOf = ({ vendor }: VendorRow) => vendor.toUpperCase().replaceAll("-", "_");
  const own = rows.flatMap((row) =>
    Object.entries(row.settings ?? { [`${nameOf(row)}_API_KEY`]: KEY }).map(
      ([name, value]) => [name, value.replaceAll("{recorder}", recorder)] as const,
    ),
  );
  const env = Object.fromEntries(own);
  const adapters = (await shippedCatalog({ env })).adapters({ sandbox: false });
  const originOf = ({ vendor }: VendorRow) => new URL(adapters.get(vendor)?.origin ?? "");
  const addresses = rows.map((row) => [
    `${nameOf(row)}_BASE_URL`,
    recorder + originOf(row).pathname.replace(/\/$/, ""),
  ]);
  const gateway = await startTestGateway({ ...env, ...Object.fromEntries(addresses) });
  const { key } = await gateway.account({ kind: "personal", creditCents: 100_000 });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return {
    gateway,
    hostOf: (row) => originOf(row).host,
    async post(path, body) {
      const answer = await fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
    },
  };
}
