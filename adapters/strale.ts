// Strale: checks companies, people, accounts and numbers against registers and lists, through a table of capabilities. Names, params and
// prices of the checks come from its public manifests of 2026-08-22, in euro cents at 1.08. Unsure: the envelope of an answer and the error
// codes, which were not checked against the live service.
import { action, bearer, defineAdapter, endpointParams } from "#adapter";

export default defineAdapter({
  name: "Strale",
  docs: "https://strale.dev/docs",
  beliefs: { "*": "what surrounds an answer, and the codes of its refusals" },
  origin: "https://api.strale.io",
  auth: bearer,
  rules: [
    // The prices or capabilities in our table are outdated.
    { status: 402, at: "/error_code", is: "budget_exceeded", means: "provider_server_error" },
    { status: 404, at: "/error_code", is: "no_matching_capability", means: "provider_server_error" },
    { status: 429, at: "/error_code", is: "spend_cap_exceeded", means: "provider_billing" },
    { status: 503, at: "/error_code", is: "timeout_exceeded", means: "provider_timeout" },
  ],
  actions: {
    check: action({
      asked:
        "is a company real; sanctions; blacklist; politically exposed; vat number; iban; bank account number; kyc, kyb, aml; company register; is the supplier trustworthy; insolvency, bankrupt; beneficial owner; directors of a company; tax id; check a business partner; fraud; due diligence; swift bic; lei; eori; domain reputation; handelsregister, companies house; ssl certificate; credit; scam",
      description:
        "Checks for compliance: companies in national registers, sanctions lists, politically exposed persons, insolvency, VAT, IBAN and tax numbers, addresses, domains and more.",
      category: "compliance",
      keywords:
        "KYC; KYB; AML; sanctions; PEP; company registry; beneficial owner; VAT number; IBAN; due diligence; know your customer; is a company real; background check of a company; fraud; money laundering",
      effect: "read",
      params: endpointParams("Name of the check, such as sanctions-check"),
      price: { mode: "ranged", cents: 119, minCents: 3 },
      // The rows state our cost.
      upstreamCents: 0,
      table: { param: "endpoint" },
      request: { method: "POST", path: "", params: (inputs) => ({ inputs }) },
      content: ["/result/output"],
      example: {
        params: { endpoint: "sanctions-check", name: "Acme Trading", entity_type: "company" },
        answer: {
          result: {
            transaction_id: "5a0f2c1e-7b5d-4f6a-9a41-3c2d1e0f9b8a",
            status: "completed",
            capability_used: "sanctions-check",
            price_cents: 20,
            latency_ms: 812,
            output: { query: "Acme Trading", schema: "Company", is_sanctioned: false, match_count: 0, matches: [] },
            provenance: { source: "dilisense" },
          },
          meta: {},
        },
      },
    }),
  },
});
