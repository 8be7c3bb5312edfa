// A live gateway with the test's own search vendors and small model, and a log of their requests.
import type { ServerResponse } from "node:http";
import { startVendor, type VendorRequest, type VendorServer } from "../../support/vendor-server.ts";
import { type AcmeGateway, startAcmeGateway } from "../run/acme-gateway.ts";

/** A vendor's answer: a body, a status, or none ever. */
export type Play = (asked: VendorRequest) => { readonly status?: number; readonly body?: unknown } | "hangs";

const VENDORS = ["EXA", "BRAVE", "FIRECRAWL", "SCRAPINGANT", "OPENALEX", "WAYBACK", "GDELT", "GROQ"] as const;
export type Vendor = Lowercase<(typeof VENDORS)[number]>;

export interface SearchStage {
  readonly gateway: AcmeGateway;
  /** Applies from now on; vendors not named here fail. */
  plays(plays: Partial<Record<Vendor, Play>>): void;
  asked(vendor: Vendor): readonly VendorRequest[];
  stop(): Promise<void>;
}

const KEYED = ["EXA_API_KEY", "BRAVE_SEARCH_API_KEY", "FIRECRAWL_API_KEY", "SCRAPINGANT_API_KEY", "GROQ_API_KEY"];

function write(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { "content-type": typeof body === "string" ? "text/html" : "application/json" });
  response.end(typeof body === "string" ? body : JSON.stringify(body));
}

export async function startSearchStage(): Promise<SearchStage> {
  const vendor: VendorServer = await startVendor();
  let current: Partial<Record<Vendor, Play>> = {};
  const settings = Object.fromEntries([
    // Our own fetcher would access the internet.
    ["DIRECT_FETCH", "0"] as const,
    ...KEYED.map((name) => [name, "key"] as const),
    ...VENDORS.map((name) => [`${name}_BASE_URL`, `${vendor.url}/${name.toLowerCase()}`] as const),
  ]);
  const gateway = await startAcmeGateway(settings);
  const vendorOf = ({ url }: VendorRequest) => url.split("/")[1] as Vendor;
  return {
    gateway,
    plays(plays) {
      current = plays;
      vendor.answers((response, request) => {
        const played = current[vendorOf(request)]?.(request) ?? { status: 503, body: {} };
        if (played !== "hangs") write(response, played.status ?? 200, played.body ?? {});
      });
    },
    asked: (name) => vendor.asked.filter((request) => vendorOf(request) === name),
    async stop() {
      await gateway.stop();
      await vendor.close();
    },
  };
}

/** A model's answer in OpenAI's chat wire. */
export const says =
  (json: unknown): Play =>
  () => ({
    body: {
      id: "c1",
      object: "chat.completion",
      created: 1,
      model: "m",
      choices: [
        {
          index: 0,
          message: { role: "assistant", content: typeof json === "string" ? json : JSON.stringify(json) },
          finish_reason: "stop",
        },
      ],
      usage: { prompt_tokens: 10, completion_tokens: 5, total_tokens: 15 },
    },
  });

/** The search results of exa. */
export const finds =
  (...results: object[]): Play =>
  () => ({ body: { results } });
