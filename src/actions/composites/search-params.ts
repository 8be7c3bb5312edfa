// The params of core/onesearch, and what a call means: its facets, speed, thoroughness and recency.
import { z } from "zod";
import { exactlyOne, goesWith, notBoth, rule, type SchemaRule } from "../../catalog/params-rules.ts";
import { readPageUrl } from "./pages/page-url.ts";

/** The facets that a classifier may choose. */
export const SEARCH_FACETS = [
  "web",
  "docs",
  "news",
  "academic",
  "code",
  "public-filings",
  "funding",
  "financials",
  "legal",
  "nonprofits",
  "regulatory",
  "compliance",
] as const;
export type SearchFacet = (typeof SEARCH_FACETS)[number];
const FACETS = [...SEARCH_FACETS, "scrape", "scrape-hard", "social"] as const;
const PLATFORMS = ["tiktok", "instagram", "youtube", "twitter", "weibo", "reddit"] as const;
/** More results are of no use to a reader; more pages would cost more than the flat price covers. */
const RESULTS_MAX = 50;
const URLS_MAX = 5;

const host = z
  .string()
  .trim()
  .toLowerCase()
  .max(253)
  .regex(/^([a-z0-9_]([a-z0-9_-]*[a-z0-9])?\.)+[a-z0-9-]{2,}$/, "must be a domain such as example.com");
function urlFault(given: unknown): string {
  const read = readPageUrl(String(given), () => false);
  return read instanceof URL ? "" : read.words;
}
const page = z
  .string()
  .max(2_048)
  .refine((text) => urlFault(text) === "", { error: ({ input }) => urlFault(input), params: { code: "bad_url" } });
const day = z
  .string()
  .regex(/^(19|20)\d{6}$/, { error: "must be a day as YYYYMMDD", abort: true })
  .refine(
    (text) => z.iso.date().safeParse(text.replace(/^(....)(..)(..)$/, "$1-$2-$3")).success,
    "must be a day that exists",
  );

const SOCIAL: SchemaRule = { required: ["facets"], properties: { facets: { contains: { const: "social" } } } };
const without = (facet: string): SchemaRule => ({
  not: { required: ["facets"], properties: { facets: { contains: { const: facet } } } },
});
/** A facet that reads pages needs their addresses. */
const readsPages = (facet: string) =>
  rule({ anyOf: [without(facet), { required: ["urls"] }] }, "urls", `is needed with facets ${facet}`);

export const searchParams = z
  .strictObject({
    query: z
      .string()
      .max(1_000)
      .regex(/\S/, "must not be blank")
      .trim()
      .describe("What to find. Alone, it decides by itself where to look")
      .optional(),
    facets: z
      .array(z.enum(FACETS))
      .min(1)
      .max(FACETS.length)
      .describe("Where to look; default web. scrape and scrape-hard read urls, social returns posts as they are")
      .optional(),
    timeCritical: z.boolean().describe("Race two independent indexes").optional(),
    fidelityRequired: z.boolean().describe("Fetch the whole text of what is found").optional(),
    recencyDays: z.int().min(1).max(3_650).describe("Only what is at most so many days old").optional(),
    domains: z.array(host).min(1).max(20).describe("Only these sites").optional(),
    excludeDomains: z.array(host).min(1).max(20).describe("Not these sites").optional(),
    maxResults: z.int().min(1).max(RESULTS_MAX).describe("The most results; default 10").optional(),
    urls: z.array(page).min(1).max(URLS_MAX).describe("Read these pages instead of searching").optional(),
    asOf: day.describe("YYYYMMDD: pages as they were archived nearest to that day").optional(),
    platform: z.enum(PLATFORMS).describe("With facets social: the network; default twitter").optional(),
  })
  .check(
    exactlyOne("query", "urls"),
    readsPages("scrape"),
    readsPages("scrape-hard"),
    rule(
      { anyOf: [{ not: { required: ["platform"] } }, SOCIAL] },
      "platform",
      "goes with facets social, which is missing",
    ),
    ...["timeCritical", "recencyDays", "domains", "excludeDomains"].map((name) => goesWith(name, "query")),
    notBoth("asOf", "timeCritical", "recencyDays"),
  )
  .refine(({ facets = [], urls }) => urls === undefined || facets.every((one) => one !== "social"), {
    path: ["facets"],
    message: "social needs a query and does not go with urls",
  })
  .refine(({ facets = [], urls = [] }) => !facets.includes("scrape-hard") || urls.length <= 1, {
    path: ["urls"],
    message: "has more than one page; scrape-hard reads one page per call",
  });
export type SearchParams = z.infer<typeof searchParams>;

/** Whether the caller set anything besides the query, which then decides instead of the classifier. */
export function hasFrame(params: SearchParams): boolean {
  return Object.entries(params).some(([name, value]) => name !== "query" && value !== undefined);
}
