// Auto.exchange: other agents for hire. A pay-per-call merchant; each agent sets its own price.
import { action, defineAdapter, like, paidBy, z } from "#adapter";

const common = { category: "commerce" } as const;
const FREE = { price: { mode: "fixed", cents: 0 }, upstreamCents: 0 } as const;
const CENTS_MAX = 500;
const agent = { id: "agt_1", slug: "tide-reader", name: "Tide Reader", description: "Reads tide tables." };

export default defineAdapter({
  name: "Auto.exchange",
  docs: "https://auto.exchange/docs",
  beliefs: { "*": "what an agent that has run is answered as, and that looking for one needs no key" },
  origin: "https://api.auto.exchange",
  auth: paidBy("mpp"),
  actions: {
    search: action(common, {
      ...FREE,
      asked:
        "find an agent for hire; marketplace of agents; which bots can do this for money; hire a specialist assistant",
      effect: "read",
      description: "Finds agents for hire by what they can do, with their prices.",
      keywords:
        "hire an agent; agent marketplace; find an agent; sub-agent; hire another AI; freelancer; specialist agent",
      params: z.strictObject({ q: z.string().min(1).max(500).describe("What the agent should be good at.") }),
      request: { method: "GET", path: "/agents/search" },
      example: { params: { q: "tides" }, answer: { agents: [agent] } },
    }),
    run: action(common, {
      asked:
        "hire an agent; pay another AI to do a job; outsource a task to a bot; let somebody else's agent do it; delegate work",
      effect: "write",
      description:
        "Hires another agent for one task. Costs what the agent costs (about $0.0006 to $0.075 for 1,000 tokens); max_cost_cents says the most.",
      keywords: "run an agent; delegate a task; hire an agent; hire another AI",
      params: z.strictObject({
        agent_id: like(/^[A-Za-z0-9][\w-]{0,127}$/, "must be an id as search answers it").describe(
          "Which agent: its id, as search answers it.",
        ),
        prompt: z.string().min(1).max(100_000).regex(/\S/, "must not be blank").describe("The task, in words."),
      }),
      price: { mode: "capped", cents: CENTS_MAX, needsMaxCost: true, paid: { exampleCents: 2 } },
      upstreamCents: CENTS_MAX,
      request: { method: "POST", path: "/agents/{agent_id}/run" },
      timeoutMs: 120_000,
      example: {
        params: { agent_id: "agt_1", prompt: "When is high tide in Bristol?" },
        answer: { id: "run_1", status: "completed", output: "At 18:12." },
      },
    }),
  },
});
