// Every finding of the review of November 2026, and the test that failed before it was mended.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/** Where a finding is tested: a file, and words from the name of a test in it. Null: not mended yet. */
type Proof = readonly [path: string, name: string] | null;

/** By review and number, with what was found. */
const FINDINGS: Record<string, readonly (readonly [number: string, found: string, proof: Proof])[]> = {
  contract: [
    [
      "M1",
      "an answer that is no answer is charged",
      ["test/regression/answers-without-content.test.ts", "an answer without the content that it sells is no answer"],
    ],
    ["M2", "failed /api/run answers lack charged_cents and balance_remaining_cents", null],
    ["M3", "a published schema refuses what is accepted", null],
    [
      "M4",
      "max_cost_cents in a chat body is ignored and forwarded",
      ["test/chat/allow-list.test.ts", "max_cost_cents"],
    ],
    ["M5", "bad_url is told by one action alone", null],
    ["minor 1", "brave/news refuses result_filter", null],
    ["minor 2", "ranges open at one end are refused", null],
    ["minor 3", "ranged prices show only their maximum in lists", null],
    ["minor 4", "a vendor's 409 that asks for serial calls is told as a bad request", null],
    ["minor 5", "openapi lacks chat's error object and some codes and statuses", null],
    ["minor 6", "either-or params are not published", null],
    ["minor 7", "an empty Idempotency-Key counts as none", null],
    ["minor 8", "max_cost_exceeded does not say how many cents would do", null],
    ["minor 9", "405, 413, 415 and public GETs with a good key count in the address window", null],
    ["minor 10", "signup says neither why no credit was given nor which window was hit", null],
    ["minor 11", "refusals of the HTTP parser are HTML without a request id", null],
    ["minor 12", "2CAPTCHA_BASE_URL is no shell name", null],
    ["minor 13", "GET /models lists no tiers", null],
    ["minor 14", "hints point to the wrong place", null],
    ["minor 15", "401 lacks WWW-Authenticate; missing params read as zod's words", null],
    ["minor 16", "not_configured for want of CONTACT does not say so", null],
  ],
  security: [
    [
      "1",
      "prompts that nobody pays for",
      ["test/regression/prompts-nobody-pays-for.test.ts", "a long text is counted"],
    ],
    [
      "2",
      "work for nothing by leaving",
      ["test/kernel/leaving-costs.test.ts", "pays for the prompt once a vendor has accepted it"],
    ],
    ["3", "one address locks other tenants out", null],
    ["4", "memory by bodies with a key without credit", null],
    [
      "5",
      "one stream of a hostile upstream fills memory",
      ["test/regression/endless-streams.test.ts", "what is held back is bounded"],
    ],
    [
      "6",
      "a slow reader gets a long answer free",
      [
        "test/kernel/leaving-costs.test.ts",
        "after its client has held it back for longer than five seconds is charged as far as it was delivered",
      ],
    ],
    ["7", "HEAD and OPTIONS without reading grow memory", null],
    ["8", "refused and cheap calls keep bytes for a day", null],
    ["9", "keys without bound, lists without pages", null],
    ["10", "chat passes the vendor's text unmasked", null],
    ["11 signups", "signups are counted per process", null],
    ["11 public url", "config prints a password in PUBLIC_URL", null],
    ["11 nosniff", "JSON without nosniff", null],
    ["11 signature", "a signature with junk behind it opens its link", null],
    ["11 host", "a duplicate Host on the admin listener", null],
    ["parser length", "two Content-Length lines are accepted", null],
    ["parser coding", "odd Transfer-Encoding does not close", null],
    ["parser pipeline", "a paid call behind a pending answer is charged and never answered", null],
  ],
  friendliness: [
    ["1", "tiers are invisible to clients", null],
    ["2", "a sandbox key is told that nothing is available", null],
    ["3 start", "the first live start is blind", null],
    ["3 names", "a mistyped variable is silent", null],
    ["3 ask", "prices and config read the shell, not the gateway", null],
    ["4", "a nearly full disk is not said", null],
    [
      "5",
      "the operator cannot see transactions or usage",
      ["test/accounts/usage-endpoints.test.ts", "the operator finds transactions by filter"],
    ],
    ["6", "model names: nearest and bare", null],
    ["7", "a wrong base URL", null],
    ["8", "OpenRouter's usage and provider fields", null],
    ["9", "commands in the docs do not run as written", null],
    ["10", "board and alerts", null],
    ["minor admin hint", "admin's 401 says to send a caller's key", null],
    ["minor free hint", "the hint for a model with :free", null],
    ["minor zod", "zod's words on /api/run", null],
    ["minor models flag", "key create accepts a model that does not exist", null],
    ["minor help", "account --help and key --help exit 2", null],
    ["minor version", "no --version", null],
    ["minor tables", "tables wrap at 80 columns", null],
    ["minor otel", "OTel's provider names", null],
    ["minor operations", "catalog calls counted as gen_ai operations", null],
    ["minor known models", "models asked through models: [...] become _other", null],
    ["minor traceparent", "traceparent is neither echoed nor logged", null],
    ["minor logs", "JSON logs with epoch milliseconds in a terminal, probes at info", null],
    ["minor sandbox words", "the sandbox answers a salad of words", null],
    ["minor json_object", "json_object on Claude in the sandbox gives prose", null],
    ["minor dearest", "a tier holds its dearest candidate's price", null],
    ["minor node 20", "Node 20 fails raw", null],
    ["minor data dir", "DATA_DIR errors do not name it", null],
    ["minor install", "the production install is 213 MB", null],
    ["minor readme", "the README has a table of 82 rows", null],
    ["minor changelog", "no CHANGELOG", null],
    ["catalog name", "/catalog has no product name and no way to a key", null],
    ["catalog variable", "two names for the key's variable", null],
    ["catalog counts", "section counts stay while filtered", null],
    ["catalog search", "search is a word filter", null],
    ["catalog models", "model rows do not open and lack cached and stepped prices", null],
    ["catalog tiers", "tiers are out of order and without status", null],
    ["catalog money", "money is not aligned at the point", null],
    ["catalog bytes", "294 KB at first paint", null],
  ],
};

for (const [review, findings] of Object.entries(FINDINGS)) {
  for (const [number, found, proof] of findings) {
    test.skipIf(proof === null)(`${review} ${number}: ${found}`, () => {
      if (proof === null) return;
      const [path, name] = proof;
      const names = [
        ...readFileSync(path, "utf8").matchAll(/\b(?:it|test|describe)(\.[a-z.]+)?(?:\([^"`]*\))?\(\s*(["`])(.*?)\2/gs),
      ];
      const named = names.filter(([, kind = "", , words = ""]) => !/skip|todo/.test(kind) && words.includes(name));
      expect(named, `${path} has no running test named "${name}"`).not.toEqual([]);
    });
  }
}
