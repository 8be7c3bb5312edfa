// Letta: agents that remember what they learn. An agent belongs to the payer who created it. The wire format follows the vendor's
// specification. From memory: the models it offers, that an agent requires one, most error bodies, and our cost of a message.
import { action, bearer, defineAdapter, like, optional, z } from "#adapter";

const id = "agent-0f1e2d3c-4b5a-4697-8877-665544332211";
const common = { category: "memory", effect: "write", price: { mode: "fixed", cents: 1 } } as const;
const YEARS_DAYS = 3_650;

export default defineAdapter({
  name: "Letta",
  docs: "https://docs.letta.com/api-reference",
  beliefs: {
    "*": "the models that it offers, that an agent needs one, the body of most errors, and what a call costs us",
  },
  origin: "https://api.letta.com",
  auth: bearer,
  selfHosted: {},
  actions: {
    "agent-create": action(common, {
      asked:
        "an agent with memory; bot that remembers me; a companion; assistant which learns over time; personal AI that does not forget; chatbot with a persona",
      description:
        "Makes an agent that remembers, with blocks of memory to begin with. Returns its id for letta/message.",
      keywords: "stateful agent; agent with memory; create an agent; assistant that remembers; personal assistant",
      params: z.strictObject({
        name: optional(z.string().min(1).max(200), "Name of the agent"),
        // An agent requires a model; these are small ones that it offers (from memory).
        model: like(/^[\w.-]+\/[\w.:/-]{1,100}$/, "must be as provider/model")
          .default("openai/gpt-5.4-mini")
          .describe("The model that it thinks with, as provider/model"),
        memory_blocks: optional(
          z
            .array(
              z.strictObject({
                label: z.string().min(1).max(100).describe("What it is about, such as human or persona"),
                value: z.string().max(20_000).describe("What is known"),
              }),
            )
            .max(20),
          "What it knows from the beginning",
        ),
      }),
      upstreamCents: 0,
      request: { method: "POST", path: "/v1/agents/", fixed: { embedding: "openai/text-embedding-3-small" } },
      issues: [{ kind: "agent", at: "/id", days: YEARS_DAYS }],
      example: {
        params: { name: "helper", memory_blocks: [{ label: "human", value: "Ada does not eat meat." }] },
        answer: { id, name: "helper", agent_type: "letta_v1_agent", created_at: "2026-11-20T10:11:12Z" },
      },
    }),
    message: action(common, {
      asked: "talk to my agent; tell my bot something; ask the agent that remembers",
      description:
        "Says something to an agent of yours and returns its answer, the item whose message_type is assistant_message. One at a time.",
      keywords: "talk to an agent; chat with memory; stateful agent",
      params: z.strictObject({
        agent_id: like(/^agent-[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}$/, "must be as agent-<uuid>").describe(
          "Id of the agent",
        ),
        input: z.string().min(1).max(20_000).describe("What is said"),
      }),
      upstreamCents: 1,
      mayCostMore:
        "the vendor charges for the steps that the agent takes and the model that it thinks with; ten steps at most",
      request: { method: "POST", path: "/v1/agents/{agent_id}/messages", fixed: { max_steps: 10, streaming: false } },
      content: ["/messages"],
      rules: [
        { at: "/stop_reason/stop_reason", is: "insufficient_credits", means: "provider_billing" },
        {
          at: "/stop_reason/stop_reason",
          is: ["error", "llm_api_error", "invalid_llm_response", "invalid_tool_call"],
          means: "provider_server_error",
        },
      ],
      requires: [{ kind: "agent", param: "agent_id" }],
      timeoutMs: 180_000,
      example: {
        params: { agent_id: id, input: "What may I cook for Ada?" },
        answer: {
          messages: [
            {
              id: "message-1a2b3c4d-5e6f-4a7b-8c9d-0e1f2a3b4c5d",
              date: "2026-11-20T10:11:12Z",
              message_type: "assistant_message",
              content: "Something without meat.",
            },
          ],
          stop_reason: { message_type: "stop_reason", stop_reason: "end_turn" },
          usage: { prompt_tokens: 1_204, completion_tokens: 9, total_tokens: 1_213, step_count: 1 },
        },
      },
    }),
  },
});
