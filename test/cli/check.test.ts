import { afterEach, describe, expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { forFile } from "../support/for-file.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { startVendor, type VendorAnswer } from "../support/vendor-server.ts";

const GOOD: VendorAnswer = {
  body: {
    id: "c1",
    object: "chat.completion",
    created: 1,
    model: "m",
    choices: [{ index: 0, message: { role: "assistant", content: "ok" }, finish_reason: "stop" }],
    usage: { prompt_tokens: 5, completion_tokens: 1, total_tokens: 6 },
  },
};
const refuses = (status: number, error: Record<string, unknown>): VendorAnswer => ({ status, body: { error } });

let gateway: TestGateway | null = null;
const vendor = forFile(await startVendor());
afterEach(async () => {
  await gateway?.stop();
  gateway = null;
});

async function tollgate(environment: Record<string, string>, ...words: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(words, { environment, out: (line) => out.push(line), err: (line) => err.push(line) });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

/** Starts a gateway with these variables; returns the variables for a shell that has none of them. */
async function shellOf(environment: Record<string, string>): Promise<Record<string, string>> {
  gateway = await startTestGateway(environment);
  return { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
}

const keys = (key: string) => ({ OPENAI_API_KEY: key, OPENAI_BASE_URL: `${vendor.url}/v1` });

describe("tollgate check", () => {
  test.each<[string, VendorAnswer, number]>([
    ["fine", GOOD, 0],
    ["key bad", refuses(401, { message: "Incorrect API key provided: sk-12345678", code: "invalid_api_key" }), 1],
    ["empty", refuses(429, { message: "You exceeded your current quota", code: "insufficient_quota" }), 1],
    ["model missing", refuses(404, { message: "The model does not exist", code: "model_not_found" }), 1],
    ["rate limited", refuses(429, { message: "Rate limit reached", code: "rate_limit_exceeded" }), 1],
    ["failing", refuses(500, { message: "oops" }), 1],
    ["refused", refuses(400, { message: "max_tokens is too small" }), 1],
  ])("says %s", async (verdict, answer, exit) => {
    vendor.answers(answer);
    const shell = await shellOf(keys("sk-12345678"));
    const { code, out, err } = await tollgate(shell, "check", "--provider", "openai");
    expect(code).toBe(exit);
    expect(out).toMatch(new RegExp(`^openai +${verdict} `, "m"));
    expect(err).toBe(`openai: ${verdict}`);
    expect(out + err).not.toContain("sk-12345678");
    expect(vendor.asked).toHaveLength(1);
    expect(vendor.asked[0]?.body).toMatchObject({ max_completion_tokens: 16 });
    // The cheapest model without a known end, and one question, which is charged to no account.
    expect(JSON.stringify(vendor.asked[0]?.body)).toContain("gpt-6-luna");
    const { json } = (await gateway?.admin("GET", "/admin/v1/accounts")) ?? {};
    expect(json).toEqual({ accounts: [], next_cursor: null });
  });

  test("says which of several keys is bad, and is read by programs", async () => {
    vendor.answers((response, { headers }) => {
      const bad = headers.authorization === "Bearer sk-bad-bad-bad";
      response.writeHead(bad ? 401 : 200, { "content-type": "application/json" });
      response.end(JSON.stringify(bad ? { error: { message: "no" } } : (GOOD as { body: unknown }).body));
    });
    const shell = await shellOf(keys("sk-good-good,sk-bad-bad-bad"));
    const { code, out } = await tollgate(shell, "check", "--provider", "openai", "--json");
    expect(code).toBe(1);
    expect(JSON.parse(out)).toMatchObject({
      ok: false,
      from: "gateway",
      checks: [
        { provider: "openai", key: "OPENAI_API_KEY (1 of 2)", verdict: "fine", answered: true },
        { provider: "openai", key: "OPENAI_API_KEY (2 of 2)", verdict: "key bad", answered: false, status: 401 },
      ],
    });
  });

  test("says that nobody answers where nobody listens, and where that is", async () => {
    const shell = await shellOf({ OPENAI_API_KEY: "sk-12345678", OPENAI_BASE_URL: "http://me:hidden@127.0.0.1:1/v1" });
    const { code, out } = await tollgate(shell, "check", "--provider", "openai");
    expect([code, out]).toEqual([1, expect.stringMatching(/^openai +unreachable /m)]);
    expect(out).toContain("(at http://127.0.0.1:1/v1)");
    expect(out).not.toContain("hidden");
  });

  test("of a server whose model is not named lists what it serves", async () => {
    vendor.answers({ body: { object: "list", data: [{ id: "tiny" }, { id: "huge" }] } });
    const shell = await shellOf({ CUSTOM_BASE_URL: `${vendor.url}/v1` });
    const { code, out } = await tollgate(shell, "check", "--provider", "custom");
    expect(out).toContain("custom: serves custom/tiny, custom/huge");
    expect([code, vendor.asked[0]?.url]).toEqual([0, "/v1/models"]);
  });

  test("asks an action's vendor for the cheapest that has no effect, and does not ask what is dear", async () => {
    vendor.answers({ body: { web: { results: [] }, query: { original: "tides brest" } } });
    const shell = await shellOf({
      BRAVE_API_KEY: "brave-12345",
      BRAVE_BASE_URL: `${vendor.url}/res/v1`,
      FAL_KEY: "fal-12345678",
      FAL_BASE_URL: vendor.url,
    });
    const brave = await tollgate(shell, "check", "--provider", "brave");
    expect([brave.code, brave.out]).toEqual([0, expect.stringMatching(/^brave +fine +\d+ +brave\/(search|news)$/m)]);
    const asked = vendor.asked.length;
    const fal = await tollgate(shell, "check", "--provider", "fal");
    expect([fal.code, fal.out]).toEqual([0, expect.stringMatching(/^fal +not asked/m)]);
    expect(vendor.asked).toHaveLength(asked);
  });

  test("a provider that is not on is not asked, and the near one is named", async () => {
    const shell = await shellOf(keys("sk-12345678"));
    const { code, err } = await tollgate(shell, "check", "--provider", "openia");
    expect([code, err]).toEqual([1, expect.stringContaining("Nearest: openai")]);
  });

  test("without a gateway asks from the shell, and says so", async () => {
    vendor.answers(GOOD);
    const environment = { ...keys("sk-12345678"), ADMIN_PORT: "1", ADMIN_TOKEN: "0123456789abcdef" };
    const { code, out } = await tollgate(environment, "check", "--provider", "openai");
    expect(code).toBe(0);
    expect(out).toMatch(
      /^No gateway answers at http:\/\/127\.0\.0\.1:1: this is read from the variables of this shell\.$/m,
    );
    expect(out).toMatch(/^openai +fine /m);
    expect(await tollgate(environment, "check", "--provider", "openia")).toMatchObject({
      code: 1,
      err: expect.stringContaining("No provider that is on is called openia."),
    });
  });
});

describe("a key that a vendor refuses", () => {
  test("is told to the operator as a bad key in the log, and to the caller as nobody who can serve", async () => {
    vendor.answers(refuses(401, { message: "Incorrect API key provided: sk-12345678" }));
    await shellOf(keys("sk-12345678"));
    if (gateway === null) throw new Error("no gateway");
    const { key } = await gateway.account({ kind: "personal" });
    const ask = () =>
      postAs(key, `${gateway?.url}/api/llm/v1/chat/completions`, {
        model: "openai/gpt-5.4-mini",
        messages: [{ role: "user", content: "hi" }],
      });
    const answer = await ask();
    expect(answer.status).toBe(503);
    const text = await answer.text();
    expect(text).toContain("upstream_not_configured");
    expect(text).not.toMatch(/OPENAI_API_KEY|sk-12345678/);
    const again = await ask();
    await again.text();
    await gateway.record(again.headers.get("x-request-id"));
    const warnings = gateway.lines().filter((line) => line.includes("key bad"));
    expect(warnings).toHaveLength(1);
    expect(warnings[0]).toContain("OPENAI_API_KEY");
    expect(warnings[0]).not.toContain("sk-12345678");
  });
});

describe("what a running gateway is asked", () => {
  test("prices and config are the gateway's, whatever the shell has", async () => {
    const shell = await shellOf({ ...keys("sk-12345678"), LLM_MARKUP_PERCENT: "10" });
    const shown = { ...shell, GROQ_API_KEY: "k" };
    const prices = JSON.parse((await tollgate(shown, "prices", "--json")).out);
    expect(prices.from).toBe("gateway");
    const providers = new Set(prices.models.flatMap((row: { providers: string[] }) => row.providers));
    expect([...providers]).toEqual(["openai"]);
    const config = JSON.parse((await tollgate(shown, "config", "--json")).out);
    expect(config.from).toBe("gateway");
    expect(config.settings).toContainEqual({ name: "LLM_MARKUP_PERCENT", value: "10", from: "environment" });
    expect(config.settings).toContainEqual({ name: "OPENAI_API_KEY", value: "(set)", from: "environment" });
    expect(JSON.stringify(config)).not.toContain("GROQ");
  });

  test("where none runs the shell's are shown, and it is said", async () => {
    const environment = { ADMIN_PORT: "1", ADMIN_TOKEN: "0123456789abcdef", OPENAI_API_KEY: "k" };
    for (const command of ["prices", "config"]) {
      const { code, out } = await tollgate(environment, command);
      expect([code, out.split("\n")[0]]).toEqual([
        0,
        "No gateway answers at http://127.0.0.1:1: this is read from the variables of this shell.",
      ]);
    }
  });

  test("one that refuses is not replaced by what the shell has", async () => {
    const shell = await shellOf({});
    const { code, out } = await tollgate({ ...shell, ADMIN_TOKEN: "0123456789abcdef" }, "prices");
    expect([code, out]).toEqual([1, ""]);
  });
});
