// FRED: economic data collected by the Federal Reserve Bank of St. Louis, with a free key. Its terms require the notice in the
// descriptions. The wire format follows its documentation. From memory: its error messages.
import { action, defineAdapter, keyInQuery, like, optional, z } from "#adapter";

const day = z.iso.date();
const series_id = like(/^[A-Za-z0-9._-]{1,100}$/, "is no id of a series").describe(
  "Id of the series, such as UNRATE or GDPC1",
);
const times = {
  realtime_start: optional(day, "What was known from this day on; today unless set"),
  realtime_end: optional(day, "What was known until this day; today unless set"),
};
const tags = z.string().min(1).max(500);
const NOTICE = "Uses the FRED API; not endorsed or certified by the Federal Reserve Bank of St. Louis.";

const common = {
  category: "open-data",
  effect: "read",
  price: { mode: "fixed", cents: 1, freeOnMiss: true },
  upstreamCents: 0,
  asked:
    "unemployment rate; inflation; cpi; gdp growth; interest rates; mortgage rates; federal funds rate; money supply; consumer prices; wages; jobs; housing starts; economy of america over the years; cost of living; recession; treasury yields; oil price, gas price by year; how bad is joblessness; economic statistics; percent, monthly, yearly, since",
} as const;
const today = { realtime_start: "2026-11-20", realtime_end: "2026-11-20" };
const unemployment = {
  id: "UNRATE",
  ...today,
  title: "Unemployment Rate",
  observation_start: "1948-01-01",
  observation_end: "2026-10-01",
  frequency: "Monthly",
  frequency_short: "M",
  units: "Percent",
  units_short: "%",
  seasonal_adjustment: "Seasonally Adjusted",
  seasonal_adjustment_short: "SA",
  last_updated: "2026-11-06 07:44:02-06",
  popularity: 94,
};

export default defineAdapter({
  name: "FRED",
  docs: "https://fred.stlouisfed.org/docs/api/fred/",
  beliefs: { "*": "the words of its errors" },
  origin: "https://api.stlouisfed.org/fred",
  auth: keyInQuery("api_key"),
  rate: { requests: 120, perMs: 60_000 },
  rules: [
    // A wrong key is a 400, like a wrong param; only the start of the message differs, which callers cannot influence.
    {
      status: 400,
      at: "/error_message",
      matches: /^Bad Request\.\s+(The value for v|V)ariable api_key\b/,
      sample: "Bad Request.  The value for variable api_key is not registered.",
      means: "provider_auth_failed",
    },
    {
      status: [400, 404],
      at: "/error_message",
      matches: /does not exist/,
      sample: "Bad Request.  The series does not exist.",
      means: "miss",
    },
    { status: [400, 404], at: "/error_message", empty: false, means: "caller_invalid", messageAt: "/error_message" },
    // Its data is being updated; it has its own status for that.
    { status: 423, means: "provider_overloaded" },
  ],
  actions: {
    search: action(common, {
      description: `Finds series of economic data by words or by id: unemployment, GDP, inflation, interest rates, money. ${NOTICE}`,
      keywords:
        "economic data; Federal Reserve; CPI; macroeconomics; time series; statistics; unemployment rate; inflation rate; mortgage rates; interest rates; US economy; money supply",
      params: z.strictObject({
        search_text: z
          .string()
          .min(1)
          .max(500)
          .describe("Words to look for, or a part of an id, where * may stand for any"),
        search_type: z.enum(["full_text", "series_id"]).default("full_text").describe("Whether words or ids are meant"),
        limit: z.int().min(1).max(1_000).default(20).describe("Series at most"),
        offset: optional(z.int().min(0), "Series to leave out, for the next page"),
        order_by: optional(
          z.enum(["search_rank", "series_id", "title", "frequency", "last_updated", "observation_start", "popularity"]),
          "What comes first; the best match unless set",
        ),
        sort_order: optional(z.enum(["asc", "desc"]), "Up or down"),
        tag_names: optional(tags, "Only series with all of these tags, separated by semicolons, such as usa;monthly"),
        exclude_tag_names: optional(tags, "No series with one of these tags"),
        ...times,
      }),
      request: { method: "GET", path: "/series/search", fixed: { file_type: "json" } },
      content: ["/seriess"],
      rules: [{ at: "/seriess", empty: true, means: "miss" }],
      example: {
        params: { search_text: "unemployment rate", limit: 1 },
        answer: {
          ...today,
          order_by: "search_rank",
          sort_order: "desc",
          count: 8_213,
          offset: 0,
          limit: 1,
          seriess: [unemployment],
        },
      },
    }),
    series: action(common, {
      description: `Says what a series is: title, units, frequency, first and last observation, when it was last updated. ${NOTICE}`,
      keywords: "economic data; Federal Reserve; metadata of a series",
      params: z.strictObject({ series_id, ...times }),
      request: { method: "GET", path: "/series", fixed: { file_type: "json" } },
      content: ["/seriess"],
      rules: [{ at: "/seriess", empty: true, means: "miss" }],
      example: { params: { series_id: "UNRATE" }, answer: { ...today, seriess: [unemployment] } },
    }),
    observations: action(common, {
      description: `The values of a series by day, month, quarter or year, as levels or as changes; a missing one is a dot. ${NOTICE}`,
      keywords:
        "economic data; Federal Reserve; unemployment; GDP; inflation; interest rates; time series; unemployment rate; US economy; mortgage rates; federal funds rate; consumer prices; recession",
      params: z.strictObject({
        series_id,
        observation_start: optional(day, "The first day"),
        observation_end: optional(day, "The last day"),
        limit: z.int().min(1).max(10_000).default(1_000).describe("Values at most"),
        offset: optional(z.int().min(0), "Values to leave out, for the next page"),
        sort_order: optional(z.enum(["asc", "desc"]), "desc begins with the newest; asc unless set"),
        units: optional(
          z.enum(["lin", "chg", "ch1", "pch", "pc1", "pca", "cch", "cca", "log"]),
          "lin are levels, chg is the change, ch1 that from a year ago, pch and pc1 the same in percent",
        ),
        frequency: optional(
          z.enum(["d", "w", "bw", "m", "q", "sa", "a"]),
          "A lower frequency to sum up to, such as q for quarters",
        ),
        aggregation_method: optional(z.enum(["avg", "sum", "eop"]), "How it is summed up: eop is the last of each"),
        ...times,
      }),
      request: { method: "GET", path: "/series/observations", fixed: { file_type: "json" } },
      content: ["/observations"],
      rules: [{ at: "/observations", empty: true, means: "miss" }],
      example: {
        params: { series_id: "UNRATE", observation_start: "2026-09-01", limit: 2 },
        answer: {
          ...today,
          observation_start: "2026-09-01",
          observation_end: "9999-12-31",
          units: "lin",
          output_type: 1,
          file_type: "json",
          order_by: "observation_date",
          sort_order: "asc",
          count: 2,
          offset: 0,
          limit: 2,
          observations: [
            { ...today, date: "2026-09-01", value: "4.4" },
            { ...today, date: "2026-10-01", value: "4.5" },
          ],
        },
      },
    }),
  },
});
