import { resolve } from "node:path";
import { describe, expect, test } from "vitest";
import {
  ConfigError,
  checkStart,
  describeSettings,
  effectiveSettings,
  readConfig,
  SETTINGS,
} from "../../src/platform/config.ts";

function refusal(env: Record<string, string>): string {
  try {
    readConfig(env);
  } catch (error) {
    if (error instanceof ConfigError) return error.message;
    throw error;
  }
  throw new Error("the settings were accepted");
}

describe("an empty environment", () => {
  test("listens on loopback only, with an account's limits as documented", () => {
    expect(readConfig({})).toMatchObject({
      host: "127.0.0.1",
      port: 8080,
      adminHost: "127.0.0.1",
      adminPort: 8081,
      adminToken: null,
      publicUrl: null,
      dataDir: resolve("data"),
      workers: 1,
      sandbox: true,
      trustProxy: 0,
      logLevel: "info",
      allowLoss: false,
      markupPercent: 0,
      inferenceCapNano: 10_000_000_000,
      requestsPerMinute: 600,
      inFlightMax: 64,
      addressRequestsPerMinute: 120,
      vendorEnv: {},
      firstTokenMsMaxByTier: {},
    });
  });

  test("has the documented clocks", () => {
    const { firstTokenMsMax, lastFirstTokenMsMax, gapMsMax, unaryMsMax, unaryMsPerToken, wholeMsMax } = readConfig({});
    expect([firstTokenMsMax, lastFirstTokenMsMax, gapMsMax, unaryMsMax, unaryMsPerToken, wholeMsMax]).toEqual([
      12_000, 90_000, 30_000, 30_000, 50, 600_000,
    ]);
  });

  test("counts an empty variable as none", () => {
    expect(readConfig({ PORT: "", REDIS_URL: "", OPENAI_API_KEY: "" })).toEqual(readConfig({}));
  });

  test("gives a config that nobody can change", () => {
    expect(Object.isFrozen(readConfig({}))).toBe(true);
    expect(Object.isFrozen(readConfig({}).vendorEnv)).toBe(true);
  });
});

describe("what is set", () => {
  test("is read in the units of its name", () => {
    const config = readConfig({
      PORT: "0",
      PUBLIC_URL: "https://gate.example/",
      INFERENCE_CAP_CENTS: "5",
      CHUNK_GAP_SECONDS: "1.5",
      SANDBOX: "0",
      LLM_MARKUP_PERCENT: "7.5",
    });
    expect(config).toMatchObject({
      port: 0,
      publicUrl: "https://gate.example",
      inferenceCapNano: 50_000_000,
      gapMsMax: 1_500,
      sandbox: false,
      markupPercent: 7.5,
    });
  });

  test("can replace the clock of any tier", () => {
    const config = readConfig({ FIRST_TOKEN_SECONDS_BEST: "60", FIRST_TOKEN_SECONDS_MY_TIER: "0.5" });
    expect(config.firstTokenMsMaxByTier).toEqual({ best: 60_000, "my-tier": 500 });
  });

  test("hands vendors' variables on, and nothing else", () => {
    const env = {
      ACME_API_KEY: "k1,k2",
      OLLAMA_BASE_URL: "http://127.0.0.1:11434/v1",
      CUSTOM_PROMPT_USD_PER_MILLION: "0.1",
      CUSTOM_COMPLETION_USD_PER_MILLION: "0.2",
      PATH: "/bin",
      HOME: "/root",
    };
    const { PATH: _path, HOME: _home, ...vendors } = env;
    expect(readConfig(env).vendorEnv).toEqual(vendors);
  });
});

describe("a setting that does not parse", () => {
  test.each([
    ["PORT", "abc"],
    ["PORT", "70000"],
    ["PORT", "-1"],
    ["ADMIN_PORT", "80.5"],
    ["PUBLIC_URL", "gate.example"],
    ["SANDBOX", "yes"],
    ["SIGNUP", "invited"],
    ["SIGNUPS_PER_ADDRESS_PER_HOUR", "0"],
    ["LOG_LEVEL", "loud"],
    ["TRUST_PROXY", "true"],
    ["LLM_MARKUP_PERCENT", "-5"],
    ["WHOLE_SECONDS", "ten"],
    ["FIRST_TOKEN_SECONDS_CHEAP", "soon"],
    ["INFERENCE_CAP_CENTS", "1e9"],
  ])("%s=%s stops the start with one line that names it", (name, value) => {
    const message = refusal({ [name]: value });
    expect(message).toMatch(new RegExp(`^${name}=.*must be`));
    expect(message).not.toContain("\n");
    expect(message).toContain(value);
  });

  test("is not shown where it is a secret", () => {
    const message = refusal({ ADMIN_TOKEN: "hunter2" });
    expect(message).toMatch(/^ADMIN_TOKEN: must be at least 16/);
    expect(message).not.toContain("hunter2");
  });

  test("an address with a password in it that does not parse is named and not shown", () => {
    const message = refusal({ PUBLIC_URL: "ftp://own:hunter2@tollgate.example" });
    expect(message).toMatch(/^PUBLIC_URL: must be an http or https address/);
    // A valid one would appear in every link that the gateway gives out.
    expect(refusal({ PUBLIC_URL: "https://own:hunter2@tollgate.example" })).toMatch(/^PUBLIC_URL: must have no user/);
  });

  test("a Redis address of no known kind is refused without being shown, for it may have a password in it", () => {
    const message = refusal({ REDIS_URL: "http://:secret@127.0.0.1" });
    expect(message).toMatch(/^REDIS_URL.*must be an address such as redis:/);
    expect(message).not.toContain("secret");
  });

  test("a secret for signing may be followed by those before it, none of them short", () => {
    const both = "a-new-one-of-many-letters,an-old-one-of-many-letters";
    expect(readConfig({ SIGNING_SECRET: both }).signingSecret).toBe(both);
    for (const bad of [
      "short",
      "a-new-one-of-many-letters,",
      ",a-new-one-of-many-letters",
      "a-new-one-of-many-letters,x",
    ])
      expect(refusal({ SIGNING_SECRET: bad })).toMatch(/^SIGNING_SECRET: must be at least 16/);
  });

  test("a gateway over a Redis may leave work to others, or do it for them; over a file there are no others", () => {
    expect(readConfig({}).role).toBe("both");
    expect(refusal({ ROLE: "worker" })).toMatch(/^ROLE="worker": must be both, serve, work or split/);
    const shared = { REDIS_URL: "redis://127.0.0.1:6379", SIGNING_SECRET: "a-secret-of-many-letters" };
    for (const ROLE of ["serve", "work"]) {
      expect(() => checkStart(readConfig({ ROLE }))).toThrow(`ROLE=${ROLE}: needs REDIS_URL`);
      expect(() => checkStart(readConfig({ ROLE, ...shared }))).not.toThrow();
    }
    expect(() => checkStart(readConfig({ ROLE: "split" }))).toThrow("ROLE=split: needs WORKERS above 1");
    expect(() => checkStart(readConfig({ ROLE: "split", WORKERS: "2" }))).not.toThrow();
  });

  test("more than one process may share a file, or a Redis", () => {
    expect(readConfig({ WORKERS: "2" }).workers).toBe(2);
    expect(readConfig({ WORKERS: "2", REDIS_URL: "redis://127.0.0.1:6379" }).workers).toBe(2);
  });
});

describe("the table for people", () => {
  test("has every setting with its default", () => {
    const docs = describeSettings();
    for (const row of Object.values(SETTINGS)) {
      expect(docs).toContainEqual({ name: row.name, default: row.fallback ?? "none", meaning: row.meaning });
    }
    expect(new Set(docs.map(({ name }) => name)).size).toBe(docs.length);
  });

  test("shows what is in force, and no secret", () => {
    const env = {
      PORT: "9000",
      ADMIN_TOKEN: "0123456789abcdef",
      PUBLIC_URL: "https://own:hunter2@tollgate.example",
      SANDBOX_URL: "http://own:hunter3@127.0.0.1:1",
      ACME_API_KEY: "acme-secret",
      ACME_BASE_URL: "http://user:pass@acme.example/v1",
      OTHER_BASE_URL: "http://acme.example/v1",
    };
    const rows = new Map(effectiveSettings(env).map((row) => [row.name, row]));
    expect(rows.get("PORT")).toEqual({ name: "PORT", value: "9000", from: "environment" });
    expect(rows.get("HOST")).toEqual({ name: "HOST", value: "127.0.0.1", from: "default" });
    expect(rows.get("OTHER_BASE_URL")?.value).toBe("http://acme.example/v1");
    const shown = JSON.stringify([...rows.values()]);
    for (const secret of ["0123456789abcdef", "acme-secret", "user:pass", "hunter"])
      expect(shown).not.toContain(secret);
  });
});
