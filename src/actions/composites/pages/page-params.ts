// The params that both page actions share, checked before any hold.
import { z } from "zod";
import { notAPage, readPageUrl, type UrlFault } from "./page-url.ts";
import type { PageParts } from "./parts.ts";

type UrlRules = Pick<PageParts, "ladder" | "mayUsePort">;

/** Addresses of pages. A bad address, a social platform and a document each have their own error code. */
export function pageUrls(rules: UrlRules, countMax: number) {
  return z.array(pageUrl(rules)).min(1).max(countMax);
}

export function pageUrl({ ladder, mayUsePort }: UrlRules) {
  function faultOf(text: unknown): UrlFault | null {
    const url = readPageUrl(String(text), mayUsePort);
    return url instanceof URL ? notAPage(url, ladder()) : url;
  }
  const free = (code: UrlFault["code"]) =>
    z.refine<string>((text) => faultOf(text)?.code !== code, {
      params: { code },
      error: ({ input }) => faultOf(input)?.words ?? "",
    });
  return z.string().min(1).check(free("bad_url"), free("onescrape_social"), free("onescrape_document"));
}

export const formatParams = {
  format: z.enum(["markdown", "html"]).default("markdown").describe("What to return of each page"),
  main_content: z.boolean().default(true).describe("Leave out navigation, headers and footers"),
};
