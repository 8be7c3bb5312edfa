// mem0: stores messages as a user's memories and retrieves them by meaning. Only the payer knows who the users are. The wire format follows
// its specification, except for the error body, which is from memory, as is our cost.
import { action, defineAdapter, header, keyHeader, z } from "#adapter";

/** From memory: the price of an operation in its smallest plan. */
const CALL_CENTS = 0.1;

const user_id = z
  .string()
  .min(1)
  .max(200)
  .describe("Your own id of the user; only you can reach what is kept under it");
const common = { category: "memory", price: { mode: "fixed", cents: 1 }, upstreamCents: CALL_CENTS } as const;
const callerIds = ["user_id"];

export default defineAdapter({
  name: "mem0",
  docs: "https://docs.mem0.ai/api-reference",
  beliefs: { "*": "the body of an error, and what it costs us" },
  origin: "https://api.mem0.ai",
  auth: header("authorization", "Token "),
  // The open-source server has different paths, and extracts the facts before it answers: often there are none.
  selfHosted: {
    login: { auth: keyHeader("x-api-key"), keyEnv: ["MEM0_SERVER_API_KEY"] },
    actions: {
      add: { request: { method: "POST", path: "/memories" }, content: ["/results"], rules: [] },
      search: { request: { method: "POST", path: "/search", names: { user_id: "filters/user_id" } } },
    },
  },
  actions: {
    add: action(common, {
      asked:
        "remember something about a user; keep in mind; note a preference; save what was said; store a fact about me; don't forget that; memorise",
      description:
        "Keeps what was said to or by a user. Facts are drawn from it a little later; with infer false it is kept word for word at once.",
      keywords:
        "remember; long-term memory; store a memory; save a fact about a user; preferences of a user; keep in mind; note about a customer; what the user likes",
      effect: "write",
      params: z.strictObject({
        messages: z
          .array(
            z.strictObject({
              role: z.enum(["user", "assistant", "system"]).describe("Who said it"),
              content: z.string().min(1).max(100_000).describe("What was said"),
            }),
          )
          .min(1)
          .max(200)
          .describe("What was said"),
        user_id,
        metadata: z.record(z.string(), z.json()).describe("Facts to keep beside it").optional(),
        infer: z.boolean().default(true).describe("Draw facts from it; false keeps it word for word"),
      }),
      request: { method: "POST", path: "/v3/memories/add/" },
      content: ["/event_id", "/results"],
      rules: [{ at: "/status", is: "FAILED", means: "provider_server_error" }],
      callerIds,
      example: {
        params: { messages: [{ role: "user", content: "I do not eat meat." }], user_id: "ada" },
        answer: { status: "PENDING", event_id: "2c4d1f44-4f7b-4b2f-9f6e-7b5b4f5a1234" },
      },
    }),
    search: action(common, {
      asked:
        "what do you know about me; what did the user say before; recall preferences; earlier conversations; remind me what I told you; what did the customer say; favourite",
      description: "Finds what is remembered of a user that has to do with a question, best first, with scores.",
      keywords:
        "recall; what do we know about the user; search memories; long-term memory; earlier conversations; past chats; preferences of a user; what did the user say; what the user likes; what we were told",
      effect: "read",
      params: z.strictObject({
        query: z.string().min(1).max(10_000).describe("What is asked for"),
        user_id,
        top_k: z.int().min(1).max(100).default(10).describe("The most memories"),
      }),
      // It rejects an id beside the filters.
      request: { method: "POST", path: "/v3/memories/search/", names: { user_id: "filters/user_id" } },
      content: ["/results"],
      callerIds,
      example: {
        params: { query: "What may I cook?", user_id: "ada" },
        answer: {
          results: [
            {
              id: "8f0c2c1e-7b5d-4f6a-9a41-3c2d1e0f9b8a",
              memory: "Does not eat meat",
              user_id: "ada",
              score: 0.83,
              metadata: null,
              created_at: "2026-11-20T10:11:12Z",
            },
          ],
        },
      },
    }),
  },
});
