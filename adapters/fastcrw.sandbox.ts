// Sandbox stand-in for fastCRW: a job reads the pages that it was given, and a page behind a wall is refused.
import { type ActionStandIn, defineStandIn, eachPage, put, refuse, textAt, type VendorPage } from "#sandbox";

/** A job stores the pages from this param. */
const launches =
  (kind: string, param: string): ActionStandIn =>
  (call) => {
    call.keep(kind, textAt(call.answer, "/id"), { asked: call.sent(param) });
    return call.answer;
  };

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
    crawl: launches("crawl", "url"),
    "crawl-status": tells("crawl", "/data", ({ markdown, title, url }) => {
      return { "/markdown": markdown, "/metadata/title": title, "/metadata/sourceURL": url };
    }),
    extract: launches("extract", "urls"),
    "extract-status": tells("extract", "/results", ({ url, title }) => ({ "/url": url, "/data/title": title })),
  },
});
