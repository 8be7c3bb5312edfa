// A gateway killed repeatedly while it reads pages: every job ends, no page is paid twice, and nothing is held.
import { expect, it } from "vitest";
import { deepKillLoop } from "../support/deep-kill-loop.ts";

const PAGES = 30;
const TEXT = "All that is paid at the gate is written down, and whoever asks is told what is left of it. ".repeat(15);
const pages = (job: number) => Array.from({ length: PAGES }, (_, at) => `https://gate.example/${job}/${at}`);

it("four kills while two jobs of thirty pages run", () =>
  deepKillLoop({
    kills: 4,
    killMsMax: 400,
    jobs: 2,
    rows: PAGES,
    rowCents: 1,
    action: "core/onescrape-deep",
    params: (job) => ({ urls: pages(job), budgetCents: PAGES }),
    settings: (vendor) => ({ DIRECT_FETCH: "0", FIRECRAWL_API_KEY: "key", FIRECRAWL_BASE_URL: vendor }),
    answer({ body }) {
      const { url } = body as { url: string };
      return {
        success: true,
        data: { markdown: `${url} ${TEXT}`, metadata: { title: "The gate", url, statusCode: 200 } },
      };
    },
    expectRows(rows, job) {
      expect(rows.map(({ url, provider }) => [url, provider])).toEqual(pages(job).map((url) => [url, "firecrawl"]));
      for (const { url, content } of rows) expect(content).toContain(`${url} `);
    },
  }));
