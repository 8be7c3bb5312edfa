// Tomba: work email addresses and phone numbers by name, company, page or profile, and verification of addresses. From memory: our cost,
// and its answer if no person was found.
import {
  action,
  defineAdapter,
  domainName,
  exactlyOne,
  keyHeaders,
  like,
  needsOne,
  optional,
  withRules,
  z,
} from "#adapter";

/** From memory: the price of a search and a check in its smallest plan; a phone number costs more. */
const [SEARCH_CENTS, CHECK_CENTS, PHONE_CENTS] = [2, 1, 8];

const words = z.string().min(1).max(200);
const firm = { domain: optional(domainName, "Domain of the company"), company: optional(words, "Name of the company") };
const page = (about: string) =>
  z
    .url({ protocol: /^https?$/ })
    .max(1_000)
    .describe(about);
// Case-insensitive, and with the leading blanks that any URL may have.
const profile = page("The person's LinkedIn profile").regex(
  /^\s*[hH][tT][tT][pP][sS]?:\/\/([A-Za-z]{2,3}\.)?[lL][iI][nN][kK][eE][dD][iI][nN]\.[cC][oO][mM]\/([iI][nN]|[pP][uU][bB])\//,
  "must be a LinkedIn profile",
);
const isOneFirm = exactlyOne("domain", "company");

const common = {
  category: "people",
  effect: "read",
  price: { mode: "fixed", cents: 4 },
  upstreamCents: SEARCH_CENTS,
  content: ["/data"],
} as const;
const get = (path: string) => ({ method: "GET", path }) as const;
/** Most of its answers use a null field if no person was found; such a lookup is charged like any other. */
const nobody = [{ at: "/data/email", empty: true, means: "miss" }] as const;
const email = "ada@example.com";
const linkedin = "https://www.linkedin.com/in/ada";
const person = {
  email,
  first_name: "Ada",
  last_name: "Lovelace",
  full_name: "Ada Lovelace",
  website_url: "example.com",
  company: "Example",
  position: "Engineer",
  country: "GB",
  phone_number: true,
  linkedin,
  score: 97,
  verification: { date: "2026-11-01", status: "valid" },
  sources: [],
};

const enriched = {
  name: { fullName: "Ada Lovelace", givenName: "Ada", familyName: "Lovelace" },
  email,
  location: "GB",
  geo: { city: "London", state: null, country: "United Kingdom", countryCode: "GB" },
  employment: { domain: "example.com", name: "Example", title: "Engineer", role: "engineering" },
  linkedin: { handle: linkedin },
  verification: { date: "2026-11-01", status: "valid" },
  phone: true,
};
const company = {
  name: "Example",
  domain: "example.com",
  category: { sector: "Information Technology", industry: "Software", sicCode: "73", naicsCode: "51" },
  tags: ["software"],
  geo: { city: "London", state: null, country: "United Kingdom", countryCode: "GB" },
  metrics: { employees: "51-200", annualRevenue: "$1M-$10M" },
};

export default defineAdapter({
  name: "Tomba",
  docs: "https://docs.tomba.io",
  beliefs: { "*": "what it costs us, and how it says that no person was found" },
  origin: "https://api.tomba.io/v1",
  auth: keyHeaders(["x-tomba-key", "x-tomba-secret"]),
  keyParts: ["TOMBA_API_KEY", "TOMBA_SECRET_KEY"],
  rate: { requests: 300, perMs: 60_000 },
  // An unknown route is our mistake.
  rules: [{ status: 404, at: "/errors/type", is: "unknown_route", means: "provider_server_error" }],
  actions: {
    "email-finder": action(common, {
      asked:
        "email of a person at a company; work address of somebody; how can I mail the manager; guess her email; reach the ceo, buyer, recruiter, journalist, professor by mail",
      description: "Finds a person's work email address by name and company or domain, with how sure it is.",
      keywords:
        "find email; work email; email address of a person; contact; get hold of someone; contact a person at a company",
      params: withRules([isOneFirm, needsOne("full_name", ["first_name", "last_name"])], {
        ...firm,
        full_name: optional(words, "The person's whole name"),
        first_name: optional(words, "First name, with last_name instead of full_name"),
        last_name: optional(words, "Last name, with first_name instead of full_name"),
      }),
      request: get("/email-finder"),
      rules: nobody,
      example: { params: { domain: "example.com", full_name: "Ada Lovelace" }, answer: { data: person } },
    }),
    "linkedin-finder": action(common, {
      asked: "email for a linkedin profile; linkedin url to mail",
      description: "Finds the work email address that goes with a LinkedIn profile; full returns all that are known.",
      keywords: "linkedin to email; email of a linkedin profile; contact",
      params: z.strictObject({ url: profile, full: z.boolean().default(false).describe("Return all emails") }),
      price: { mode: "fixed", cents: 5 },
      request: get("/linkedin"),
      rules: nobody,
      example: { params: { url: linkedin }, answer: { data: person } },
    }),
    "domain-search": action(common, {
      asked:
        "emails of a company; staff and their addresses; who works at a domain; employees list; people at acme.com; team with emails; departments",
      description:
        "Lists people with their email addresses at a company, by department and country, with facts of the company.",
      keywords:
        "emails at a company; employees; who works at; company contacts; everyone who works at a company; staff of a company; team of a firm",
      params: withRules([isOneFirm], {
        ...firm,
        department: optional(
          z.enum(["engineering", "sales", "finance", "hr", "it", "marketing", "operations", "management"]),
          "Only people of this department",
        ),
        country: optional(like(/^[A-Z]{2}$/, "must be two letters such as US"), "Only people of this country"),
        type: optional(z.enum(["personal", "generic"]), "Addresses of people, or of roles such as info@"),
        page: z.int().min(1).max(1_000).default(1).describe("Which page"),
        limit: z.literal([10, 20, 50]).default(10).describe("People on a page"),
      }),
      request: get("/domain-search"),
      rules: [{ at: "/data/emails", empty: true, means: "miss" }],
      example: {
        params: { domain: "example.com", department: "engineering" },
        answer: {
          data: { organization: { organization: "Example", website_url: "example.com" }, emails: [person] },
          meta: { total: 1, pageSize: 10, current: 1, total_pages: 1 },
        },
      },
    }),
    "author-finder": action(common, {
      asked: "who wrote this article; author of a blog post; journalist behind a story; contact a writer; byline",
      description: "Finds who wrote an article on the web, with the author's email address.",
      keywords: "author of an article; journalist email; blogger",
      params: z.strictObject({ url: page("Address of the article") }),
      request: get("/author-finder"),
      rules: nobody,
      example: { params: { url: "https://example.com/notes" }, answer: { data: person } },
    }),
    enrich: action(common, {
      asked:
        "who is behind an email; whose email is this; name and company for an address; reverse email lookup; who wrote me; enrich a lead; profile of an unknown sender",
      description:
        "Tells who is behind an email address, and of the company: name, position, profiles; its domain, size, place and more.",
      keywords:
        "enrich email; who is this email; person from email; company from email; company size; whose email; owner of an email address",
      params: z.strictObject({ email: z.email().describe("The address") }),
      // The person and the company in one lookup; /enrich returns only the person, at the same cost.
      request: get("/combined/find"),
      rules: [
        { at: "/data/person", empty: false, means: "success" },
        { at: "/data/company", empty: false, means: "success" },
        { at: "/data/company", is: null, means: "miss" },
      ],
      example: { params: { email }, answer: { data: { person: enriched, company } } },
    }),
    "phone-finder": action(common, {
      asked:
        "phone number of a person; call somebody at work; mobile, cell, telephone; direct line; number for an email",
      description: "Finds a phone number by email address, domain or LinkedIn profile, with carrier and kind of line.",
      keywords: "phone number; find phone; mobile number; call",
      params: withRules([exactlyOne("email", "domain", "linkedin")], {
        email: optional(z.email(), "Address of the person"),
        domain: optional(domainName, "Domain of a company"),
        linkedin: profile.optional(),
        full: z.boolean().default(false).describe("Return all numbers"),
      }),
      price: { mode: "fixed", cents: 10 },
      upstreamCents: PHONE_CENTS,
      request: get("/phone-finder"),
      rules: [
        { at: "/data", empty: true, means: "miss" },
        { at: "/data/valid", is: false, means: "miss" },
      ],
      example: {
        params: { email },
        answer: { data: { email, valid: true, e164_format: "+442079460000", country_code: "GB", line_type: "MOBILE" } },
      },
    }),
    "email-verifier": action(common, {
      asked:
        "is this email valid; does this address exist; will my mail bounce; check addresses before sending; is it a fake, throwaway or disposable email; clean my mailing list; deliverable; real mailbox; dead addresses",
      description: "Says whether an email address works: deliverable, undeliverable or risky, and why.",
      keywords: "verify email; is this email valid; bounce; deliverability; does this mailbox exist",
      params: z.strictObject({ email: z.email().describe("The address") }),
      price: { mode: "fixed", cents: 2 },
      upstreamCents: CHECK_CENTS,
      request: get("/email-verifier/{email}"),
      content: ["/data/email/result"],
      // Here a 402 means that the address's mail server could not be reached.
      rules: [{ status: 402, at: "/errors", empty: false, means: "provider_overloaded" }],
      example: {
        params: { email },
        answer: {
          data: { email: { email, result: "deliverable", status: "valid", score: 97, mx_check: true }, sources: [] },
        },
      },
    }),
  },
});
