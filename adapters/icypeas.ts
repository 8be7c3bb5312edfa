// Icypeas: finds and verifies email addresses; each search is launched and then polled by its id. From memory: our cost, and the rate limit
// for launching searches.
import { action, defineAdapter, keyHeader, rule, withRules, z } from "#adapter";

/** From memory: a search costs one credit of its smallest plan, a check a tenth of that. */
const [SEARCH_CENTS, CHECK_CENTS] = [2, 0.5];

/** The vendor's maximum per list request. */
const LISTED_MAX = 100;

const words = z.string().min(1).max(200);
const _id = "Ulm0GJkBqRgGXWmSX2wh";
const domainOrCompany = words.describe("Domain or name of the company");
const launch = {
  category: "people",
  effect: "write",
  issues: [
    {
      kind: "search",
      at: "/item/_id",
      // A search that found nothing has ended too.
      poll: {
        action: "result",
        param: "id",
        at: "/items/0/status",
        done: ["FOUND", "DEBITED", "NOT_FOUND", "DEBITED_NOT_FOUND"],
        failed: ["BAD_INPUT", "INSUFFICIENT_FUNDS", "ABORTED"],
      },
    },
  ],
} as const;
const given = (name: string) => ({ required: [name], properties: { [name]: { not: { const: "" } } } });
const NO_NAME = "is missing: a first name or a last name is needed";
const post = (path: string) => ({ method: "POST", path }) as const;
const launched = { success: true, item: { _id, status: "NONE" } };

export default defineAdapter({
  name: "Icypeas",
  docs: "https://api-doc.icypeas.com",
  beliefs: { "*": "what it costs us, and how often a search may be launched" },
  origin: "https://app.icypeas.com/api",
  auth: keyHeader("authorization"),
  rate: { requests: 10, perMs: 1_000 },
  // A success status can carry a refusal.
  rules: [
    { at: "/validationErrors", empty: false, means: "caller_invalid", messageAt: "/validationErrors/0/type" },
    { at: "/error", is: "UnpaidSubscriptionError", means: "provider_billing" },
    { at: "/error", is: "SearchNotFoundError", means: "caller_invalid" },
    { at: "/success", is: false, means: "provider_server_error" },
  ],
  actions: {
    "email-search": action(launch, {
      asked:
        "email of a person at a company; work address of somebody; how can I mail the manager; guess her email; reach the ceo, buyer, recruiter, journalist, professor by mail",
      description:
        "Starts a search for a person's work email address by name and company; icypeas/result tells what it found.",
      keywords: "find email; work email; email address of a person",
      params: withRules([rule({ anyOf: [given("firstname"), given("lastname")] }, "lastname", NO_NAME)], {
        firstname: z.string().max(100).default("").describe("First name; may be left out where the last name is given"),
        lastname: z.string().max(100).default("").describe("Last name; may be left out where the first name is given"),
        domainOrCompany,
      }),
      price: { mode: "fixed", cents: 4 },
      upstreamCents: SEARCH_CENTS,
      request: post("/email-search"),
      example: { params: { firstname: "Ada", lastname: "Lovelace", domainOrCompany: "example.com" }, answer: launched },
    }),
    "email-verification": action(launch, {
      asked:
        "is this email valid; does this address exist; will my mail bounce; check addresses before sending; is it a fake, throwaway or disposable email; clean my mailing list; deliverable; real mailbox; dead addresses",
      description: "Starts a check whether an email address works; icypeas/result tells how sure it is.",
      keywords: "verify email; is this email valid; bounce; does this mailbox exist",
      params: z.strictObject({ email: z.email().describe("The address") }),
      price: { mode: "fixed", cents: 2 },
      upstreamCents: CHECK_CENTS,
      request: post("/email-verification"),
      example: { params: { email: "ada@example.com" }, answer: launched },
    }),
    "domain-search": action(launch, {
      asked: "general addresses of a company; info@, contact@, sales@; contact email of a website",
      description:
        "Starts a scan of a domain for addresses of roles, such as contact@; icypeas/result tells what it found.",
      keywords: "emails of a company; contact address; domain scan",
      params: z.strictObject({ domainOrCompany }),
      price: { mode: "fixed", cents: 4 },
      upstreamCents: SEARCH_CENTS,
      request: post("/domain-search"),
      example: { params: { domainOrCompany: "example.com" }, answer: launched },
    }),
    result: action({
      asked: "result of the email search; has the address been found",
      category: "people",
      effect: "read",
      description:
        "Tells how a search of icypeas stands and what it found. Ask every 3 to 5 seconds: NONE, SCHEDULED and IN_PROGRESS mean that it still works.",
      keywords: "result of an email search; is the search done",
      params: withRules(
        [rule({ oneOf: [{ required: ["id"] }, { required: ["mode"] }] }, "id", "is needed, or mode; not both")],
        {
          id: words.describe("The _id of the search").optional(),
          mode: z.literal("single").describe("Lists your own searches, the newest first").optional(),
          limit: z.int().min(1).max(LISTED_MAX).default(10).describe("How many are listed at most"),
        },
      ),
      price: { mode: "fixed", cents: 1 },
      upstreamCents: 0,
      request: {
        ...post("/bulk-single-searchs/read"),
        // The list has all callers' searches; each caller sees only its own.
        params: ({ id, mode }) => (id === undefined ? { mode, limit: LISTED_MAX } : { id }),
      },
      content: ({ mode }) => (mode === undefined ? ["/items/0/status"] : ["/items"]),
      lists: { by: "mode", kind: "search", field: "items", id: "/_id", limit: "limit" },
      rules: [
        { at: "/items", empty: true, means: "caller_invalid" },
        { at: "/items/0/status", is: ["NOT_FOUND", "DEBITED_NOT_FOUND"], means: "miss" },
        { at: "/items/0/status", is: "BAD_INPUT", means: "caller_invalid" },
        { at: "/items/0/status", is: "INSUFFICIENT_FUNDS", means: "provider_billing" },
        { at: "/items/0/status", is: "ABORTED", means: "provider_server_error" },
      ],
      requires: [{ kind: "search", param: "id" }],
      // For all callers together.
      rate: { requests: 30, perMs: 60_000 },
      example: {
        params: { id: _id },
        answer: {
          success: true,
          items: [
            {
              _id,
              status: "DEBITED",
              results: { fullname: "Ada Lovelace", emails: [{ email: "ada@example.com", certainty: "ultra_sure" }] },
            },
          ],
          total: 1,
        },
      },
    }),
  },
});
