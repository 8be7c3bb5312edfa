// Trends MCP: search volume of a term, on many sites and over time. Its answer is JSON within a string, so a script reads it. From memory:
// the params of growth, and the answer of top. Our cost per call is a guess: it has plan pricing.
import { action, bearer, defineAdapter, neededWhen, withRules, z } from "#adapter";

const SOURCES = [
  "google search",
  "google images",
  "google news",
  "google shopping",
  "youtube",
  "tiktok",
  "reddit",
  "amazon",
  "wikipedia",
  "npm",
  "steam",
  "app store",
] as const;
const MODES = { time_series: "get_time_series", growth: "get_growth", top: "get_top_trends" } as const;
const endpoints = ["time_series", "growth", "top"] as const;
/** The vendor's own answer: a status, and the body as a string. */
const wrapped = z.object({ body: z.union([z.string(), z.json()]) });
const series = [
  { date: "2026-11-08", value: 61 },
  { date: "2026-11-15", value: 74 },
];

export default defineAdapter({
  name: "Trends MCP",
  docs: "https://trendsmcp.ai",
  beliefs: { "*": "the param of growth, the answer of top, and what a call costs us, which is sold by plan" },
  origin: "https://api.trendsmcp.ai",
  auth: bearer,
  keyEnv: ["TRENDS_MCP_API_KEY"],
  // A success status can carry an error status.
  rules: [
    { at: "/statusCode", is: [401, 403], means: "provider_auth_failed" },
    { at: "/statusCode", is: 402, means: "provider_billing" },
    { at: "/statusCode", is: 429, means: "provider_rate_limited" },
    { at: "/statusCode", matches: /^4\d\d$/, sample: "400", means: "caller_invalid", messageAt: "/body" },
    { at: "/statusCode", matches: /^5\d\d$/, sample: "500", means: "provider_server_error" },
  ],
  actions: {
    fetch: action({
      asked:
        "is it getting popular; trend of a word; google trends; search interest; what is hot now; rising topics; fad; hype; demand for a product over time; seasonal; what do people search for; more or less popular than last year; growing, declining; buzz; craze",
      description:
        "Tells how interest in a keyword has changed (time_series, growth) on Google, YouTube, TikTok, Reddit, Amazon and others, or what is on top now (top).",
      category: "market",
      keywords:
        "google trends; search volume; keyword popularity; interest over time; trending searches; how often people search; rising popularity; growing interest; demand over time; what is trending; search demand; what is hot; popular right now; viral; top searches",
      effect: "read",
      params: withRules([neededWhen("keyword", "endpoint", { enum: ["time_series", "growth"] })], {
        endpoint: z.enum(endpoints).describe("What is asked for"),
        keyword: z.string().min(1).max(200).describe("What is searched for; top needs none").optional(),
        source: z.enum(SOURCES).default("google search").describe("Where it is searched for"),
        data_mode: z.enum(["weekly", "daily"]).default("weekly").describe("A value for each week, or for each day"),
        percent_growth: z
          .array(z.string().min(1).max(20))
          .min(1)
          .max(10)
          .default(["12M", "3M"])
          .describe("Spans that growth is told for"),
        limit: z.int().min(1).max(100).default(25).describe("How many are on top"),
      }),
      price: { mode: "fixed", cents: 5 },
      // It has plan pricing; this is the maximum.
      upstreamCents: 5,
      mayCostMore: "A call is sold at 5 cents; the vendor sells by plan, and of the plans this is the dearest call.",
      async run({ ask, params: { endpoint, keyword, source, data_mode, percent_growth, limit } }) {
        const mode = MODES[endpoint];
        const of = { time_series: { source, keyword, data_mode }, growth: { source, keyword, percent_growth } };
        const values = endpoint === "top" ? { mode, type: source, limit } : { mode, ...of[endpoint] };
        const { json } = await ask({ method: "POST", path: "/api" }, { values });
        const { body } = wrapped.parse(json);
        return { data: typeof body === "string" ? JSON.parse(body) : body };
      },
      content: ["/data"],
      example: {
        params: { endpoint: "time_series", keyword: "matcha" },
        answer: { statusCode: 200, body: JSON.stringify(series) },
      },
    }),
  },
});
