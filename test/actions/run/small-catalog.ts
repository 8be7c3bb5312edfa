// A catalog with a few actions of every kind, for tests of their descriptions.

import { type ActionCatalog, type CatalogAction, openActionCatalog } from "../../../src/actions/run/action-catalog.ts";
import { type AdapterSpec, action, bearer, z } from "../../../src/catalog/adapter.ts";
import type { EndpointTable } from "../../../src/catalog/endpoint-table.ts";
import type { JsonObject } from "../../../src/catalog/said.ts";
import { catalogOf, LIVE } from "../../catalog/catalog-of.ts";

const example = (params: JsonObject) => ({ params, answers: [{}] as const });
const shared = { effect: "read", category: "search", upstreamCents: 0 } as const;

export const TABLE: EndpointTable = {
  "/v1/clips/comments": {
    method: "GET",
    path: "/v1/clips/comments",
    summary: "Comments under a clip",
    params: {
      clip_id: { type: "string", required: true, description: "Which clip" },
      count: { type: "integer", default: 20 },
    },
  },
  "/v1/clips/download": {
    method: "GET",
    path: "/v1/clips/download",
    summary: "Download a clip",
    params: { seconds: { type: "integer" } },
    cents: 0.5,
    per: { unit: "second", param: "seconds", default: 5, max: 60 },
  },
  "/v1/clips/publish": { method: "POST", path: "/v1/clips/publish", summary: "Publish a clip", params: {} },
};

const vendor = (actions: AdapterSpec["actions"], more: Partial<AdapterSpec> = {}): AdapterSpec => ({
  name: "Finders",
  docs: "https://finders.example/docs",
  origin: "https://api.finders.example",
  auth: bearer,
  ...(actions === undefined ? {} : { actions }),
  ...more,
});

const finders = vendor({
  search: action({
    ...shared,
    description: "Finds pages.",
    keywords: ["web"],
    params: z.strictObject({
      q: z.string().min(1).meta({ description: "What to look for" }),
      count: z.int().min(1).max(20).default(10),
      page: z.int().optional(),
      since: z.iso.date().optional(),
    }),
    price: { mode: "fixed", cents: 0.3, freeOnMiss: true },
    request: { method: "GET", path: "/search" },
    example: example({ q: "tolls" }),
  }),
  profiles: action({
    ...shared,
    description: "Finds people.",
    params: z.strictObject({ page_size: z.int().min(1).max(25).default(5) }),
    price: {
      mode: "ranged",
      cents: 25,
      minCents: 1,
      unit: "profile",
      quoteCents: ({ page_size }) => page_size,
      otherPrice: { page_size: 25 },
    },
    request: { method: "GET", path: "/profiles" },
    example: example({}),
  }),
  order: action({
    ...shared,
    effect: "write",
    description: "Orders something.",
    params: z.strictObject({ item: z.string() }),
    price: { mode: "capped", cents: 100, counted: { at: "/price", centsEach: 1 } },
    retires: { announced: "2026-10-01", sunset: "2027-02-01", successor: "/api/run/finders/search" },
    request: { method: "POST", path: "/order" },
    example: example({ item: "a map" }),
  }),
});

const clips = vendor(
  {
    fetch: action({
      ...shared,
      category: "social",
      description: "Reads clips and what is said about them.",
      params: z.looseObject({ endpoint: z.string() }),
      price: { mode: "ranged", cents: 30, minCents: 1 },
      table: { param: "endpoint", method: "GET" },
      request: { method: "GET", path: "{endpoint...}" },
      example: example({ endpoint: "/v1/clips/comments", clip_id: "1" }),
    }),
  },
  { name: "Clips", waitsFor: "It is paid by a way that does not exist yet." },
);

export const SMALL = catalogOf(
  { adapters: { finders, clips }, tables: { clips: TABLE } },
  { env: { FINDERS_API_KEY: "k" } },
);

export const smallCatalog: ActionCatalog = openActionCatalog(() => SMALL, []);

/** An action that must exist. */
export function inSmallCatalog(id: string, actionCatalog: ActionCatalog = smallCatalog): CatalogAction {
  const found = actionCatalog.find(id, LIVE);
  if (found === null) throw new Error(`no ${id}`);
  return found;
}
