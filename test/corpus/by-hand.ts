// Hand-written pages with the markup of common sites: wikis, threads, documentation, shops, filings. The texts are ours. by-hand/pages.json
// states what a reader must get from each page.
import { readFileSync } from "node:fs";
import type { CorpusPage, PageClass } from "./draft.ts";

interface Due {
  readonly is?: PageClass;
  readonly must?: readonly string[];
  readonly mustNot?: readonly string[];
  readonly exact?: readonly string[];
}

const folder = new URL("by-hand/", import.meta.url);
/** By the name of the page's file. */
const PAGES = JSON.parse(readFileSync(new URL("pages.json", folder), "utf8")) as Readonly<Record<string, Due>>;

export const BY_HAND: readonly CorpusPage[] = Object.entries(PAGES).map(
  ([name, { is = "content", must = [], mustNot = [], exact = [] }]) => ({
    name,
    kind: "by hand",
    url: "https://by-hand.example/a/page",
    html: readFileSync(new URL(`${name}.html`, folder), "utf8"),
    status: 200,
    is,
    must,
    mustNot,
    exact,
  }),
);
