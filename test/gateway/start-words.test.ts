import { afterEach, describe, expect, test } from "vitest";
import { configuredWords } from "../../src/gateway/start-words.ts";
import { startTestGateway, type TestGateway } from "../support/gateway.ts";

let gateway: TestGateway | null = null;
afterEach(async () => {
  await gateway?.stop();
  gateway = null;
});

async function told(environment: Record<string, string>): Promise<string> {
  gateway = await startTestGateway(environment);
  return (await gateway.startWords()).join("\n");
}

describe("at the start the operator is told", () => {
  test("how much is configured, in a few lines of 80 columns", async () => {
    const words = await told({ OPENAI_API_KEY: "k", EXA_API_KEY: "k" });
    expect(words).toMatch(/^Configured: 1 of \d+ providers of models, \d+ of \d+ actions\.$/m);
    expect(words).toContain("npm run -s tollgate -- config");
    const lines = words.split("\n");
    expect(lines.length).toBeLessThanOrEqual(5);
    for (const line of lines) expect(line.length, line).toBeLessThanOrEqual(80);
  });

  test("which variable was set in vain", async () => {
    const words = await told({ OPENAI_APIKEY: "sk-not-shown" });
    expect(words).toContain("Warning: OPENAI_APIKEY is set but not used. Did you mean OPENAI_API_KEY?");
    expect(words).not.toContain("sk-not-shown");
  });

  test("which variable is no longer read, and what replaces it", async () => {
    expect(await told({ MODELS_UPDATE: "daily" })).toContain(
      "Warning: MODELS_UPDATE is no longer read. Run `tollgate models update` from a timer.",
    );
  });

  test("what to do where nobody serves models", async () => {
    const words = (await told({})).replaceAll("\n", " ");
    expect(words).toContain("Configured: 0 of ");
    expect(words).toContain("No provider of models is on.");
    expect(words).toContain("CUSTOM_BASE_URL");
  });

  test("what comes next where somebody does", async () => {
    const words = await told({ CUSTOM_BASE_URL: "http://127.0.0.1:9/v1", CUSTOM_MODEL: "tiny" });
    expect(words).toContain("Configured: 1 of ");
    expect(words).toContain("npm run -s tollgate -- check");
    expect(words).toContain("npm run -s tollgate -- account create --name me");
  });
});

test("what is configured: who serves models, how much of each tier, and the variables of the rest", async () => {
  gateway = await startTestGateway({ OPENAI_API_KEY: "k", EXA_API_KEY: "k" });
  const { json } = await gateway.admin("GET", "/admin/v1/providers");
  const words = configuredWords(json as unknown as Parameters<typeof configuredWords>[0]).join("\n");
  expect(words).toMatch(/^Models by: openai$/m);
  expect(words).toMatch(/^Tiers: cheap 1 of \d+, mid \d+ of \d+, best \d+ of \d+$/m);
  expect(words).toMatch(/^Actions: \d+ of \d+, by:[^.]*\bexa\b/m);
  const off = words.slice(words.indexOf("Off, models"));
  expect(off).toMatch(/\bANTHROPIC_API_KEY\b/);
  expect(off).toMatch(/\bOXYLABS_USERNAME \+ OXYLABS_PASSWORD\b/);
  expect(off).toMatch(/\bCONTACT\b/);
  expect(off).not.toMatch(/\b(OPENAI|EXA)_API_KEY\b/);
  for (const line of words.split("\n")) expect(line.length, line).toBeLessThanOrEqual(80);
});
