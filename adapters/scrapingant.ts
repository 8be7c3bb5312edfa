// ScrapingAnt: pages through a browser and rotating IP addresses, including residential ones. One credit is counted as 0.02 cents.
import { action, defineAdapter, keyHeader, noneWhen, onlyWhen, withRules, z } from "#adapter";

const CREDIT_CENTS = 0.02;
const RESOURCES = ["document", "stylesheet", "image", "media", "font", "script", "texttrack", "xhr", "fetch", "other"];

const shared = {
  url: z.url({ protocol: /^https?$/ }).describe("The page"),
  browser: z.boolean().default(true).describe("Read it with a browser, which runs its scripts"),
  wait_for_selector: z.string().min(1).optional().describe("Wait until this CSS selector finds something"),
  js_snippet: z.base64().min(1).optional().describe("JavaScript to run in the page, in base64"),
  return_page_source: z.boolean().optional().describe("The server's own answer, before scripts"),
  proxy_country: z.string().toLowerCase().length(2).optional().describe("Country to read from, two letters"),
  cookies: z.string().min(1).optional().describe("Cookies to send, as a=1;b=2"),
  timeout: z.int().min(5).max(60).default(60).describe("Seconds it may take"),
  block_resource: z.array(z.enum(RESOURCES)).min(1).optional().describe("Kinds of files that are not loaded"),
};

function paramsOf<Shape extends z.ZodRawShape>(shape: Shape) {
  const direct = { const: false };
  return withRules(
    [
      ...noneWhen(["wait_for_selector", "js_snippet"], "browser", direct),
      onlyWhen("return_page_source", false, ["browser", direct]),
    ],
    { ...shared, ...shape },
  );
}
const plain = paramsOf({});
const properties = z
  .string()
  .min(1)
  .max(2_000)
  .describe("What to take out, such as: title, price(number), reviews(list)");
const credits = (direct: number, browser: number) => (params: { browser: boolean }) =>
  CREDIT_CENTS * (params.browser ? browser : direct);

const [url, html] = ["https://example.com", "<html><body><h1>Example Domain</h1></body></html>"];
const free = { mode: "fixed", freeOnMiss: true } as const;
const asHtml = { answer: { kind: "text", as: "html" }, content: [""] } as const;
const wait = { timeoutMs: 75_000 };

const common = { category: "scraping", effect: "read", params: plain } as const;
export default defineAdapter({
  name: "ScrapingAnt",
  docs: "https://docs.scrapingant.com",
  beliefs: { "*": "what its credits cost us" },
  origin: "https://api.scrapingant.com/v2",
  auth: keyHeader("x-api-key"),
  // 403 is a wrong key or used-up credits, never about the page; 409 is too many concurrent calls, so they are sent one after another.
  rules: [
    { status: 409, means: "provider_busy" },
    { status: 404, means: "miss", data: { found: false, reason: "The page cannot be reached." } },
    { status: 423, means: "miss", data: { found: false, reason: "The page has turned the browser away as a robot." } },
    { status: 422, at: "/detail/0/loc/1", is: "x-api-key", means: "provider_auth_failed" },
  ],
  actions: {
    scrape: action(common, {
      asked: "read a page through a proxy; html of a page with javascript; page in markdown; rotating address",
      description:
        "Reads the HTML of a page through a browser and a rotating address. A page that cannot be read is free.",
      keywords: "html; proxy; javascript; headless browser",
      price: { ...free, cents: 1 },
      upstreamCents: credits(1, 10),
      request: { method: "GET", path: "/general", fixed: { proxy_type: "datacenter" } },
      ...asHtml,
      ...wait,
      example: { params: { url }, answer: html },
    }),
    markdown: action(common, {
      asked: "read a page through a proxy; html of a page with javascript; page in markdown; rotating address",
      description:
        "Reads a page as markdown through a browser and a rotating address. A page that cannot be read is free.",
      keywords: "read a page; text for models; proxy",
      price: { ...free, cents: 1 },
      upstreamCents: credits(1, 10),
      request: { method: "GET", path: "/markdown", fixed: { proxy_type: "datacenter" } },
      content: ["/markdown"],
      ...wait,
      example: { params: { url }, answer: { url, markdown: "# Example Domain" } },
    }),
    "residential-scrape": action(common, {
      asked:
        "site blocks me; access denied; forbidden; get past cloudflare; behind a captcha; it thinks that I am a bot; page does not load for scrapers; bot wall; blocked; 403",
      description:
        "Reads the HTML of a page from a home's address, for sites that turn others away. A page that cannot be read is free.",
      keywords: "residential proxy; anti-bot; blocked page; unblock",
      price: { ...free, cents: 4 },
      upstreamCents: credits(25, 125),
      request: { method: "GET", path: "/general", fixed: { proxy_type: "residential" } },
      ...asHtml,
      ...wait,
      example: { params: { url, proxy_country: "us" }, answer: html },
    }),
    extract: action(common, {
      asked:
        "prices from a shop page; structured data out of a page; product name, price, rating as json; fill a table from a website; fields from a listing; specs from a site; scrape data into a spreadsheet",
      description: "Takes structured facts out of a page by a list of their names. A page that cannot be read is free.",
      keywords: "structured data; json from page; AI extraction",
      params: paramsOf({ extract_properties: properties }),
      price: { ...free, cents: 20 },
      upstreamCents: credits(500, 500),
      request: { method: "GET", path: "/extract", fixed: { proxy_type: "datacenter" } },
      // The caller chose the field names, so any field counts.
      rules: [{ at: "", empty: true, means: "provider_malformed" }],
      ...wait,
      example: { params: { url, extract_properties: "title" }, answer: { title: "Example Domain" } },
    }),
  },
});
