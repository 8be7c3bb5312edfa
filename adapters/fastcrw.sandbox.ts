// Sandbox stand-in for fastCRW: a job reads the pages that it was given, and a page behind a wall is refused.
import { type ActionStandIn, defineStandIn, eachPage, launchesPages, put, refuse, type VendorPage } from "#sandbox";

const tells =
  (kind: string, at: string, puts: (page: VendorPage) => Record<string, string>): ActionStandIn =>
  (call) => {
    const { asked } = call.use(kind);
    const answer = eachPage(call.answer, at, { pages: call.pages(asked), puts });
    return call.isAtWork(kind) ? put(answer, { "/status": "processing", [at]: [] }) : answer;
  };

export default defineStandIn({
  actions: {
    scrape(call) {
      const [page] = call.pages(call.sent("url"));
      if (page === undefined) return call.answer;
      if (page.status >= 400) return refuse(422);
      const { markdown, html, url } = page;
      return put(call.answer, { "/data/markdown": markdown, "/data/html": html, "/data/metadata/sourceURL": url });
    },
    crawl: launchesPages("crawl", "url"),
    "crawl-status": tells("crawl", "/data", ({ markdown, title, url }) => {
      return { "/markdown": markdown, "/metadata/title": title, "/metadata/sourceURL": url };
    }),
    extract: launchesPages("extract", "urls"),
    "extract-status": tells("extract", "/results", ({ url, title }) => ({ "/url": url, "/data/title": title })),
  },
});
