// Deep jobs without HTTP: their kinds over real stores, a vendor in memory that charges the listed price, and jobs whose budget equals
// their price.

import { onefindDeepJob } from "../../../src/actions/composites/onefind-deep.ts";
import { onescrapeDeepJob } from "../../../src/actions/composites/onescrape-deep.ts";
import type { JobKind } from "../../../src/catalog/job-kind.ts";
import type { InnerCalls, WantedCall } from "../../../src/catalog/local-action.ts";
import type { PageLadderSpec } from "../../../src/catalog/page-ladder.ts";
import type { PeopleFinderSpec } from "../../../src/catalog/people-finder.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { nano } from "../../../src/core/money.ts";
import { Places } from "../../../src/core/places.ts";
import type { CountedCalls, OuterCall } from "../../../src/kernel/inner-call.ts";
import type { Spending } from "../../../src/kernel/parent-funds.ts";
import { createJobRows, type JobRows } from "../../../src/platform/records/job-rows.ts";
import type { Records } from "../../../src/platform/records/records.ts";
import { CENT } from "../../money/ledger/requests.ts";
import { shippedCatalog } from "../../support/shipped-catalog.ts";
import { type Asked, callsOf, type Work } from "../jobs/stage.ts";
import { READS_NOTHING } from "./page-reading.ts";

const { compositeTiers } = await shippedCatalog({});
const [onefind, onescrape] = ["onefind", "onescrape"].map((name) => compositeTiers.get(name));
if (onefind?.kind !== "people-finder") throw new Error("tiers/onefind.ts finds no people");
if (onescrape?.kind !== "page-ladder") throw new Error("tiers/onescrape.ts reads no pages");
const people: PeopleFinderSpec = onefind;
const ladder: PageLadderSpec = onescrape;

/** Our cost per step equals the payer's price; pages read in batches cost us next to nothing, whether they are read or not. */
const CENTS: Readonly<Record<string, number>> = {
  ...Object.fromEntries(
    [...people.enrich.email, ...people.enrich.linkedin].map(({ action, cents }) => [action, cents]),
  ),
  "exa/contents": 0,
};
const TEXT = "All that is paid at the gate is written down, and whoever asks is told what is left of it. ".repeat(15);
const SERVED = new Set(["exa/contents", "firecrawl/scrape", "firecrawl/map"]);
/** Pages with these names are read in batches. */
const TOGETHER = "/together/";

/** The answer to one call; null is a miss. */
export type Vendor = (wanted: WantedCall) => Promise<unknown>;

/** Calls that this vendor answers at their listed prices. */
export function vendorCalls(outer: OuterCall, self: string, vendor: Vendor, asked: Asked = []): CountedCalls {
  const calls = callsOf(outer, self, asked, ({ action }) => nano((CENTS[action] ?? 1) * CENT));
  const answered = (inner: InnerCalls) => async (wanted: WantedCall) => {
    const data = await vendor(wanted);
    const answer = await inner.call(wanted);
    return answer.ok ? { ...answer, data, isMiss: data === null } : answer;
  };
  const paidBy = (spend: Spending) => {
    const inner = calls.paidBy(spend);
    return { ...inner, call: answered(inner) };
  };
  return { ...calls, call: answered(calls), paidBy };
}

/** Finds every person, reads every page, and has three pages for every site. */
export const knowsAll: Vendor = async ({ action, params }) => {
  if (action === "firecrawl/map") return { links: ["", "a", "b"].map((path) => ({ url: `${params.url}${path}` })) };
  if (action === "exa/contents") {
    return {
      results: (params.urls as readonly string[]).map((id) => ({ id, text: id.includes(TOGETHER) ? TEXT : "" })),
    };
  }
  if (action === "firecrawl/scrape") return { data: { markdown: TEXT, metadata: { url: params.url } } };
  if (action === "tomba/enrich") return { data: { company: { name: "Example" } } };
  return { profile: { fullName: "Ada Lovelace" } };
};

export interface DeepKinds {
  readonly kinds: readonly JobKind[];
  readonly rows: JobRows;
}

/** The job kinds of one process. */
export function deepKinds(records: Records): DeepKinds {
  const rows = createJobRows(records, 64 * 1_048_576);
  const places = new Places(256);
  const parts = {
    clock: systemClock,
    ladder: () => ladder,
    mayUsePort: () => true,
    reading: () => READS_NOTHING,
    readsDirectly: false,
    rungParts: (_: unknown, of: PageLadderSpec, calls: Pick<InnerCalls, "call">) => ({
      direct: null,
      reading: READS_NOTHING,
      ladder: of,
      isServed: (action: string) => SERVED.has(action),
      call: (wanted: WantedCall) => calls.call(wanted),
    }),
  };
  const finder = () => people;
  return { kinds: [onefindDeepJob({ finder, rows, places }), onescrapeDeepJob({ parts, rows, places })], rows };
}

const PAGES = { format: "markdown", main_content: true } as const;

/** Alternates between people, pages, batches of pages and a site; each is charged its whole budget. */
export const DEEP_WORK: readonly ((name: string) => Work & { readonly rows: number })[] = [
  (name) => ({
    job: "onefind-deep",
    start: { rows: [`${name}@example.com`, `${name}@gmail.com`] },
    amountNano: nano(24 * CENT),
    rows: 2,
  }),
  (name) => ({
    job: "onescrape-deep",
    start: { urls: ["a", "b", "c"].map((path) => `https://${name}.example/${path}`), ...PAGES },
    amountNano: nano(3 * CENT),
    rows: 3,
  }),
  (name) => ({
    job: "onescrape-deep",
    start: { urls: ["a", "b", "c"].map((path) => `https://${name}.example${TOGETHER}${path}`), ...PAGES },
    amountNano: nano(CENT),
    rows: 3,
  }),
  (name) => ({
    job: "onescrape-deep",
    start: { site: { url: `https://${name}.example/`, max_pages: 3, include: [], exclude: [] }, ...PAGES },
    amountNano: nano(4 * CENT),
    rows: 3,
  }),
];
