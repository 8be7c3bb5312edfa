// Sandbox stand-in for Firecrawl: answers contain the page's own text, and a job reads the pages that it was given.
import { type ActionStandIn, defineStandIn, eachPage, launchesPages, put } from "#sandbox";

const reads: ActionStandIn = (call) => {
  const [page] = call.pages(call.sent("url"));
  if (page === undefined) return call.answer;
  return put(call.answer, {
    "/data/markdown": page.markdown,
    "/data/html": page.html,
    "/data/metadata/title": page.title,
    "/data/metadata/statusCode": page.status,
  });
};

const tells =
  (kind: string): ActionStandIn =>
  (call) => {
    const { asked } = call.use(kind);
    const answer = eachPage(call.answer, "/data", {
      pages: call.pages(asked),
      puts: ({ markdown, title, status, url }) => ({
        "/markdown": markdown,
        "/metadata/title": title,
        "/metadata/statusCode": status,
        "/metadata/sourceURL": url,
      }),
    });
    return call.isAtWork(kind) ? put(answer, { "/status": "scraping", "/completed": 0, "/data": [] }) : answer;
  };

export default defineStandIn({
  actions: {
    scrape: reads,
    unblock: reads,
    crawl: launchesPages("crawl", "url"),
    "crawl-status": tells("crawl"),
    extract: launchesPages("extract", "urls"),
    "extract-status": tells("extract"),
  },
});
