// Nyne: detailed facts about people, their contacts, and funders; each search is launched and then polled by its id. From memory: our cost,
// where an error has its code, what indicates that we have not paid, and the params of funders.
import {
  action,
  defineAdapter,
  domainName,
  exactlyOne,
  keyHeaders,
  like,
  needsOne,
  optional,
  together,
  withRules,
  z,
} from "#adapter";

/** Its credits are sold by contract: we assume their maximum price. */
const CREDIT_CENTS = 9;

const words = z.string().min(1).max(200);
const page = z.url({ protocol: /^https?$/ }).max(500);
const PATHS = {
  "person-enrichment": "/person/enrichment",
  interactions: "/person/interactions",
  funders: "/company/funders",
} as const;
const kinds = ["person-enrichment", "interactions", "funders"] as const;

const request_id = "req_7f3b9c2d1e4a";
const launch = (action: (typeof kinds)[number]) => {
  const ends = { done: ["completed"], failed: ["failed"] } as const;
  const poll = { action: "result", param: "request_id", params: { action }, at: "/data/status", ...ends } as const;
  return { category: "people", effect: "write", issues: [{ kind: "request", at: "/data/request_id", poll }] } as const;
};
const post = (path: string) => ({ method: "POST", path }) as const;
const launched = { success: true, data: { request_id, status: "queued", message: "The request is queued." } };

const refusal = z.object({ success: z.literal(false) });

/** Its answers may contain control characters within strings, which JSON forbids. */
function parsed(text: string): unknown {
  return JSON.parse([...text].map((char) => (char < " " ? " " : char)).join(""));
}

export default defineAdapter({
  name: "Nyne",
  docs: "https://api.nyne.ai/documentation",
  beliefs: { funders: "its params, and what it costs us" },
  origin: "https://api.nyne.ai",
  auth: keyHeaders(["x-api-key", "x-api-secret"]),
  keyParts: ["NYNE_API_KEY", "NYNE_API_SECRET"],
  rate: { requests: 60, perMs: 60_000 },
  rules: [
    { status: 403, at: "/error/code", is: "subscription_required", means: "provider_billing" },
    { at: "/success", is: false, means: "provider_server_error", messageAt: "/error/message" },
  ],
  actions: {
    "person-enrichment": action(launch("person-enrichment"), {
      asked:
        "all about a person; background of somebody; social profiles from a phone number or an email; osint; who called me; deep profile of a candidate; dig up; dossier on a man, woman",
      description:
        "Starts a deep search for all that is public of a person by email, phone, profile, or name and company; nyne/result tells what it found. lite finds five facts.",
      keywords:
        "enrich a person; profile of a person; social profiles; work history; find out about someone; who invested; backers of a startup; raise money; background of a person; who is this person",
      params: withRules([exactlyOne("email", "phone", "social_media_url", "name"), together("company", "name")], {
        email: optional(z.email(), "Email address of the person"),
        phone: optional(like(/^\+?[\d ()-]{7,25}$/, "must be a phone number"), "Phone number of the person"),
        social_media_url: optional(page, "Address of a profile of the person's"),
        name: optional(words, "Name of the person, with company"),
        company: optional(words, "Company of the person, with name"),
        lite: z.boolean().default(false).describe("Five facts only, for 30 cents instead of 55"),
      }),
      price: {
        mode: "ranged",
        cents: 55,
        minCents: 30,
        quoteCents: ({ lite }) => (lite ? 30 : 55),
        otherPrice: { email: "ada@example.com", lite: true },
      },
      upstreamCents: ({ lite }) => (lite ? 3 : 6) * CREDIT_CENTS,
      request: { ...post(PATHS["person-enrichment"]), names: { lite: "lite_enrich" } },
      example: { params: { email: "ada@example.com" }, answer: launched },
    }),
    interactions: action(launch("interactions"), {
      asked:
        "who follows, likes or replies to a profile; fans of an account; followers on x, twitter, instagram; audience of an influencer; engagement",
      description:
        "Starts a search for who replies to, follows or is followed by a profile on X or Instagram; nyne/result tells whom it found.",
      keywords: "followers; who follows; replies to a post; audience of a profile",
      params: withRules([needsOne("social_media_url", "username", "tweet_id")], {
        type: z.enum(["replies", "followers", "following", "followers,following"]).describe("What to look for"),
        social_media_url: optional(page, "Address of the profile or of the post"),
        username: optional(words, "Name of the profile"),
        tweet_id: optional(like(/^\d{10,25}$/, "must be 10 to 25 digits"), "Id of the post, for its replies"),
        max_results: z.int().min(10).max(1_000).default(100).describe("The most people"),
      }),
      price: { mode: "fixed", cents: 30 },
      upstreamCents: 3 * CREDIT_CENTS,
      request: post(PATHS.interactions),
      example: { params: { type: "followers", social_media_url: "https://x.com/example" }, answer: launched },
    }),
    funders: action(launch("funders"), {
      asked:
        "investors; vc; venture capital; who funds startups; angels; fund that invests in my field; raise money; seed, series a; check size; find a backer; financing; pitch to",
      description:
        "Starts a search for an investor: profile, partners, thesis, size of checks, recent investments; nyne/result tells what it found.",
      keywords: "investor; venture capital; who funds startups; check size; partners of a fund",
      // The param names are from memory.
      params: withRules([needsOne("company_name", "company_domain")], {
        company_name: optional(words, "Name of the investor"),
        company_domain: optional(domainName, "Domain of the investor"),
      }),
      price: { mode: "fixed", cents: 30 },
      upstreamCents: 3 * CREDIT_CENTS,
      request: post(PATHS.funders),
      example: { params: { company_domain: "example.vc" }, answer: launched },
    }),
    result: action({
      asked: "what the person search found; result of the deep lookup",
      category: "people",
      effect: "read",
      description:
        "Tells how a search of nyne stands and, once it is completed, what it found. Free; ask every 3 to 5 seconds.",
      keywords: "result of a person enrichment; outcome; is the search done",
      params: z.strictObject({
        request_id: words.describe("The request_id of the search"),
        action: z.enum(kinds).default("person-enrichment").describe("The action that started it"),
      }),
      price: { mode: "fixed", cents: 0 },
      upstreamCents: 0,
      async run({ ask, end, params: { request_id: id, action: kind } }) {
        const request = { method: "GET", path: PATHS[kind] } as const;
        const { status, json, text } = await ask(request, { values: { request_id: id }, judged: false });
        const message = `status ${status}`;
        if (status === 401) end("provider_auth_failed", { message });
        if (status === 402 || status === 403) end("provider_billing", { message });
        if (status === 404) end("caller_invalid", { message: "The search is unknown, or of another action." });
        if (status === 429) end("provider_rate_limited", { message });
        if (status >= 500) end("provider_server_error", { message });
        if (status >= 400) end("caller_invalid", { message });
        const body = json ?? parsed(text);
        if (refusal.safeParse(body).success) end("provider_server_error", { message: "It says that it failed." });
        return body;
      },
      content: ["/data/status"],
      requires: [{ kind: "request", param: "request_id" }],
      example: {
        params: { request_id },
        answer: {
          success: true,
          data: {
            request_id,
            status: "completed",
            completed: true,
            result: { displayname: "Ada Lovelace", location: "London", organizations: [{ name: "Example" }] },
          },
        },
      },
    }),
  },
});
