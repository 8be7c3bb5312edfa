// Every finding of the review of November 2026, and the test that failed before it was mended.
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

/**
 * Where a finding is tested: a file, and words from the name of a test in it; of what cannot be mended here, the page that says so.
 * Null: not mended yet.
 */
type Proof = readonly [path: string, name: string] | null;

/** By review and number, with what was found. */
const FINDINGS: Record<string, readonly (readonly [number: string, found: string, proof: Proof])[]> = {
  truth: [
    [
      "C1",
      "a variable that an adapter declares never arrives",
      ["test/catalog/variables.test.ts", "the settings pass on every variable that an adapter declares"],
    ],
    [
      "C2",
      "Perplexity's chat wire has ended",
      [
        "test/chat/providers.test.ts",
        "is held and charged with the fee, holds what it may find, and is told to search once",
      ],
    ],
    [
      "C3",
      "prices are held against a list of two months ago",
      ["test/catalog/reference-prices.test.ts", "is held against lists of the last 45 days: $source"],
    ],
    [
      "C3 prices",
      "four models lose money",
      ["test/catalog/reference-prices.test.ts", "has the prices of the list, and no model that is no more"],
    ],
    [
      "C4",
      "dead models are sold",
      [
        "test/catalog/reference-prices.test.ts",
        "has no model that another list says has ended, and the ends that it says of those that will within ninety days",
      ],
    ],
    [
      "C4 units",
      "models by units have no end",
      [
        "test/chat/ending-models.test.ts",
        "a model in its last month is served, and every answer says when it ends and what comes after it",
      ],
    ],
    [
      "C5",
      "Bedrock's names of Claude have a version too many",
      ["test/catalog/reference-prices.test.ts", "has the prices of the list, and no model that is no more"],
    ],
    ["M1", "words of effort are refused live", ["test/adapters/efforts.test.ts", "at %s of %s is %s"]],
    [
      "M1 Claude",
      "Claude that always thinks is told not to",
      ["test/adapters/efforts.test.ts", "at %s of %s is the least effort, in thoughts that come anyway"],
    ],
    [
      "M2",
      "new models are missing, and tiers are dear and old",
      ["test/catalog/model-ends.test.ts", "say above %s's candidates why the first is first, at its price of that day"],
    ],
    [
      "M2 tiers",
      "tiers name what ends",
      [
        "test/catalog/model-ends.test.ts",
        "hold only what lives for ninety days from the day they were looked at, and no preview",
      ],
    ],
    [
      "M3",
      "a price with hours is another",
      [
        "test/catalog/reference-prices.test.ts",
        "is held against a list that names changes of the weeks before it was taken",
      ],
    ],
    [
      "M4",
      "Exa has renamed its kinds",
      ["test/adapters/exa.test.ts", "says what the vendor has renamed: research papers, and keyword search"],
    ],
    [
      "minor sessions",
      "machines are begun at an older address",
      ["test/vendor-sdks/sessions.test.ts", "$sdk begins a session as we do at $vendor"],
    ],
    [
      "minor video",
      "a model by resolution costs the dearest one's price",
      [
        "test/adapters/fal.test.ts",
        "is within the price of the action, and above what the vendor takes, for every model",
      ],
    ],
    [
      "belief",
      "what is believed is sold as known",
      ["test/catalog/beliefs.test.ts", "is marked in every adapter whose own words say so"],
    ],
  ],
  clients: [
    [
      "F1",
      "an answer without citations says null",
      ["test/clients/anthropic-sdk.test.ts", "answers the AI SDK's major before, with a tool between"],
    ],
    [
      "F2",
      "the runner of tools does not learn that there are no threads",
      ["test/chat/messages-native.test.ts", "threads, in words by which clients go on without them"],
    ],
    [
      "F3",
      "an item that was not stored breaks the second turn",
      [
        "test/chat/responses-kept.test.ts",
        "items of answers are kept where storing is not spoken of, for clients that take it for granted, and never where it is refused",
      ],
    ],
    [
      "F4",
      "a refused field is taken for a verdict on content",
      [
        "test/upstream/classify.test.ts",
        "a refusal of a field is no verdict on content, and another vendor may know the field",
      ],
    ],
    [
      "F4 hints",
      "hints that a vendor refuses are sent",
      [
        "test/chat/conversations-move.test.ts",
        "what the vendor that answered was not sent is named, beside what nobody is sent",
      ],
    ],
    [
      "F5",
      "temperature goes beside thoughts",
      ["test/upstream/wire-for.test.ts", "is left out of what makes the model think: %s"],
    ],
    [
      "F6",
      "no thinking is lost, and billed",
      ["test/adapters/efforts.test.ts", "of DeepSeek is said in its own word, and little thinking stays little"],
    ],
    ["F7", "Mistral's efforts are dropped", ["test/adapters/efforts.test.ts", "at %s of %s is %s"]],
    [
      "F8",
      "a budget of thoughts is refused by a model that has none",
      [
        "test/upstream/dialects/messages-tools-and-reasoning.test.ts",
        "is told in the model's own way where the caller's own is another's",
      ],
    ],
    [
      "F9",
      "a prompt that is too long is told in words that no client reads",
      [
        "test/chat/client-errors.test.ts",
        "a prompt that is too long is told in the words by which other clients know to take a longer model",
      ],
    ],
    [
      "F10",
      "the sandbox calls tools outside of their bounds",
      ["test/sandbox/instance.test.ts", "numbers are within every bound at once"],
    ],
    [
      "F11",
      "lists of models have no pages",
      ["test/chat/messages-side.test.ts", "come in pages, forwards and back, where a client asks for pages"],
    ],
    ["F11 Gemini", "Google's client is told 405", ["test/clients/google-genai.test.ts", "asks, whole and streamed"]],
  ],
  users: [
    [
      "sticky",
      "a prompt without a turn of the assistant never comes back",
      ["test/chat/routing.test.ts", "a conversation goes on where it was served last, and others do not follow it"],
    ],
    [
      "sticky end",
      "a moved conversation never goes back",
      [
        "test/upstream/moved-conversations.test.ts",
        "go back ten minutes after their last call, or where another model serves them, after the move",
      ],
    ],
  ],
  contract: [
    [
      "M1",
      "an answer that is no answer is charged",
      ["test/regression/answers-without-content.test.ts", "an answer without the content that it sells is no answer"],
    ],
    [
      "M2",
      "failed /api/run answers lack charged_cents and balance_remaining_cents",
      ["test/run/refusals.test.ts", "a failed call says that nothing was charged, and what is left"],
    ],
    [
      "M3",
      "a published schema refuses what is accepted",
      [
        "test/run/published-schemas.test.ts",
        "for calls made from the schema of every action, and from what it forbids",
      ],
    ],
    [
      "M4",
      "max_cost_cents in a chat body is ignored and forwarded",
      ["test/chat/allow-list.test.ts", "max_cost_cents"],
    ],
    [
      "M5",
      "bad_url is told by one action alone",
      ["test/run/bad-url.test.ts", "is bad_url in every param of every action that is named as one"],
    ],
    [
      "minor 1",
      "brave/news refuses result_filter",
      ["test/adapters/brave.test.ts", "takes the filter that search takes"],
    ],
    [
      "minor 2",
      "ranges open at one end are refused",
      ["test/adapters/sec-edgar.test.ts", "a range that is open at an end is filled there"],
    ],
    [
      "minor 3",
      "ranged prices show only their maximum in lists",
      ["test/run/find-endpoints.test.ts", "shows of a price that varies the least and the most"],
    ],
    [
      "minor 4",
      "a vendor's 409 that asks for serial calls is told as a bad request",
      ["test/run/vendor-limits.test.ts", "a vendor that wants calls one after another"],
    ],
    [
      "minor 5",
      "openapi lacks chat's error object and some codes and statuses",
      ["test/web/openapi.test.ts", "an error is what the document says that it is"],
    ],
    [
      "minor 6",
      "either-or params are not published",
      ["test/run/published-schemas.test.ts", "publishes an either-or as anyOf"],
    ],
    [
      "minor 7",
      "an empty Idempotency-Key counts as none",
      ["test/regression/edge-minors.test.ts", "an empty Idempotency-Key"],
    ],
    [
      "minor 8",
      "max_cost_exceeded does not say how many cents would do",
      ["test/run/refusals.test.ts", "needed_cents is enough"],
    ],
    [
      "minor 9",
      "405, 413, 415 and public GETs with a good key count in the address window",
      ["test/regression/edge-minors.test.ts", "counts against the account of a good key"],
    ],
    [
      "minor 10",
      "signup says neither why no credit was given nor which window was hit",
      ["test/accounts/signup.test.ts", "says which window is full, and why an account begins without credit"],
    ],
    [
      "minor 11",
      "refusals of the HTTP parser are HTML without a request id",
      ["docs/request-path.md", "answered by it alone, as a line of HTML without a request id"],
    ],
    [
      "minor 12",
      "2CAPTCHA_BASE_URL is no shell name",
      ["test/catalog/compile.test.ts", "a digit that a name would begin with is spelled out"],
    ],
    ["minor 13", "GET /models lists no tiers", ["test/chat/available.test.ts", "are listed as models, cheapest first"]],
    ["minor 14", "hints point to the wrong place", ["test/errors.test.ts", "is about the thing that was not found"]],
    [
      "minor 15",
      "401 lacks WWW-Authenticate; missing params read as zod's words",
      ["test/regression/edge-minors.test.ts", "a 401 says how to authenticate"],
    ],
    [
      "minor 16",
      "not_configured for want of CONTACT does not say so",
      ["test/run/vendor-limits.test.ts", "an action that waits for CONTACT says so"],
    ],
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
    [
      "3",
      "one address locks other tenants out",
      ["test/regression/one-address-locks-nobody-out.test.ts", "over Redis with two processes"],
    ],
    [
      "4",
      "memory by bodies with a key without credit",
      ["test/regression/bodies-fill-no-memory.test.ts", "a key without credit is told 402 before its body has come"],
    ],
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
    [
      "7",
      "HEAD and OPTIONS without reading grow memory",
      ["test/regression/framing.test.ts", "and never reads is left"],
    ],
    [
      "8",
      "refused and cheap calls keep bytes for a day",
      [
        "test/regression/kept-bytes.test.ts",
        "by the oldest answers: theirs is not given again, and they are neither run nor charged again",
      ],
    ],
    [
      "9",
      "keys without bound, lists without pages",
      ["test/regression/many-keys.test.ts", "are served, changed and revoked, and no further ones are made"],
    ],
    [
      "10",
      "chat passes the vendor's text unmasked",
      ["test/regression/echoed-keys.test.ts", "the key that a vendor repeats is not told"],
    ],
    [
      "11 signups",
      "signups are counted per process",
      ["test/accounts/signup.test.ts", "counts an address over processes and restarts"],
    ],
    [
      "11 public url",
      "config prints a password in PUBLIC_URL",
      ["test/config.test.ts", "shows what is in force, and no secret"],
    ],
    ["11 nosniff", "JSON without nosniff", ["test/regression/framing.test.ts", "no browser is left to guess"]],
    [
      "11 signature",
      "a signature with junk behind it opens its link",
      ["test/files/downloads.test.ts", "a signature of other letters for the same bytes opens nothing"],
    ],
    [
      "11 host",
      "a duplicate Host on the admin listener",
      ["test/regression/framing.test.ts", "refused as JSON, and the connection closed"],
    ],
    [
      "parser length",
      "two Content-Length lines are accepted",
      ["test/regression/framing.test.ts", "refused as JSON, and the connection closed"],
    ],
    [
      "parser coding",
      "odd Transfer-Encoding does not close",
      ["test/regression/framing.test.ts", "a Transfer-Encoding of %j"],
    ],
    [
      "parser pipeline",
      "a paid call behind a pending answer is charged and never answered",
      ["test/regression/framing.test.ts", "does not begin where another request comes right behind it"],
    ],
  ],
  friendliness: [
    ["1", "tiers are invisible to clients", ["test/chat/available.test.ts", "are listed as models, cheapest first"]],
    [
      "2",
      "a sandbox key is told that nothing is available",
      ["test/chat/available.test.ts", "is told that every model, tier and action can be had"],
    ],
    [
      "3 start",
      "the first live start is blind",
      ["test/gateway/start-words.test.ts", "who serves models, how much of each tier and how many actions are on"],
    ],
    [
      "3 names",
      "a mistyped variable is silent",
      ["test/gateway/start-words.test.ts", "which variable was set in vain"],
    ],
    [
      "3 ask",
      "prices and config read the shell, not the gateway",
      ["test/cli/check.test.ts", "prices and config are the gateway's"],
    ],
    [
      "4",
      "a nearly full disk is not said",
      ["test/gateway/full-disk.test.ts", "is told at the start, at /readyz and by account create"],
    ],
    [
      "5",
      "the operator cannot see transactions or usage",
      ["test/accounts/usage-endpoints.test.ts", "the operator finds transactions by filter"],
    ],
    ["6", "model names: nearest and bare", ["test/chat/model-names.test.ts", "gets the nearest ones, tiers too"]],
    ["7", "a wrong base URL", ["test/chat/model-names.test.ts", "works below /v1 as below /api/llm/v1"]],
    [
      "8",
      "OpenRouter's usage and provider fields",
      ["test/chat/preferences.test.ts", "brings usage at the end of a stream"],
    ],
    ["9", "commands in the docs do not run as written", ["test/commands/page.ts", "run as they stand"]],
    [
      "10",
      "board and alerts",
      ["test/deploy/watched.test.ts", "every alarm says what it is and where to read what to do"],
    ],
    ["minor admin hint", "admin's 401 says to send a caller's key", ["test/errors.test.ts", "names the admin token"]],
    [
      "minor free hint",
      "the hint for a model with :free",
      ["test/chat/model-names.test.ts", "that asks for a free model gets the one that has a price"],
    ],
    [
      "minor zod",
      "zod's words on /api/run",
      ["test/field-issues.test.ts", "a field that is wrong is told in words that say what would be right"],
    ],
    [
      "minor models flag",
      "key create accepts a model that does not exist",
      ["test/cli/gateway-commands.test.ts", "a key's lists take only what is sold"],
    ],
    ["minor help", "account --help and key --help exit 2", ["test/cli/settings.test.ts", "a group of commands"]],
    ["minor version", "no --version", ["test/cli/settings.test.ts", "the version"]],
    ["minor tables", "tables wrap at 80 columns", ["test/cli/text.test.ts", "tells below its row what has no room"]],
    [
      "minor otel",
      "OTel's provider names",
      ["test/observe/conventions.test.ts", "name providers as the conventions do"],
    ],
    [
      "minor operations",
      "catalog calls counted as gen_ai operations",
      ["test/observe/conventions.test.ts", "count calls of actions as actions"],
    ],
    [
      "minor known models",
      "models asked through models: [...] become _other",
      ["test/observe/conventions.test.ts", "count a list of models under the first that is known"],
    ],
    [
      "minor traceparent",
      "traceparent is neither echoed nor logged",
      ["test/observe/conventions.test.ts", "goes on in the answer and in the log"],
    ],
    [
      "minor logs",
      "JSON logs with epoch milliseconds in a terminal, probes at info",
      ["test/observe/log.test.ts", "is words for people"],
    ],
    [
      "minor sandbox words",
      "the sandbox answers a salad of words",
      ["test/sandbox/sensible.test.ts", "is a sentence that says what it is, and is whole"],
    ],
    [
      "minor json_object",
      "json_object on Claude in the sandbox gives prose",
      ["test/sandbox/sensible.test.ts", "is a JSON object where any will do"],
    ],
    [
      "minor dearest",
      "a tier holds its dearest candidate's price",
      ["test/chat/within-means.test.ts", "is served by those that fit"],
    ],
    ["minor node 20", "Node 20 fails raw", ["test/node-version.test.ts", "is turned away in one line"]],
    [
      "minor data dir",
      "DATA_DIR errors do not name it",
      ["test/gateway/full-disk.test.ts", "a DATA_DIR that cannot be used"],
    ],
    [
      "minor install",
      "the production install is 213 MB",
      ["test/deploy/install.test.ts", "the production install is less than half"],
    ],
    [
      "minor readme",
      "the README has a table of 82 rows",
      ["test/docs.test.ts", "which is short and has no long table"],
    ],
    ["minor changelog", "no CHANGELOG", ["test/docs.test.ts", "begins with what is not released yet"]],
    [
      "catalog name",
      "/catalog has no product name and no way to a key",
      ["test/web/catalog-page.test.ts", "says whose it is, and how one comes by a key"],
    ],
    [
      "catalog variable",
      "two names for the key's variable",
      ["test/docs.test.ts", "read the caller's key from one variable"],
    ],
    [
      "catalog counts",
      "section counts stay while filtered",
      ["test/web/catalog-page.test.ts", "counts what a filter leaves, section by section"],
    ],
    [
      "catalog search",
      "search is a word filter",
      ["test/web/catalog-page.test.ts", "finds what core/discover finds, in its order"],
    ],
    [
      "catalog models",
      "model rows do not open and lack cached and stepped prices",
      ["test/web/catalog-page.test.ts", "a model opens to its prices, cached and stepped ones too"],
    ],
    [
      "catalog tiers",
      "tiers are out of order and without status",
      ["test/web/catalog-page.test.ts", "tiers stand from the best to the cheap"],
    ],
    [
      "catalog money",
      "money is not aligned at the point",
      ["test/web/catalog-page.test.ts", "the points of all prices in a column stand below each other"],
    ],
    [
      "catalog bytes",
      "294 KB at first paint",
      ["test/web/catalog-page.test.ts", "is less than 60 KB on the wire at first paint, also with a thousand actions"],
    ],
  ],
};

/** A test's name is where a text is called with it; a table of cases may stand between. */
function isNamedIn(text: string, name: string): boolean {
  const calls = text.matchAll(
    /\b(?:it|test|describe)(\.[a-zA-Z.]+)?(?:<[^(]*>)?(?:\(\[.*?\](?: as const)?\)|\([^"`]*\))?\(\s*(["`])(.*?)\2/gs,
  );
  return [...calls].some(([, kind = "", , words = ""]) => !/skip|todo/.test(kind) && words.includes(name));
}

for (const [review, findings] of Object.entries(FINDINGS)) {
  for (const [number, found, proof] of findings) {
    test.skipIf(proof === null)(`${review} ${number}: ${found}`, () => {
      if (proof === null) return;
      const [path, name] = proof;
      const text = readFileSync(path, "utf8");
      const isThere = path.endsWith(".md") ? text.replaceAll("\n", " ").includes(name) : isNamedIn(text, name);
      expect(isThere, `${path} has no running test named "${name}"`).toBe(true);
    });
  }
}
