// ContactOut: searches people by occupation, finds contact details from a LinkedIn profile, and the person behind an email address.
// From memory: our cost of its credits, which are sold by contract. Its wording comes from its own documentation.
import { action, defineAdapter, keyHeaders, like, needsOne, optional, withRules, z } from "#adapter";

/** A profile in a search, an email address, a phone number, a check. */
const [PROFILE_CENTS, EMAIL_CENTS, PHONE_CENTS, CHECK_CENTS] = [0.2, 8, 25, 1];
/** The fixed number of profiles per search page, each of which is charged. */
const PAGE_SIZE = 25;

const text = z.string().min(1).max(500);
const words = z.union([text, z.array(text).min(1).max(50)]);
const ranges = z
  .array(like(/^\d{1,6}(_\d{1,6})?$/, "must be as 1_10 or 10"))
  .min(1)
  .max(20);
const boolean = " AND, OR and NOT in brackets are understood";
/** Search filters; at least one is required. */
const filters = {
  name: optional(text, "The person's name"),
  job_title: optional(words, `Titles, any of them;${boolean}`),
  company: optional(words, "Names of companies"),
  domain: optional(words, "Domains of companies"),
  location: optional(words, "Cities, regions or countries"),
  seniority: optional(words, "Levels, such as manager, director or vice president"),
  skills: optional(words, `Skills;${boolean}`),
  education: optional(words, `Schools and degrees;${boolean}`),
  industry: optional(words, `Industries;${boolean}`),
  job_function: optional(words, "Functions, such as engineering or sales"),
  keyword: optional(text, `Words anywhere in a profile;${boolean}`),
};
const LISTS =
  "job_title company domain location seniority skills education industry job_function exclude_companies exclude_job_titles".split(
    " ",
  );
const search = withRules([needsOne("name", "job_title", "company", "domain", ...Object.keys(filters).slice(4))], {
  ...filters,
  company_size: optional(ranges, "Employees of the company, as 1_10"),
  years_of_experience: optional(ranges, "Years at work, as 6_10"),
  years_in_current_role: optional(ranges, "Years in this position, as 0_2"),
  company_filter: optional(z.enum(["current", "past", "both"]), "Which of a person's companies company means"),
  current_titles_only: optional(z.boolean(), "False: titles that a person once had count too"),
  include_related_job_titles: optional(z.boolean(), "Titles like those given count too"),
  exclude_companies: optional(words, "Nobody of these companies"),
  exclude_job_titles: optional(words, "Nobody with these titles"),
  data_types: optional(
    z.array(z.enum(["personal_email", "work_email", "phone"])).min(1),
    "Only people of whom these are known; profile-contacts tells them",
  ),
  page: z.int().min(1).max(1_000).default(1).describe("Which page, of page_size each"),
  page_size: z.int().min(1).max(PAGE_SIZE).default(10).describe("How many profiles; each is a cent"),
});
type Search = z.infer<typeof search>;

/** The requested profiles, and thus which of the vendor's pages to fetch. */
function pagesOf({ page, page_size }: Pick<Search, "page" | "page_size">) {
  const from = (page - 1) * page_size;
  const [first, last] = [from, from + page_size - 1].map((at) => Math.floor(at / PAGE_SIZE));
  return { from: from % PAGE_SIZE, first: (first ?? 0) + 1, last: (last ?? 0) + 1 };
}

const searched = z.looseObject({
  metadata: z.looseObject({}),
  profiles: z.union([z.record(z.string(), z.unknown()), z.array(z.unknown()).max(0)]),
});

const profile = z
  .url({ protocol: /^https?$/ })
  .max(1_000)
  .regex(
    /^\s*[hH][tT][tT][pP][sS]?:\/\/([A-Za-z]{2,3}\.)?[lL][iI][nN][kK][eE][dD][iI][nN]\.[cC][oO][mM]\/([iI][nN]|[pP][uU][bB])\//,
    "must be a LinkedIn profile, of /in/ or /pub/",
  )
  .describe("The person's LinkedIn profile");
const contacts = z.strictObject({
  profile,
  include_phone: z.boolean().default(false).describe("Phone numbers too, for 30 cents more if there are any"),
  email_type: optional(
    z.enum(["personal", "work", "personal,work", "none"]),
    "Which addresses; with work they are checked at once, which takes longer",
  ),
});
const email = z.email().max(320);

const common = { category: "people", effect: "read", upstreamMissCents: 0 } as const;
const get = (path: string) => ({ method: "GET", path }) as const;
const nobody = { status: 404, at: "/status_code", is: 404, means: "miss" } as const;
const linkedin = "https://www.linkedin.com/in/ada";
const company = {
  name: "Example",
  url: "https://www.linkedin.com/company/example",
  domain: "example.com",
  website: "https://www.example.com",
  size: 50,
  industry: "Computer Software",
  headquarter: "London, GB",
};
const found = {
  li_vanity: "ada",
  full_name: "Ada Lovelace",
  title: "Engineer",
  headline: "Engineer at Example",
  company,
  location: "London, United Kingdom",
  industry: "Computer Software",
  skills: ["Mathematics"],
  contact_availability: { personal_email: true, work_email: true, phone: true },
};
const person = {
  email: "ada@example.com",
  fullName: "Ada Lovelace",
  headline: "Engineer at Example",
  industry: "Computer Software",
  linkedinUrl: linkedin,
  phone: "+442079460000",
  company,
  location: "London, United Kingdom",
  experience: [{ title: "Engineer", company_name: "Example", is_current: true }],
};

export default defineAdapter({
  name: "ContactOut",
  docs: "https://api.contactout.com",
  beliefs: { "*": "what its credits cost us, which are sold by contract" },
  origin: "https://api.contactout.com/v1",
  auth: keyHeaders(["token"], { authorization: "basic" }),
  rate: { requests: 1_000, perMs: 60_000 },
  // It swaps the two statuses: 400 is about our key, 401 about the request.
  rules: [
    { status: 400, means: "provider_auth_failed" },
    { status: 401, means: "caller_invalid", messageAt: "/message" },
    { status: 403, means: "provider_billing" },
  ],
  actions: {
    "people-search": action(common, {
      asked:
        "find engineers in a city; candidates for a job; recruit; people with a skill; employees by title and company; sourcing talent; sales leads; prospects; who works where; decision makers; hire a developer",
      description:
        "Finds people by title, company, place, skills and more: profiles by their LinkedIn address, and which contacts are known of each.",
      keywords:
        "find people; prospects; leads; candidates; LinkedIn profiles; decision makers; find employees; who works at a company; marketing managers; engineers in a city",
      params: search,
      price: {
        mode: "ranged",
        cents: PAGE_SIZE,
        minCents: 1,
        unit: "profile",
        quoteCents: ({ page_size }) => page_size,
        otherPrice: { job_title: "Engineer", company: "Example", page_size: 25 },
      },
      upstreamCents: (params) => {
        const { first, last } = pagesOf(params);
        return (last - first + 1) * PAGE_SIZE * PROFILE_CENTS;
      },
      mayCostMore: "The vendor answers with whole pages of 25 profiles and counts each, however few were asked for.",
      async run({ ask, params }) {
        const { page, page_size, ...rest } = params;
        const values = Object.fromEntries(
          Object.entries(rest).map(([name, value]) => [name, LISTS.includes(name) ? [value].flat() : value]),
        );
        const { from, first, last } = pagesOf({ page, page_size });
        const profiles: [string, unknown][] = [];
        let metadata = {};
        for (let at = first; at <= last; at++) {
          const { json } = await ask(
            { method: "POST", path: "/people/search", fixed: { reveal_info: false } },
            { values: { ...values, page: at } },
          );
          const answer = searched.parse(json);
          metadata = answer.metadata;
          profiles.push(...Object.entries(answer.profiles));
          if (Object.keys(answer.profiles).length < PAGE_SIZE) break;
        }
        return {
          status_code: 200,
          metadata: { ...metadata, page, page_size },
          profiles: Object.fromEntries(profiles.slice(from, from + page_size)),
        };
      },
      content: ["/profiles"],
      rules: [{ at: "/metadata/total_results", is: 0, means: "miss" }],
      rate: { requests: 60, perMs: 60_000 },
      example: {
        params: { job_title: "Engineer", company: "Example", page_size: 5 },
        answer: {
          status_code: 200,
          metadata: { page: 1, page_size: PAGE_SIZE, total_results: 1 },
          profiles: { [linkedin]: found },
        },
      },
    }),
    "profile-contacts": action(common, {
      asked:
        "email and phone of a linkedin profile; contact details from linkedin; how do I reach this person; private number; personal email; call her directly",
      description:
        "Email addresses of the person behind a LinkedIn profile, and phone numbers if wanted. Somebody of whom nothing is known is free.",
      keywords: "linkedin to email; email of a profile; phone number; contact",
      params: contacts,
      price: {
        mode: "capped",
        cents: 40,
        minCents: 10,
        freeOnMiss: true,
        quoteCents: ({ include_phone }) => (include_phone ? 40 : 10),
        counted: { at: "/profile/phone", centsEach: 30, baseCents: 10 },
      },
      upstreamCents: ({ include_phone }) => EMAIL_CENTS + (include_phone ? PHONE_CENTS : 0),
      request: get("/people/linkedin"),
      content: ["/profile"],
      rules: [
        nobody,
        { at: "/profile/email", empty: false, means: "success" },
        { at: "/profile/work_email", empty: false, means: "success" },
        { at: "/profile/personal_email", empty: false, means: "success" },
        { at: "/profile/phone", empty: false, means: "success" },
        { at: "/status_code", is: 200, means: "miss" },
      ],
      example: {
        params: { profile: linkedin },
        answer: {
          status_code: 200,
          profile: {
            url: linkedin,
            email: ["ada@example.com", "ada@example.org"],
            work_email: ["ada@example.com"],
            work_email_status: { "ada@example.com": "Verified" },
            personal_email: ["ada@example.org"],
            phone: [],
            github: ["ada"],
          },
        },
      },
    }),
    "person-from-email": action(common, {
      asked:
        "who is behind an email; whose email is this; name and company for an address; reverse email lookup; who wrote me; enrich a lead; profile of an unknown sender",
      description:
        "Who is behind an email address: name, LinkedIn profile, position, company with its size and seat. An unknown one is free.",
      keywords:
        "reverse email lookup; who is this email; owner behind an email address; enrich email; person from email; whose email; owner of an email address",
      params: z.strictObject({ email: email.describe("The address, a private one or one of work") }),
      price: { mode: "fixed", cents: 10, freeOnMiss: true },
      upstreamCents: EMAIL_CENTS,
      mayCostMore: "The vendor counts a phone number as well where it knows one.",
      request: get("/email/enrich"),
      content: ["/profile/fullName", "/profile/linkedinUrl"],
      rules: [
        nobody,
        { at: "/profile/fullName", empty: false, means: "success" },
        { at: "/profile/linkedinUrl", empty: false, means: "success" },
        { at: "/status_code", is: 200, means: "miss" },
      ],
      example: { params: { email: "ada@example.com" }, answer: { status_code: 200, profile: person } },
    }),
    "email-verify": action(common, {
      asked:
        "is this email valid; does this address exist; will my mail bounce; check addresses before sending; is it a fake, throwaway or disposable email; clean my mailing list; deliverable; real mailbox; dead addresses",
      description:
        "Says whether an email address works: valid, invalid, accept_all or disposable. One that cannot be told is free.",
      keywords: "verify email; is this email valid; bounce; deliverability; does this mailbox exist",
      params: z.strictObject({ email: email.describe("The address") }),
      price: { mode: "fixed", cents: 2, freeOnMiss: true },
      upstreamCents: CHECK_CENTS,
      request: get("/email/verify"),
      content: ["/data/status"],
      rules: [{ at: "/data/status", is: "unknown", means: "miss" }],
      example: { params: { email: "ada@example.com" }, answer: { status_code: 200, data: { status: "valid" } } },
    }),
  },
});
