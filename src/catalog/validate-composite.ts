// Checks what a file in tiers/ says that a composite of ours goes by, and lists the actions that it names.
import { z } from "zod";
import { actionsOfPeopleFinder, peopleFinderSchema } from "./people-finder.ts";
import type { CompositeTierSpec } from "./tier.ts";

const words = z.string().min(1);
const actionId = z.string().regex(/^[a-z0-9-]+\/[a-z0-9_-]+$/, "must be <adapter>/<action>");
const pointer = z.string().regex(/^(\/[^/]+)+$/, "is no JSON pointer");
const cents = z.number().nonnegative();
const domain = z.string().regex(/^[a-z0-9-]+(\.[a-z0-9-]+)+$/, "is no domain in lower case");

const rungCall = z.strictObject({
  action: actionId,
  params: z.function(),
  answer: z.strictObject({
    listAt: pointer.optional(),
    urlAt: pointer.optional(),
    contentAt: pointer,
    holds: z.enum(["markdown", "html", "text", "page"]),
    titleAt: pointer.optional(),
    finalUrlAt: pointer.optional(),
  }),
});
const rung = z.strictObject({
  tag: z.string().regex(/^[a-z0-9-]+$/),
  cents,
  hard: z.literal(true).optional(),
  pagesMax: z.int().min(1).max(50).optional(),
  markdown: rungCall.optional(),
  html: rungCall.optional(),
});
const pageLadder = z.strictObject({
  kind: z.literal("page-ladder"),
  rungs: z
    .array(rung)
    .min(1, "has no rung")
    .refine((rungs) => new Set(rungs.map(({ tag }) => tag)).size === rungs.length, "names a tag twice"),
  map: z.strictObject({ action: actionId, cents, linksAt: pointer, urlAt: pointer }),
  socialDomains: z.array(domain),
  documentEndings: z.array(z.string().regex(/^\.[a-z0-9]+$/)),
  documentTypes: z.array(words),
});

const place = z.union([z.string().regex(/^(\/[^/]+)*$/, "is no JSON pointer"), z.function()]);
const source = z.strictObject({
  action: actionId,
  params: z.function(),
  listAt: z.string().regex(/^(\/[^/]+)*$/, "is no JSON pointer"),
  url: place,
  title: place,
  snippet: place.optional(),
  content: place.optional(),
  publishedAt: place.optional(),
});
const facet = z.strictObject({
  about: words,
  words: z.instanceof(RegExp).optional(),
  sources: z.array(source).min(1, "has no source"),
  racing: z.int().min(2).optional(),
  fullText: z.literal(true).optional(),
  raw: z.literal(true).optional(),
});
const tags = z.array(z.string().regex(/^[a-z0-9-]+$/)).min(1);
const facets = z.strictObject({
  kind: z.literal("facets"),
  facets: z.record(z.string().regex(/^[a-z0-9-]+$/), facet),
  scrape: tags,
  scrapeHard: tags,
  archive: z.strictObject({ action: actionId, contentAt: pointer, params: z.function() }),
});

const hosted = z.strictObject({
  about: words,
  takes: z.enum(["query", "url"]),
  sources: z
    .array(
      z.strictObject({
        action: actionId,
        params: z.function(),
        listAt: pointer,
        url: pointer,
        title: pointer,
        text: pointer,
      }),
    )
    .min(1, "has no source"),
});
const hostedTools = z.strictObject({ kind: z.literal("hosted-tools"), web_search: hosted, web_fetch: hosted });

const demoMaker = z.strictObject({
  kind: z.literal("demo-maker"),
  writer: words,
  speaker: z.strictObject({ model: words, voice: words }),
  browser: z.strictObject({
    begin: z.strictObject({ action: actionId, params: z.record(words, z.json()), connectAt: pointer }),
    end: z.strictObject({ action: actionId, param: words, idAt: pointer }),
  }),
});

/** By kind. */
export const COMPOSITE_TIER_SCHEMAS: Readonly<Record<CompositeTierSpec["kind"], z.ZodType>> = {
  "page-ladder": pageLadder,
  "people-finder": peopleFinderSchema,
  facets,
  "hosted-tools": hostedTools,
  "demo-maker": demoMaker,
};

/** Our own actions are no adapter's. */
const OURS = "core/";

/** The actions that a composite's tier names, with the field that names each. */
export function actionsNamedBy(spec: CompositeTierSpec): readonly (readonly [field: string, action: string])[] {
  switch (spec.kind) {
    case "page-ladder":
      return [
        ["map.action", spec.map.action],
        ...spec.rungs.flatMap(({ tag, markdown, html }) =>
          [markdown, html].flatMap((call) => (call === undefined ? [] : [[`rungs ${tag}`, call.action] as const])),
        ),
      ];
    case "hosted-tools":
      return [spec.web_search, spec.web_fetch].flatMap(({ takes, sources }) =>
        sources.filter(({ action }) => !action.startsWith(OURS)).map(({ action }) => [takes, action] as const),
      );
    case "demo-maker":
      return [
        ["browser.begin", spec.browser.begin.action],
        ["browser.end", spec.browser.end.action],
      ];
    case "people-finder":
      return actionsOfPeopleFinder(spec);
    case "facets":
      return [
        ["archive.action", spec.archive.action],
        ...Object.entries(spec.facets).flatMap(([name, { sources }]) =>
          sources.map(({ action }) => [`facets ${name}`, action] as const),
        ),
      ];
  }
}
