// Zep: a graph of facts about a user, built from message threads. Callers choose the ids. From memory: our cost, all of user-add, the
// limits of messages and searches, and most of what add and search answer.
import { action, defineAdapter, header, optional, z } from "#adapter";

/** From memory: the price of a credit in its smallest plan. */
const CREDIT_CENTS = 0.2;

const own = z.string().min(1).max(200);
const user_id = own.describe("Your own id of the user; only you can reach what is kept under it");
const thread_id = own.describe("Your own id of the thread; only you can reach it");
const common = { category: "memory", price: { mode: "fixed", cents: 1 }, upstreamCents: CREDIT_CENTS } as const;
const uuid = "0f1e2d3c-4b5a-4697-8877-665544332211";
const created_at = "2026-11-20T10:11:12Z";

export default defineAdapter({
  name: "Zep",
  docs: "https://help.getzep.com",
  beliefs: { "*": "what it costs us, the whole of user-add, and most of what add and search answer" },
  // The previous API version, in which callers choose the ids.
  origin: "https://api.getzep.com/api/v2",
  auth: header("authorization", "Api-Key "),
  actions: {
    "user-add": action(common, {
      asked: "remember a chat; keep the conversation with a user; memory for my chatbot; log what was said",
      description: "Makes a user in the graph of memories; comes before the user's first thread.",
      keywords: "memory graph; create a user; long-term memory",
      effect: "write",
      // The path is from memory.
      params: z.strictObject({
        user_id,
        first_name: optional(z.string().min(1).max(100), "First name of the user"),
        last_name: optional(z.string().min(1).max(100), "Last name of the user"),
        email: optional(z.email(), "Email address of the user"),
      }),
      request: { method: "POST", path: "/users" },
      content: ["/user_id"],
      callerIds: ["user_id"],
      example: {
        params: { user_id: "ada", first_name: "Ada" },
        answer: { user_id: "ada", uuid, first_name: "Ada", created_at },
      },
    }),
    "thread-create": action(common, {
      asked: "remember a chat; keep the conversation with a user; memory for my chatbot; log what was said",
      description: "Begins a thread of what is said with a user, from which the graph of memories grows.",
      keywords: "memory thread; conversation memory; new conversation",
      effect: "write",
      params: z.strictObject({ thread_id, user_id }),
      request: { method: "POST", path: "/threads" },
      content: ["/thread_id"],
      callerIds: ["thread_id", "user_id"],
      example: {
        params: { thread_id: "first-talk", user_id: "ada" },
        answer: { thread_id: "first-talk", user_id: "ada", uuid, created_at },
      },
    }),
    add: action(common, {
      asked: "remember a chat; keep the conversation with a user; memory for my chatbot; log what was said",
      description:
        "Adds what was said to a thread, up to 30 messages; return_context returns what is known of the user at once.",
      keywords: "remember a conversation; add messages to memory; keep in mind; note what was said",
      effect: "write",
      params: z.strictObject({
        thread_id,
        messages: z
          .array(
            z.strictObject({
              role: z.enum(["norole", "system", "assistant", "user", "function", "tool"]).describe("Who said it"),
              content: z.string().min(1).max(4_096).describe("What was said"),
              name: optional(z.string().min(1).max(100), "Name of who said it"),
            }),
          )
          .min(1)
          .max(30)
          .describe("What was said"),
        return_context: z.boolean().default(false).describe("Return what is known of the user"),
      }),
      upstreamCents: ({ messages }) => messages.length * CREDIT_CENTS,
      mayCostMore: "the vendor counts messages, and more than five cost it more than a cent in its smallest plan",
      request: { method: "POST", path: "/threads/{thread_id}/messages" },
      callerIds: ["thread_id"],
      example: {
        params: { thread_id: "first-talk", messages: [{ role: "user", content: "I do not eat meat.", name: "Ada" }] },
        answer: { message_uuids: [uuid] },
      },
    }),
    "get-context": action(common, {
      asked:
        "what do we know about this customer; context of a user; facts from past chats; recall; what did they tell us",
      description: "What is known of the user that matters to a thread now, as a text to put into a prompt.",
      keywords: "recall; memory for a prompt; what do we know about the user",
      effect: "read",
      params: z.strictObject({ thread_id }),
      request: { method: "GET", path: "/threads/{thread_id}/context" },
      callerIds: ["thread_id"],
      example: { params: { thread_id: "first-talk" }, answer: { context: "<FACTS>Ada does not eat meat.</FACTS>" } },
    }),
    search: action(common, {
      asked:
        "what do we know about this customer; context of a user; facts from past chats; recall; what did they tell us",
      description: "Searches the graph of what is known of a user for facts, things or messages.",
      keywords: "search memories; knowledge graph of a user; facts about a user",
      effect: "read",
      params: z.strictObject({
        query: z.string().min(1).max(400).describe("What is asked for"),
        user_id,
        scope: z.enum(["edges", "nodes", "episodes"]).default("edges").describe("Facts, things or messages"),
        limit: z.int().min(1).max(50).default(10).describe("The most of them"),
      }),
      request: { method: "POST", path: "/graph/search" },
      callerIds: ["user_id"],
      example: {
        params: { query: "What does Ada eat?", user_id: "ada" },
        answer: { edges: [{ uuid, name: "EATS", fact: "Ada does not eat meat", score: 0.9, created_at }] },
      },
    }),
  },
});
