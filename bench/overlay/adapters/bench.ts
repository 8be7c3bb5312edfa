// The bench's own upstream as a vendor: an action with a small answer, and one that streams a large answer.
import { action, bearer, defineAdapter, z } from "#adapter";

const common = { category: "search", effect: "read", price: { mode: "fixed", cents: 1 }, upstreamCents: 0.5 } as const;
const query = z.strictObject({
  query: z.string().min(1).max(2_000).describe("What to look for"),
  limit: z.int().min(1).max(50).default(10).describe("The most results"),
  fresh: z.boolean().default(false).describe("Only what is new"),
});

export default defineAdapter({
  name: "Bench",
  docs: "https://tollgate.example/bench",
  origin: "https://bench.example/v1",
  auth: bearer,
  actions: {
    search: action({
      ...common,
      description: "Answers at once, with a few hundred bytes.",
      params: query,
      request: { method: "POST", path: "/search" },
      example: { params: { query: "lighthouses" }, answers: [{ results: [] }] },
    }),
    wait: action({
      ...common,
      description: "Answers after so many milliseconds.",
      params: z.strictObject({ ms: z.int().min(1).max(50_000).describe("How many") }),
      request: { method: "POST", path: "/wait/{ms}" },
      example: { params: { ms: 1_000 }, answers: [{ results: [] }] },
    }),
    pages: action({
      ...common,
      description: "Answers with so many megabytes.",
      params: z.strictObject({ megabytes: z.int().min(1).max(50).describe("How many") }),
      request: { method: "POST", path: "/pages/{megabytes}" },
      example: { params: { megabytes: 20 }, answers: [{ results: [] }] },
    }),
  },
});
