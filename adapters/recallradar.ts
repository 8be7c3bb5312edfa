// RecallRadar: recalls and safety notices, normalized. A merchant that is paid call by call, with its price as a cap.
import { action, defineAdapter, noAuth, z } from "#adapter";

const common = { category: "open-data", effect: "read" } as const;
const record = { id: "rec-24118", product: "Space heater", hazard: "Fire", published: "2026-10-02" };

export default defineAdapter({
  name: "RecallRadar",
  docs: "https://recallradar.dev",
  origin: "https://api.recallradar.dev/v1",
  auth: noAuth,
  waitsFor:
    "This merchant is paid call by call over the Machine Payments Protocol, which the gateway does not speak yet.",
  actions: {
    search: action({
      ...common,
      description:
        "Searches recalls and safety notices of products (food, drugs, vehicles, goods) in a normalized database.",
      keywords: ["product recall", "recalled", "safety notice", "CPSC", "FDA recall", "defect"],
      params: z.strictObject({
        filters: z
          .record(z.string().regex(/^[a-z]\w{0,40}$/), z.union([z.string().min(1).max(500), z.number(), z.boolean()]))
          .refine((filters) => Object.keys(filters).length > 0, "needs a filter")
          .describe(
            "The merchant's own query parameters by name; https://api.recallradar.dev/openapi.json lists them.",
          ),
      }),
      price: { mode: "fixed", cents: 10 },
      upstreamCents: 10,
      request: { method: "GET", path: "/recalls", params: (p) => p.filters },
      example: { params: { filters: { product: "space heater" } }, answers: [{ results: [record], total: 1 }] },
    }),
    get: action({
      ...common,
      description: "One recall or safety notice by its id: product, hazard, remedy. An unknown id is free.",
      keywords: ["recall notice", "safety notice", "hazard"],
      params: z.strictObject({
        id: z
          .string()
          .regex(/^[A-Za-z0-9][\w.:-]{0,127}$/, "must be an id as a search gives it")
          .describe("The record's id, as a search gives it."),
      }),
      price: { mode: "fixed", cents: 2.5 },
      upstreamCents: 2.5,
      request: { method: "GET", path: "/recalls/{id}" },
      example: { params: { id: "rec-24118" }, answers: [record] },
    }),
  },
});
