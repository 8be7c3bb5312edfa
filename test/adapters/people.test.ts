// Calls to people finders: ContactOut and Tomba answer immediately, Icypeas and Nyne with a launch and polling.
import { describe, expect, it } from "vitest";
import { wire } from "../support/adapter-wire.ts";

const tomba = await wire("tomba");
const icypeas = await wire("icypeas");
const contactout = await wire("contactout");
const nyne = await wire("nyne");
const ada = "ada@example.com";
const linkedin = "https://www.linkedin.com/in/ada";

describe("ContactOut", () => {
  it.each([
    [
      "profile-contacts",
      { profile: linkedin },
      `/people/linkedin?profile=${encodeURIComponent(linkedin)}&include_phone=false`,
      10,
    ],
    [
      "profile-contacts",
      { profile: linkedin, include_phone: true, email_type: "personal,work" },
      `/people/linkedin?profile=${encodeURIComponent(linkedin)}&include_phone=true&email_type=personal%2Cwork`,
      40,
    ],
    ["person-from-email", { email: ada }, "/email/enrich?email=ada%40example.com", 10],
    ["email-verify", { email: ada }, "/email/verify?email=ada%40example.com", 2],
  ])("%s sends %j", (name, params, path, cents) => {
    const sent = contactout.send(name, params);
    expect(sent).toMatchObject({ method: "GET", url: `https://api.contactout.com/v1${path}`, body: null });
    expect(sent.headers).toMatchObject({ token: "key-of-ours", authorization: "basic" });
    expect(contactout.quote(name, params)).toBe(cents);
    expect(contactout.upstreamCents(name, params)).toBeLessThan(cents);
  });

  it("people-search costs a cent for each profile of its page, and is counted at the vendor's whole pages", () => {
    expect(contactout.quote("people-search", { name: "Ada", page_size: 7 })).toBe(7);
    expect(contactout.quote("people-search", { name: "Ada" })).toBe(10);
    expect(contactout.upstreamCents("people-search", { name: "Ada", page_size: 1 })).toBe(5);
    // Profiles 21 to 30 are on two of the vendor's pages.
    expect(contactout.upstreamCents("people-search", { name: "Ada", page: 3, page_size: 10 })).toBe(10);
  });

  it.each([
    ["people-search", { page_size: 10 }, "name"],
    ["people-search", { name: "Ada", page_size: 26 }, "page_size"],
    ["people-search", { name: "Ada", reveal_info: true }, "reveal_info"],
    ["people-search", { name: "Ada", company_size: ["small"] }, "company_size.0"],
    ["profile-contacts", { linkedin_url: linkedin }, "profile"],
    ["profile-contacts", { profile: "https://www.linkedin.com/sales/lead/1" }, "profile"],
    ["profile-contacts", { profile: linkedin, email_type: "any" }, "email_type"],
    ["person-from-email", { email: "ada" }, "email"],
    ["person-from-email", { email: ada, include: "work_email" }, "include"],
    ["email-verify", {}, "email"],
  ])("%s refuses %j, naming %s", (name, params, field) => expect(contactout.refuses(name, params)).toContain(field));

  const none = { status_code: 404, message: "Not Found" };
  it.each([
    ["profile-contacts", 404, none, "miss"],
    ["profile-contacts", 200, { status_code: 200, profile: [] }, "miss"],
    ["profile-contacts", 200, { status_code: 200, profile: { url: linkedin, email: [], phone: [] } }, "miss"],
    ["profile-contacts", 200, { status_code: 200, profile: { url: linkedin, email: [], phone: ["+44"] } }, "success"],
    ["profile-contacts", 200, { status_code: 200, profile: { url: linkedin, email: [ada] } }, "success"],
    ["person-from-email", 404, none, "miss"],
    ["person-from-email", 200, { status_code: 200, profile: [] }, "miss"],
    ["person-from-email", 200, { status_code: 200, profile: { linkedinUrl: linkedin } }, "success"],
    ["email-verify", 200, { status_code: 200, data: { status: "unknown" } }, "miss"],
    ["email-verify", 200, { status_code: 200, data: { status: "invalid" } }, "success"],
    ["email-verify", 404, { message: "no such path" }, "caller_invalid"],
    ["people-search", 200, { status_code: 200, metadata: { total_results: 0 }, profiles: [] }, "miss"],
    ["email-verify", 400, { message: "Bad credentials or invalid headers" }, "provider_auth_failed"],
    ["email-verify", 401, { message: "Bad request or invalid input" }, "caller_invalid"],
    ["email-verify", 403, { message: "You're out of credits" }, "provider_billing"],
    ["email-verify", 429, { message: "Rate limit reached." }, "provider_rate_limited"],
  ])("%s: %d %j is %s", (name, status, body, verdict) =>
    expect(contactout.means(name, { status, body }).verdict).toBe(verdict),
  );

  it("takes nothing for those of whom nothing is known", () => {
    const free = Object.entries(contactout.actions).filter(([, { price }]) => price.freeOnMiss === true);
    expect(free.map(([name]) => name)).toEqual(["profile-contacts", "person-from-email", "email-verify"]);
  });
});

describe("Tomba", () => {
  it.each([
    [
      "email-finder",
      { domain: "example.com", full_name: "Ada Lovelace" },
      "/email-finder?domain=example.com&full_name=Ada+Lovelace",
      4,
    ],
    ["linkedin-finder", { url: linkedin }, `/linkedin?url=${encodeURIComponent(linkedin)}&full=false`, 5],
    [
      "domain-search",
      { company: "Example", limit: 50, country: "US" },
      "/domain-search?company=Example&country=US&page=1&limit=50",
      4,
    ],
    ["author-finder", { url: "https://a.example/b" }, "/author-finder?url=https%3A%2F%2Fa.example%2Fb", 4],
    ["enrich", { email: ada }, "/combined/find?email=ada%40example.com", 4],
    ["phone-finder", { domain: "example.com" }, "/phone-finder?domain=example.com&full=false", 10],
    ["email-verifier", { email: ada }, "/email-verifier/ada%40example.com", 2],
  ])("%s sends %j", (name, params, path, cents) => {
    const sent = tomba.send(name, params);
    expect(sent).toMatchObject({ method: "GET", url: `https://api.tomba.io/v1${path}`, body: null });
    expect(sent.headers).toMatchObject({ "x-tomba-key": "key-of-ours-1", "x-tomba-secret": "key-of-ours-2" });
    expect(tomba.quote(name, params)).toBe(cents);
    expect(tomba.upstreamCents(name, params)).toBeLessThan(cents);
  });

  it.each([
    ["email-finder", { full_name: "Ada" }, "domain"],
    ["email-finder", { domain: "a.example", company: "A", full_name: "Ada" }, "domain"],
    ["email-finder", { domain: "a.example", first_name: "Ada" }, "full_name"],
    ["email-finder", { domain: "http://a.example", full_name: "Ada" }, "domain"],
    ["linkedin-finder", { url: "https://x.com/ada" }, "url"],
    ["domain-search", { domain: "a.example", limit: 25 }, "limit"],
    ["domain-search", { domain: "a.example", department: "legal" }, "department"],
    ["phone-finder", {}, "email"],
    ["phone-finder", { email: ada, domain: "a.example" }, "email"],
    ["email-verifier", { email: "ada" }, "email"],
    ["email-verifier", { email: "ada@example.com\r\nx: y" }, "email"],
    ["enrich", { email: ada, enrich_mobile: true }, "enrich_mobile"],
  ])("%s refuses %j, naming %s", (name, params, field) => expect(tomba.refuses(name, params)).toEqual([field]));

  it.each([
    ["email-finder", 200, { data: { email: ada } }, "success"],
    ["email-finder", 200, { data: { email: null } }, "miss"],
    ["domain-search", 200, { data: { organization: {}, emails: [] } }, "miss"],
    ["phone-finder", 200, { data: { valid: false } }, "miss"],
    ["linkedin-finder", 200, { data: { email: null } }, "miss"],
    ["enrich", 200, { data: { person: { email: ada }, company: null } }, "success"],
    ["enrich", 200, { data: { person: null, company: { name: "Example" } } }, "success"],
    ["enrich", 200, { data: { person: null, company: null } }, "miss"],
    ["email-verifier", 402, { errors: { type: "m", message: "mail server unreachable" } }, "provider_overloaded"],
    ["enrich", 402, { errors: { type: "m", message: "pay" } }, "provider_billing"],
    ["enrich", 404, { errors: { type: "unknown_route", code: 404 } }, "provider_server_error"],
    ["enrich", 404, { errors: { type: "not_found", code: 404 } }, "caller_invalid"],
    ["enrich", 401, { errors: { type: "unauthorized", code: 401 } }, "provider_auth_failed"],
    ["enrich", 429, { errors: { type: "rate", code: 429 } }, "provider_rate_limited"],
  ])("%s: %d %j is %s", (name, status, body, verdict) =>
    expect(tomba.means(name, { status, body }).verdict).toBe(verdict),
  );

  it("charges for a look-up that finds nobody: the contract makes none of them free", () => {
    expect(Object.values(tomba.actions).filter(({ price }) => price.freeOnMiss === true)).toEqual([]);
  });
});

describe("Icypeas", () => {
  it.each([
    [
      "email-search",
      { lastname: "Lovelace", domainOrCompany: "a.example" },
      { firstname: "", lastname: "Lovelace", domainOrCompany: "a.example" },
      4,
    ],
    ["email-verification", { email: ada }, { email: ada }, 2],
    ["domain-search", { domainOrCompany: "a.example" }, { domainOrCompany: "a.example" }, 4],
  ])("%s launches, with the bare key", (name, params, body, cents) => {
    const sent = icypeas.send(name, params);
    expect(sent).toMatchObject({ method: "POST", url: `https://app.icypeas.com/api/${name}`, body });
    expect(sent.headers.authorization).toBe("key-of-ours");
    expect(icypeas.quote(name, params)).toBe(cents);
    expect(icypeas.actions[name]).toMatchObject({ effect: "write", issues: [{ kind: "search", at: "/item/_id" }] });
  });

  it("asks for one result by its id, or for a list, at the pace of thirty a minute", () => {
    const sent = icypeas.send("result", { id: "a b" });
    expect(sent).toMatchObject({ url: "https://app.icypeas.com/api/bulk-single-searchs/read", body: { id: "a b" } });
    expect(icypeas.actions.result?.rate).toEqual({ requests: 30, perMs: 60_000 });
    expect(icypeas.send("result", { mode: "single", limit: 5 }).body).toEqual({ mode: "single", limit: 100 });
    expect(icypeas.refuses("result", {})).toEqual(["id"]);
    expect(icypeas.refuses("result", { id: "a", mode: "single" })).toEqual(["id"]);
    expect(icypeas.refuses("result", { mode: "bulk" })).toContain("mode");
    expect(icypeas.refuses("email-search", { domainOrCompany: "a" })).toEqual(["lastname"]);
    expect(icypeas.refuses("email-search", { lastname: "L", domainOrCompany: "a", custom: {} })).toEqual(["custom"]);
  });

  it.each([
    ["NONE", "success"],
    ["SCHEDULED", "success"],
    ["IN_PROGRESS", "success"],
    ["FOUND", "success"],
    ["DEBITED", "success"],
    ["NOT_FOUND", "miss"],
    ["DEBITED_NOT_FOUND", "miss"],
    ["BAD_INPUT", "caller_invalid"],
    ["INSUFFICIENT_FUNDS", "provider_billing"],
    ["ABORTED", "provider_server_error"],
  ])("a result that is %s is %s", (status, verdict) => {
    expect(icypeas.means("result", { body: { success: true, items: [{ status }] } }).verdict).toBe(verdict);
  });

  it.each([
    [200, { success: false, validationErrors: [{ field: "email", type: "required" }] }, "caller_invalid"],
    [200, { success: false, error: "UnpaidSubscriptionError" }, "provider_billing"],
    [200, { success: false }, "provider_server_error"],
    [401, "Unauthorized access.", "provider_auth_failed"],
    [429, "You have exceeded the max number of requests per minute.", "provider_rate_limited"],
  ])("%d %j is %s", (status, body, verdict) =>
    expect(icypeas.means("email-search", { status, body }).verdict).toBe(verdict),
  );
});

describe("Nyne", () => {
  it.each([
    ["person-enrichment", { email: ada }, "/person/enrichment", { email: ada, lite_enrich: false }, 55],
    [
      "person-enrichment",
      { name: "Ada", company: "Example", lite: true },
      "/person/enrichment",
      { name: "Ada", company: "Example", lite_enrich: true },
      30,
    ],
    [
      "interactions",
      { type: "replies", tweet_id: "1234567890123" },
      "/person/interactions",
      { type: "replies", tweet_id: "1234567890123", max_results: 100 },
      30,
    ],
    ["funders", { company_domain: "a.vc" }, "/company/funders", { company_domain: "a.vc" }, 30],
  ])("%s launches %j", (name, params, path, body, cents) => {
    const sent = nyne.send(name, params);
    expect(sent).toMatchObject({ method: "POST", url: `https://api.nyne.ai${path}`, body });
    expect(sent.headers).toMatchObject({ "x-api-key": "key-of-ours-1", "x-api-secret": "key-of-ours-2" });
    expect(nyne.quote(name, params)).toBe(cents);
    expect(nyne.upstreamCents(name, params)).toBeLessThan(cents);
  });

  it.each([
    ["person-enrichment", {}, "email"],
    ["person-enrichment", { email: ada, phone: "+4420794600" }, "email"],
    ["person-enrichment", { name: "Ada" }, "company"],
    ["person-enrichment", { email: ada, company: "Example" }, "company"],
    ["person-enrichment", { email: ada, newsfeed: ["all"] }, "newsfeed"],
    ["person-enrichment", { email: ada, callback_url: "https://a.example" }, "callback_url"],
    ["interactions", { type: "replies" }, "social_media_url"],
    ["interactions", { type: "likes", username: "a" }, "type"],
    ["interactions", { type: "followers", username: "a", max_results: 1_001 }, "max_results"],
    ["funders", {}, "company_name"],
  ])("%s refuses %j, naming %s", (name, params, field) => expect(nyne.refuses(name, params)).toEqual([field]));
});
