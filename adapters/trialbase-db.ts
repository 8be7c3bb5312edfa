// TrialBase DB: clinical trials, normalized. A merchant that is paid call by call, with its price as a cap.
import { action, defineAdapter, noAuth, z } from "#adapter";

const common = { category: "open-data", effect: "read" } as const;
const record = { id: "NCT05123456", title: "A Study of Treatment A", phase: "PHASE2", status: "RECRUITING" };

export default defineAdapter({
  name: "TrialBase DB",
  docs: "https://trialbase-db.org",
  origin: "https://api.trialbase-db.org/v1",
  auth: noAuth,
  waitsFor:
    "This merchant is paid call by call over the Machine Payments Protocol, which the gateway does not speak yet.",
  actions: {
    search: action({
      ...common,
      description: "Searches clinical trials by condition, treatment, phase and more in a normalized database.",
      keywords: ["clinical trials", "medical study", "NCT", "recruiting", "cancer", "disease"],
      params: z.strictObject({
        filters: z
          .record(z.string().regex(/^[a-z]\w{0,40}$/), z.union([z.string().min(1).max(500), z.number(), z.boolean()]))
          .refine((filters) => Object.keys(filters).length > 0, "needs a filter")
          .describe(
            "The merchant's own query parameters by name; https://api.trialbase-db.org/openapi.json lists them.",
          ),
      }),
      price: { mode: "fixed", cents: 10 },
      upstreamCents: 10,
      request: { method: "GET", path: "/trials", params: (p) => p.filters },
      example: { params: { filters: { condition: "breast cancer" } }, answers: [{ results: [record], total: 1 }] },
    }),
    get: action({
      ...common,
      description: "One clinical trial by its id: design, status, sponsor, places. An unknown id is free.",
      keywords: ["clinical trial", "medical study", "NCT number"],
      params: z.strictObject({
        id: z
          .string()
          .regex(/^[A-Za-z0-9][\w.:-]{0,127}$/, "must be an id as a search gives it")
          .describe("The record's id, as a search gives it."),
      }),
      price: { mode: "fixed", cents: 2.5 },
      upstreamCents: 2.5,
      request: { method: "GET", path: "/trials/{id}" },
      example: { params: { id: "NCT05123456" }, answers: [record] },
    }),
  },
});
