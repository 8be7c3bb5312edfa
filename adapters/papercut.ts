// Papercut: a roast of a profile, mailed as a postcard. A pay-per-call merchant, used after a free look-up of the profile.
import { action, defineAdapter, like, neededWhen, noneWhen, paidBy, withRules, z } from "#adapter";

const common = { category: "commerce" } as const;
const username = like(/^[A-Za-z0-9_][A-Za-z0-9_.-]*$/, "must be a name without @", 64).describe(
  "Whose profile it is, without @.",
);
const platform = z.enum(["x", "github", "linkedin", "instagram"]).default("x").describe("Where the profile is.");
const line = (max: number) => z.string().min(1).max(max).regex(/\S/, "must not be blank");
const address = z
  .strictObject({
    name: line(100),
    line1: line(100),
    line2: line(100).optional(),
    city: line(100),
    state: line(50),
    zip: line(20),
    country: like(/^[A-Z]{2}$/, "must be two capital letters").default("US"),
  })
  .describe("Where a printed card is sent, in full.");
const MESSAGE = "love the bio. shame about the commits.";

/** Rejects text that must not be on a card: strangers read it on its way. */
const text = z
  .string()
  .min(1)
  .max(280)
  .regex(/\S/, "must not be blank")
  .regex(/^[^\p{Lu}]*$/u, "must be in lower case")
  .regex(/^(?![\s\S]*(?:https?:|www\.))/, "must name no address of the web")
  .regex(/^(?![\s\S]*[a-z0-9]\.(?:com|org|net|io|dev|ai|app|co)(?![a-z0-9]))/, "must name no address of the web")
  .regex(/^(?![\s\S]*\S@\S)/, "must name no email address")
  .regex(/^(?![\s\S]*(?:\s|^)[~.]{0,2}\/\S)(?![\s\S]*[a-z]:\\)/, "must name no path of a file")
  .regex(
    /^(?![\s\S]*(?:sk|pk|ghp|gho|xox[abp]|akia|eyj)[-_a-z0-9]{12})(?![\s\S]*[0-9a-f]{32})/,
    "must have no secret in it",
  );

export default defineAdapter({
  name: "Papercut",
  docs: "https://papercut.lol/llms.txt",
  beliefs: { "*": "the address of its profiles, the names of its params, and what it answers" },
  origin: "https://papercut.lol/api",
  auth: paidBy("mpp"),
  waitsFor: "Where this merchant has its profiles is not known: it is asked once its own description has been read.",
  actions: {
    profile: action(common, {
      asked: "roast a friend; funny postcard; joke card; prank; gag gift; make fun of",
      effect: "read",
      description: "The profile that a postcard is to be about. It precedes a card, and is free.",
      keywords: "postcard profile; roast",
      params: z.strictObject({ username, platform }),
      price: { mode: "fixed", cents: 0 },
      upstreamCents: 0,
      request: { method: "GET", path: "/profile" },
      issues: [{ kind: "profile", at: "/username" }],
      example: {
        params: { username: "ada" },
        answer: { username: "ada", platform: "x", bio: "counts things", followers: 1_843 },
      },
    }),
    send: action(common, {
      asked: "roast a friend; funny postcard; joke card; prank; gag gift; make fun of",
      effect: "write",
      description:
        "Sends a postcard with a roast of a profile that was looked at before: $1 as a picture, $3 printed and mailed.",
      keywords: "postcard; roast a friend; send a card; greeting card; send a card by post",
      params: withRules(
        [
          neededWhen("address", "delivery", { const: "physical" }),
          ...noneWhen(["address"], "delivery", { const: "digital" }),
        ],
        {
          username,
          platform,
          message: text.describe(
            "What the card says: at most 280 characters, in lower case, without secrets, emails, URLs or paths.",
          ),
          delivery: z.enum(["digital", "physical"]).default("digital").describe("A picture, or a printed card."),
          address: address.optional(),
        },
      ),
      price: {
        mode: "capped",
        cents: 300,
        paid: { exampleCents: 100 },
        quoteCents: ({ delivery }) => (delivery === "physical" ? 300 : 100),
      },
      upstreamCents: ({ delivery }) => (delivery === "physical" ? 300 : 100),
      requires: [{ kind: "profile", param: "username" }],
      request: { method: "POST", path: "/send" },
      example: { params: { username: "ada", message: MESSAGE }, answer: { id: "card_1", status: "sent" } },
    }),
  },
});
