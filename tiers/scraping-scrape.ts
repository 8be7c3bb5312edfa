// Reads one page with whichever scraper is configured, for agents that do not care which one.
import { defineActionTier, noneWhen, withRules, z } from "#tier";

export default defineActionTier({
  sells: "scraping/scrape",
  description:
    "Reads one page as markdown, HTML, links or a screenshot. `provider` in the answer names who has read it.",
  category: "scraping",
  asked:
    "read a web page; get the text of a link; open this url; what does this page say; page to markdown; copy the content of an article; grab the html; fetch a site; screenshot of a page; turn a website into text",
  keywords: "read a page; fetch url; markdown; anti-bot; javascript; screenshot of a website; picture of a page",
  effect: "read",
  params: withRules([...noneWhen(["render_js", "stealth", "proxy_country"], "provider", { const: "firecrawl" })], {
    url: z.url({ protocol: /^https?$/ }).describe("The page"),
    formats: z
      .array(z.enum(["markdown", "html", "links", "screenshot"]))
      .min(1)
      .default(["markdown"])
      .describe("What to return of it"),
    only_main_content: z.boolean().optional().describe("Leave out navigation, headers and footers; true unless set"),
    wait_for: z.int().min(0).max(60_000).optional().describe("Milliseconds to wait before reading"),
    render_js: z.boolean().optional().describe("Run scripts or do not; only with provider fastcrw"),
    stealth: z.boolean().optional().describe("Look like a person's browser; only with provider fastcrw"),
    proxy_country: z
      .string()
      .length(2)
      .optional()
      .describe("Country to read from, two letters; only with provider fastcrw"),
    provider: z.enum(["firecrawl", "fastcrw"]).optional().describe("Who is to read it; no other takes over then"),
  }),
  price: { mode: "fixed", cents: 1, freeOnMiss: true },
  candidates: [
    {
      action: "firecrawl/scrape",
      names: { only_main_content: "onlyMainContent", wait_for: "waitFor" },
      lacks: ["render_js", "stealth", "proxy_country"],
    },
    {
      action: "fastcrw/scrape",
      names: {
        only_main_content: "onlyMainContent",
        wait_for: "waitFor",
        render_js: "renderJs",
        proxy_country: "country",
      },
    },
  ],
  pinnedBy: "provider",
  servedAs: "provider",
  example: { params: { url: "https://example.com", formats: ["markdown"] } },
});
