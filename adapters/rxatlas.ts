// RxAtlas: drug products of the United States, normalized. A merchant that is paid call by call, with its price as a cap.
import { action, defineAdapter, noAuth, z } from "#adapter";

const common = { category: "open-data", effect: "read" } as const;
const record = { id: "rx-0093-7424", name: "Atorvastatin Calcium", form: "tablet", strength: "20 mg" };

export default defineAdapter({
  name: "RxAtlas",
  docs: "https://rxatlas.dev",
  origin: "https://api.rxatlas.dev/v1",
  auth: noAuth,
  waitsFor:
    "This merchant is paid call by call over the Machine Payments Protocol, which the gateway does not speak yet.",
  actions: {
    search: action({
      ...common,
      description: "Searches U.S. drug products (prescription and over the counter) in a normalized database.",
      keywords: ["prescription drug", "medicine", "medication", "NDC", "active ingredient", "dosage"],
      params: z.strictObject({
        filters: z
          .record(z.string().regex(/^[a-z]\w{0,40}$/), z.union([z.string().min(1).max(500), z.number(), z.boolean()]))
          .refine((filters) => Object.keys(filters).length > 0, "needs a filter")
          .describe("The merchant's own query parameters by name; https://api.rxatlas.dev/openapi.json lists them."),
      }),
      price: { mode: "fixed", cents: 10 },
      upstreamCents: 10,
      request: { method: "GET", path: "/drugs", params: (p) => p.filters },
      example: { params: { filters: { name: "atorvastatin" } }, answers: [{ results: [record], total: 1 }] },
    }),
    get: action({
      ...common,
      description: "One U.S. drug product by its id: ingredients, strength, form, dosage. An unknown id is free.",
      keywords: ["prescription drug", "medicine", "dosage", "drug label"],
      params: z.strictObject({
        id: z
          .string()
          .regex(/^[A-Za-z0-9][\w.:-]{0,127}$/, "must be an id as a search gives it")
          .describe("The record's id, as a search gives it."),
      }),
      price: { mode: "fixed", cents: 2.5 },
      upstreamCents: 2.5,
      request: { method: "GET", path: "/drugs/{id}" },
      example: { params: { id: "rx-0093-7424" }, answers: [record] },
    }),
  },
});
