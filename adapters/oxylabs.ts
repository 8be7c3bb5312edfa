// Oxylabs: pages as seen from a country, state or city, with or without a browser.
import { action, basic, defineAdapter, goesWith, onlyWhen, withRules, z } from "#adapter";

const PLAIN_CENTS = 5;
const BROWSER_CENTS = 25;
const WITH_BROWSER = ["render", "browser_instructions"] as const;

const words = z.string().min(1);
const scrape = withRules(
  [goesWith("browser_instructions", "render"), onlyWhen("markdown", false, ["render", { const: "png" }])],
  {
    url: z.url({ protocol: /^https?$/ }).describe("The page"),
    geo_location: words.max(200).optional().describe("Where to read from, such as Germany or New York,United States"),
    render: z
      .enum(["html", "png"])
      .optional()
      .describe("Run scripts and return the page, or a picture of it in base64"),
    markdown: z.boolean().optional().describe("Return markdown instead of HTML"),
    locale: words.max(20).optional().describe("Language of the page, such as de-DE"),
    user_agent_type: z
      .enum(["desktop", "desktop_chrome", "desktop_firefox", "mobile", "mobile_android", "mobile_ios", "tablet"])
      .optional()
      .describe("The kind of device to read it as"),
    browser_instructions: z
      .array(z.record(z.string(), z.json()))
      .max(20)
      .optional()
      .describe("What to do in the page before it is read: clicks, inputs, waits; needs render"),
    parsing_instructions: z
      .record(z.string(), z.json())
      .optional()
      .describe("What to take out of the page, by XPath or CSS selectors"),
  },
);
const rendered = (params: z.infer<typeof scrape>) => WITH_BROWSER.some((name) => params[name] !== undefined);

const found = {
  content: "<html><body><h1>Example Domain</h1></body></html>",
  status_code: 200,
  url: "https://example.com",
  created_at: "2026-11-20 10:00:00",
  updated_at: "2026-11-20 10:00:04",
  page: 1,
  job_id: "7264183098710323201",
};

export default defineAdapter({
  name: "Oxylabs",
  docs: "https://developers.oxylabs.io/scraping-solutions/web-scraper-api",
  beliefs: { "*": "what its results cost us" },
  origin: "https://realtime.oxylabs.io/v1",
  auth: basic,
  keyParts: ["OXYLABS_USERNAME", "OXYLABS_PASSWORD"],
  rules: [
    // The vendor's own faults, within a successful answer or as the answer's status.
    { at: "/results/0/status_code", matches: /^6\d\d$/, sample: "613", means: "provider_server_error" },
    { at: "/results", empty: true, means: "provider_malformed" },
    { at: "/results/0/status_code", matches: /^[^2]/, sample: "404", means: "miss" },
  ],
  actions: {
    scrape: action({
      asked:
        "see a page from another country; page as in germany, japan, brazil; local prices; geo blocked; look as if from a city, a state; vpn; amazon product page",
      description:
        "Reads a page as it looks from a country, state or city: HTML, markdown or a picture. A page that answers with an error is free.",
      category: "scraping",
      keywords: "geo-targeted; location; country; localized page; amazon product page; proxy; screenshot",
      effect: "read",
      params: scrape,
      price: {
        mode: "ranged",
        cents: BROWSER_CENTS,
        minCents: PLAIN_CENTS,
        quoteCents: (params) => (rendered(params) ? BROWSER_CENTS : PLAIN_CENTS),
        otherPrice: { url: "https://example.com", render: "html" },
        freeOnMiss: true,
      },
      upstreamCents: (params) => (rendered(params) ? 0.6 : 0.4),
      request: {
        method: "POST",
        path: "/queries",
        fixed: { source: "universal" },
        params: (params) => ({ ...params, ...(params.parsing_instructions === undefined ? {} : { parse: true }) }),
      },
      content: ["/results/0/content"],
      timeoutMs: 180_000,
      example: { params: { url: "https://example.com", geo_location: "Germany" }, answer: { results: [found] } },
    }),
  },
});
