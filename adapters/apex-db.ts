// Apex DB: specifications of car models, normalized. A merchant that is paid call by call, with its price as a cap.
import { action, defineAdapter, noAuth, z } from "#adapter";

const common = { category: "open-data", effect: "read" } as const;
const record = { id: "apx-1042", make: "Mazda", model: "MX-5", year: 2024, variant: "2.0 Sport" };

export default defineAdapter({
  name: "Apex DB",
  docs: "https://apex-db.org",
  origin: "https://api.apex-db.org/v1",
  auth: noAuth,
  waitsFor:
    "This merchant is paid call by call over the Machine Payments Protocol, which the gateway does not speak yet.",
  actions: {
    search: action({
      ...common,
      description: "Searches car models and their variants by the filters of a normalized vehicle database.",
      keywords: ["vehicle", "car specifications", "make and model", "automobile", "engine"],
      params: z.strictObject({
        filters: z
          .record(z.string().regex(/^[a-z]\w{0,40}$/), z.union([z.string().min(1).max(500), z.number(), z.boolean()]))
          .refine((filters) => Object.keys(filters).length > 0, "needs a filter")
          .describe("The merchant's own query parameters by name; https://api.apex-db.org/openapi.json lists them."),
      }),
      price: { mode: "fixed", cents: 10 },
      upstreamCents: 10,
      request: { method: "GET", path: "/apex", params: (p) => p.filters },
      example: { params: { filters: { make: "Mazda", model: "MX-5" } }, answers: [{ results: [record], total: 1 }] },
    }),
    get: action({
      ...common,
      description: "The specifications of one variant of a car model, by its id. An unknown id is free.",
      keywords: ["vehicle", "car specifications", "trim", "horsepower"],
      params: z.strictObject({
        id: z
          .string()
          .regex(/^[A-Za-z0-9][\w.:-]{0,127}$/, "must be an id as a search gives it")
          .describe("The record's id, as a search gives it."),
      }),
      price: { mode: "fixed", cents: 2.5 },
      upstreamCents: 2.5,
      request: { method: "GET", path: "/apex/{id}" },
      example: { params: { id: "apx-1042" }, answers: [record] },
    }),
  },
});
