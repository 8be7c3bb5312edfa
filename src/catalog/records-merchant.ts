// Merchants of one kind: normalized records with a filtered search and a lookup by id, paid per call.
import { z } from "zod";
import { action } from "./action.ts";
import { paidBy } from "./auth.ts";
import type { JsonObject } from "./said.ts";
import type { AdapterSpec } from "./spec.ts";

export interface RecordsMerchantSpec {
  readonly name: string;
  readonly docs: string;
  readonly origin: string;
  /** The path of the search; single records are one level below it. */
  readonly path: string;
  /** A record as in the merchant's answers, for the examples. */
  readonly record: JsonObject & { readonly id: string };
  /** How users ask for its records. */
  readonly asked: string;
  readonly search: MerchantAction & { readonly filters: JsonObject };
  readonly get: MerchantAction;
}

interface MerchantAction {
  readonly description: string;
  readonly keywords: string;
}

const SEARCH_CENTS = 10;
const GET_CENTS = 2.5;

/** The merchant gets the caller's whole payment: `cents` is the maximum of both price and upstream cost. */
function sold(asked: string, { description, keywords }: MerchantAction, cents: number) {
  return {
    category: "open-data",
    effect: "read",
    description,
    keywords,
    asked,
    price: { mode: "capped", cents, paid: { exampleCents: cents } },
    upstreamCents: cents,
  } as const;
}

export function recordsMerchant(spec: RecordsMerchantSpec): AdapterSpec {
  const { name, docs, origin, path, record, asked, search, get } = spec;
  const listing = new URL("/openapi.json", origin);
  return {
    name,
    docs,
    origin,
    // The filter names come from the merchant's own description; we have not seen an actual answer.
    beliefs: { "*": "what a search and a record are answered as" },
    auth: paidBy("mpp"),
    actions: {
      search: action(sold(asked, search, SEARCH_CENTS), {
        params: z.strictObject({
          filters: z
            .record(z.string().regex(/^[a-z]\w{0,40}$/), z.union([z.string().min(1).max(500), z.number(), z.boolean()]))
            .refine((filters) => Object.keys(filters).length > 0, "needs a filter")
            .describe(`The merchant's own query parameters by name; ${listing} lists them.`),
        }),
        request: { method: "GET", path, params: (p) => p.filters },
        example: { params: { filters: search.filters }, answer: { results: [record], total: 1 } },
      }),
      get: action(sold(asked, get, GET_CENTS), {
        params: z.strictObject({
          id: z
            .string()
            .regex(/^[A-Za-z0-9][\w.:-]{0,127}$/, "must be an id as a search gives it")
            .describe("The record's id, as a search gives it."),
        }),
        request: { method: "GET", path: `${path}/{id}` },
        example: { params: { id: record.id }, answer: record },
      }),
    },
  };
}
