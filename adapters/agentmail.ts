// AgentMail: mailboxes for agents, bought once, that send, list and answer mail. A mailbox belongs to the payer who bought it. The wire
// format follows the vendor's specification. Unsure: our cost; we assume the sale price.
import { action, bearer, defineAdapter, domainName, like, needsOne, optional, withRules, z } from "#adapter";

/** Text for a mail header must not contain line breaks. */
const line = (max: number) => like(/^[^\p{Cc}\u2028\u2029]*$/u, "must be one line", max);
const inbox_id = z.email().describe("Address of a mailbox of yours");
const body = {
  text: optional(z.string().min(1).max(1_000_000), "The mail as text"),
  html: optional(z.string().min(1).max(1_000_000), "The mail as HTML"),
};
const isSaid = needsOne("text", "html");
const YEARS_DAYS = 36_500;
const requires = [{ kind: "inbox", param: "inbox_id" }];
const common = {
  category: "email",
  price: { mode: "fixed", cents: 1 },
  upstreamCents: 1,
  mayCostMore: "what it costs us is not known",
} as const;
const [address, message_id, thread_id] = [
  "quiet-harbor@agentmail.to",
  "<0102019b7c5d@agentmail.to>",
  "thr_5f2a9c1e7b3d",
];

const received_at = "2026-11-20T10:11:12Z";
const received = {
  inbox_id: address,
  thread_id,
  message_id,
  labels: ["received", "unread"],
  timestamp: received_at,
  from: "Ada <ada@example.com>",
  to: [address],
  subject: "Hello",
  preview: "Good morning.",
};
export default defineAdapter({
  name: "AgentMail",
  docs: "https://docs.agentmail.to",
  beliefs: { "*": "what it costs us" },
  origin: "https://api.agentmail.to/v0",
  auth: bearer,
  // Pay-per-call access: the hosts are documented, the path below them is assumed.
  keylessDoor: { mpp: "https://mpp.api.agentmail.to/v0", x402: "https://x402.api.agentmail.to/v0" },
  rules: [
    // Neither of these is about our key.
    { status: 403, at: "/name", matches: /IsTaken|Rejected/, sample: "IsTakenError", means: "caller_invalid" },
  ],
  actions: {
    create_inbox: action(common, {
      asked:
        "a mailbox for my agent; new email account; email address of its own; sign up for an email; disposable inbox; address to receive confirmation codes",
      description:
        "Buys a mailbox with an address of its own, once and for good. Returns inbox_id, which is the address.",
      keywords:
        "email address; mailbox; inbox for an agent; receive email; email address for a bot; mailbox for an assistant; own inbox",
      effect: "write",
      params: z.strictObject({
        username: optional(
          like(/^[A-Za-z0-9]+([._+-][A-Za-z0-9]+)*$/, "must be the part of an address before the @", 64),
          "What stands before the @; chosen for you where it is not given",
        ),
        domain: optional(domainName, "A domain that is verified with the vendor; agentmail.to where it is not given"),
        display_name: optional(line(100), "The name that receivers see"),
      }),
      price: { mode: "fixed", cents: 200 },
      upstreamCents: 200,
      mayCostMore: "what it costs us is not known",
      request: { method: "POST", path: "/inboxes" },
      issues: [{ kind: "inbox", at: "/inbox_id", days: YEARS_DAYS }],
      example: {
        params: { display_name: "Quiet Harbor" },
        answer: {
          pod_id: "pod_1",
          inbox_id: address,
          display_name: "Quiet Harbor",
          created_at: received_at,
          updated_at: received_at,
        },
      },
    }),
    send: action(common, {
      asked:
        "send an email; write to a person by mail; drop a note; mail the team the report; email my landlord; contact support by email; tell my colleague; message with an attachment",
      description: "Sends a mail from a mailbox of yours to up to 50 people.",
      keywords: "send email; write a mail; outreach; email a customer; newsletter; contact somebody by mail",
      effect: "write",
      params: withRules([isSaid], {
        inbox_id,
        to: z.union([z.email(), z.array(z.email()).min(1).max(50)]).describe("Who gets it: an address, or up to 50"),
        subject: optional(line(998), "What it is about"),
        ...body,
      }),
      request: { method: "POST", path: "/inboxes/{inbox_id}/messages/send" },
      content: ["/message_id"],
      requires,
      example: {
        params: { inbox_id: address, to: "ada@example.com", subject: "Hello", text: "Good morning." },
        answer: { message_id, thread_id },
      },
    }),
    "list-messages": action(common, {
      asked:
        "read my mail; any new messages; check the inbox; did they answer; what came in by email; unread letters; look for the verification code in my mail",
      description: "Lists the mail of a mailbox of yours, newest first. Free.",
      keywords:
        "read email; check the inbox; new mail; received messages; any new mail; check my mail; unread messages; what has arrived; has anybody written to me",
      effect: "read",
      params: z.strictObject({
        inbox_id,
        limit: z.int().min(1).max(100).default(20).describe("The most mails"),
        page_token: optional(z.string().min(1).max(1_000), "next_page_token of the answer before, for its next page"),
      }),
      price: { mode: "fixed", cents: 0 },
      upstreamCents: 0,
      request: { method: "GET", path: "/inboxes/{inbox_id}/messages" },
      content: ["/messages"],
      requires,
      example: { params: { inbox_id: address }, answer: { count: 1, limit: 20, messages: [received] } },
    }),
    reply: action(common, {
      asked: "reply to an email; answer a message; write back to the sender; respond to a customer's mail",
      description: "Answers a mail in a mailbox of yours; its message_id is in agentmail/list-messages.",
      keywords: "answer an email; reply to a mail; write back; respond to a customer; answer a message",
      effect: "write",
      params: withRules([isSaid], {
        inbox_id,
        message_id: line(998).min(1).describe("Id of the mail to answer"),
        ...body,
      }),
      request: { method: "POST", path: "/inboxes/{inbox_id}/messages/{message_id}/reply" },
      content: ["/message_id"],
      requires,
      example: {
        params: { inbox_id: address, message_id, text: "Good evening." },
        answer: { message_id: "<0102019b7c5e@agentmail.to>", thread_id },
      },
    }),
  },
});
