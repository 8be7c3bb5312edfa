// GDELT: world news as it is published, and its volume. No key; one request every five seconds.
import { action, defineAdapter, like, noAuth, notBoth, z } from "#adapter";

const MOMENT = /^(....)(..)(..)(..)(..)(..)$/;
const moment = z
  .string()
  .regex(/^\d{14}$/, { error: "must be YYYYMMDDHHMMSS", abort: true })
  .refine((text) => {
    const iso = text.replace(MOMENT, "$1-$2-$3T$4:$5:$6Z");
    return z.iso.datetime().safeParse(iso).success;
  }, "must be a date and time that exist");
const asked = {
  query: z
    .string()
    .min(3)
    .max(1_000)
    .describe('Words, "phrases", (a OR b), -word, and operators such as sourcecountry:france or domain:example.org.'),
  timespan: like(
    /^[1-9]\d{0,3}(min|minutes?|h|hours?|d|days?|w|weeks?|m|months?|y|years?)$/,
    "must be as 15min, 24h or 7d",
  )
    .describe("How far back to look: 15min, 24h, 7d, 3m. Left out, as are the dates: three months.")
    .optional(),
  startdatetime: moment.describe("Published at or after, YYYYMMDDHHMMSS in UTC.").optional(),
  enddatetime: moment.describe("Published at or before, YYYYMMDDHHMMSS in UTC.").optional(),
};
interface Asked {
  readonly timespan?: string | undefined;
  readonly startdatetime?: string | undefined;
  readonly enddatetime?: string | undefined;
}
/** Dates in order, or a timespan, or neither. */
function timed<P extends z.ZodType<Asked>>(params: P): P {
  return params
    .refine((p) => (p.startdatetime ?? "") <= (p.enddatetime ?? "~"), { path: ["enddatetime"], error: "is too early" })
    .check(notBoth("timespan", "startdatetime", "enddatetime"));
}

const common = { category: "open-data", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0 } as const;
/** It keeps three months of news; this is slightly more. */
const KEPT_MS = 92 * 86_400_000;
const later = (text: string, ms: number) => {
  const iso = text.replace(MOMENT, "$1-$2-$3T$4:$5:$6Z");
  return new Date(Date.parse(iso) + ms).toISOString().replace(/\D/g, "").slice(0, 14);
};
/** The vendor requires both dates or none: an open end is set to a time without news. */
function between(p: Asked): Readonly<Record<string, unknown>> {
  const { startdatetime: from, enddatetime: to } = p;
  if (from !== undefined && to === undefined) return { ...p, enddatetime: later(from, KEPT_MS) };
  if (to !== undefined && from === undefined) return { ...p, startdatetime: later(to, -KEPT_MS) };
  return { ...p };
}
const request = { method: "GET", path: "/doc/doc", params: between } as const;

export default defineAdapter({
  name: "GDELT DOC 2.0",
  docs: "https://blog.gdeltproject.org/gdelt-doc-2-0-api-debuts/",
  origin: "https://api.gdeltproject.org/api/v2",
  auth: noAuth,
  contact: "polite",
  rate: { requests: 1, perMs: 5_000 },
  // Errors are plain sentences, usually with status 200.
  rules: [
    {
      status: [200, 429],
      at: "",
      matches: /rate limit|limit requests|too many requests|every 5 seconds/i,
      sample: "Please limit requests to one every 5 seconds.",
      means: "provider_rate_limited",
      restMs: 5_000,
    },
    { at: "", matches: /^\s*(<|$)/, sample: "<!doctype html>", means: "provider_overloaded" },
    { at: "", matches: /\S/, sample: "The specified phrase is too short.", means: "caller_invalid" },
  ],
  actions: {
    news: action(common, {
      asked:
        "world news; foreign press; what do newspapers abroad write; articles in other languages; media all over the world; local news in a country; reports in france, india, brazil",
      description:
        "News articles of the last three months from all over the world that match a query, in 65 languages.",
      keywords: "recent news; press; headlines; media coverage; articles about a company",
      params: timed(
        z.strictObject({
          ...asked,
          maxrecords: z.int().min(1).max(250).default(75).describe("The most articles."),
          sort: z
            .enum(["datedesc", "dateasc", "hybridrel", "tonedesc", "toneasc"])
            .default("datedesc")
            .describe("The order: newest or oldest first, by relevance, most positive or most negative first."),
        }),
      ),
      request: { ...request, fixed: { mode: "artlist", format: "json" } },
      content: ["/articles"],
      rules: [{ at: "", not: "", empty: true, means: "miss", data: { articles: [] } }],
      example: {
        params: { query: "climate", timespan: "24h", maxrecords: 1 },
        answer: {
          articles: [
            {
              url: "https://example.org/climate",
              title: "Climate talks open",
              seendate: "20261120T120000Z",
              domain: "example.org",
              language: "English",
              sourcecountry: "France",
            },
          ],
        },
      },
    }),
    timeline: action(common, {
      asked:
        "how much is written about it over time; tone of the press; is coverage positive or negative; media sentiment; attention in the news; mood of reporting",
      description: "How much of the world's news is about a query over time, or how positive its tone is.",
      keywords:
        "press coverage over time; news volume; sentiment; trend; media attention; tone of the news; how much the press writes about something",
      params: timed(
        z.strictObject({
          ...asked,
          mode: z
            .enum(["timelinevol", "timelinetone"])
            .default("timelinevol")
            .describe("The share of all coverage in percent, or the mean tone."),
          timelinesmooth: z.int().min(0).max(30).describe("A moving average over so many steps.").optional(),
        }),
      ),
      request: { ...request, fixed: { format: "json" } },
      content: ["/timeline"],
      rules: [{ at: "", not: "", empty: true, means: "miss", data: { timeline: [] } }],
      example: {
        params: { query: "climate", timespan: "7d" },
        answer: { timeline: [{ series: "Volume Intensity", data: [{ date: "20261120T000000Z", value: 1.42 }] }] },
      },
    }),
  },
});
