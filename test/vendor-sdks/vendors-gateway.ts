// A gateway that has every vendor of the rows at the recorder's address, with the key that their SDKs are given.
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { shippedCatalog } from "../support/shipped-catalog.ts";
import { KEY } from "./told.ts";

export interface VendorRow {
  readonly vendor: string;
  /** What turns the vendor on; left out: its key alone. */
  readonly settings?: Readonly<Record<string, string>>;
  /** The host of a vendor whose origin has settings in it. */
  readonly host?: string;
}

export interface VendorsGateway {
  readonly gateway: TestGateway;
  /** The host that the adapter asks where no test is. */
  hostOf(row: VendorRow): string;
  /** A call to the gateway, until it is answered. Throws where it is refused. */
  post(path: string, body: object): Promise<void>;
}

export async function startVendors(rows: readonly VendorRow[], recorder: string): Promise<VendorsGateway> {
  const adapters = (await shippedCatalog()).adapters({ sandbox: true });
  const originOf = ({ vendor }: VendorRow) => {
    return new URL(adapters.get(vendor)?.spec.origin.replaceAll(/[{}]/g, "") ?? "");
  };
  const settings = rows.flatMap((row) => {
    const name = row.vendor.toUpperCase().replaceAll("-", "_");
    const address = recorder + originOf(row).pathname.replace(/\/$/, "");
    return Object.entries({ ...(row.settings ?? { [`${name}_API_KEY`]: KEY }), [`${name}_BASE_URL`]: address });
  });
  const gateway = await startTestGateway(Object.fromEntries(settings));
  const { key } = await gateway.account({ kind: "personal", creditCents: 100_000 });
  const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
  return {
    gateway,
    hostOf: (row) => row.host ?? originOf(row).host,
    async post(path, body) {
      const answer = await fetch(gateway.url + path, { method: "POST", headers, body: JSON.stringify(body) });
      const text = await answer.text();
      if (!answer.ok) throw new Error(text);
    },
  };
}
