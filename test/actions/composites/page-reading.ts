// Page readers for tests: in the caller's thread, for results without waiting, or none at all.
import type { PageReading } from "../../../src/actions/composites/pages/extractor.ts";
import { linksIn } from "../../../src/actions/composites/pages/page-addresses.ts";
import { decodedPage, judgedPage, judgedText } from "../../../src/actions/composites/pages/page-tasks.ts";
import { readRobots } from "../../../src/actions/composites/pages/robots.ts";
import { locationsIn } from "../../../src/actions/composites/pages/site-locations.ts";

export const READS_HERE: PageReading = {
  page: async (page, order) => judgedPage(page, order),
  text: async (page, status) => judgedText(page, status),
  links: async (page, url) => linksIn(decodedPage(page), url),
  robots: async (bytes, name) => readRobots(Buffer.from(bytes).toString("utf8"), name),
  map: async (page) => locationsIn(decodedPage(page)),
};

export const READS_NOTHING: PageReading = {
  page: async () => null,
  text: async () => null,
  links: async () => null,
  robots: async () => null,
  map: async () => null,
};
