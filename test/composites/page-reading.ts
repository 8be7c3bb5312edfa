// The threads that read pages, as tests have them: in their own thread, where nothing has to be waited for; or none at all.
import { extractPage } from "../../src/composites/pages/extract-page.ts";
import type { PageReading } from "../../src/composites/pages/extractor.ts";
import { decodedPage } from "../../src/composites/pages/page-tasks.ts";
import { readRobots } from "../../src/composites/pages/robots.ts";
import { locationsIn } from "../../src/composites/pages/site-locations.ts";

export const READS_HERE: PageReading = {
  page: async (page, order) => extractPage({ html: typeof page === "string" ? page : decodedPage(page), ...order }),
  robots: async (bytes, name) => readRobots(Buffer.from(bytes).toString("utf8"), name),
  map: async (page) => locationsIn(decodedPage(page)),
};

export const READS_NOTHING: PageReading = {
  page: async () => null,
  robots: async () => null,
  map: async () => null,
};
