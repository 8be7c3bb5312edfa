import { mkdtempSync, readFileSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { COMMANDS, run } from "../../src/cli/run.ts";
import { removeFolder } from "../support/remove-folder.ts";

/** Runs a command line in this process. */
async function tollgate(words: readonly string[], environment: Record<string, string> = {}, columns?: number) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(words, {
    environment,
    out: (line) => out.push(line),
    err: (line) => err.push(line),
    ...(columns === undefined ? {} : { columns }),
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

describe("help", () => {
  test.each([[[]], [["help"]], [["--help"]]])("%j lists every command", async (words) => {
    const { code, out } = await tollgate(words);
    expect(code).toBe(0);
    for (const name of ["account create", "credit", "key rotate", "freeze", "refund", "prices", "doctor", "backup"]) {
      expect(out).toMatch(new RegExp(`^${name} `, "m"));
    }
  });

  test.each([[["credit", "--help"]], [["help", "credit"]], [["credit", "-h"]]])("%j explains one", async (words) => {
    const { code, out } = await tollgate(words);
    expect(code).toBe(0);
    expect(out).toContain("Usage: tollgate credit ACCOUNT --cents CENTS --reference TEXT");
  });

  test("does not need settings that parse", async () => {
    expect((await tollgate(["help"], { PORT: "abc" })).code).toBe(0);
  });
});

describe("a group of commands", () => {
  test.each([[["account", "--help"]], [["account", "-h"]], [["help", "account"]], [["--help", "account"]]])(
    "%j lists its commands and is no mistake",
    async (words) => {
      const { code, out } = await tollgate(words);
      expect(code).toBe(0);
      expect(out).toMatch(/^account create /m);
      expect(out).not.toMatch(/^key /m);
    },
  );

  test("key --help as well", async () => {
    expect(await tollgate(["key", "--help"])).toMatchObject({ code: 0, out: expect.stringMatching(/^key rotate /m) });
  });
});

describe("the version", () => {
  const { version } = JSON.parse(readFileSync("package.json", "utf8"));

  test.each([[["--version"]], [["-V"]], [["version"]]])("%j says it", async (words) => {
    expect(await tollgate(words, { PORT: "abc" })).toEqual({ code: 0, out: version, err: "" });
  });

  test("is read by programs", async () => {
    expect(JSON.parse((await tollgate(["--version", "--json"])).out)).toEqual({ version });
  });
});

describe("in a terminal of 80 columns", () => {
  const shell = { ADMIN_PORT: "1", ADMIN_TOKEN: "0123456789abcdef", GROQ_API_KEY: "k", TOGETHER_API_KEY: "k" };
  const helps = COMMANDS.map(({ name }) => [...name.split(" "), "--help"]);

  test.each([["help"], ["prices"], ["prices", "--sandbox"], ["config"], ...helps].map((words) => [words]))(
    "%j fits",
    async (words) => {
      const { code, out } = await tollgate(words, shell, 80);
      expect(code).toBe(0);
      const wide = out.split("\n").filter((line) => line.length > 80 && !line.startsWith("No gateway answers"));
      expect(wide).toEqual([]);
    },
  );

  test("what is wrapped is what is told without a terminal", async () => {
    const words = (text: string) => text.split(/\s+/).join(" ");
    for (const asked of [["help"], ["key", "create", "--help"]])
      expect(words((await tollgate(asked, shell, 80)).out)).toBe(words((await tollgate(asked, shell)).out));
  });
});

describe("a line that is not understood ends with 2 and the usage", () => {
  test.each([
    [["acount", "list"], 'no command "acount"'],
    [["account"], "account create, account list"],
    [["account", "create"], "--name is missing"],
    [["account", "create", "--name", ""], "--name is missing"],
    [["account", "create", "--name", "x", "--credit-cents", "1.5"], "--credit-cents takes a whole number"],
    [["account", "create", "--name", "x", "--credit-cents=-5"], "--credit-cents takes a whole number"],
    [["account", "create", "--name", "x", "--sandbox", "--business"], "exclude each other"],
    [["account", "show"], "ACCOUNT is missing"],
    [["account", "show", "one", "two"], '"two" is one word too many'],
    [["account", "list", "--color"], "--color"],
    [["credit", "acct_1", "--cents", "5"], "--reference is missing"],
  ])("%j", async (words, says) => {
    const { code, out, err } = await tollgate(words);
    expect(code).toBe(2);
    expect(err).toContain(says);
    expect(out).toBe("");
  });
});

describe("config", () => {
  test("explains every setting with --help", async () => {
    const { code, out } = await tollgate(["config", "--help"]);
    expect(code).toBe(0);
    expect(out).toMatch(/^PORT +8080 +Port of the public listener/m);
    expect(out).toMatch(/^<VENDOR>_API_KEY +none/m);
  });

  test("shows what is in force, and no secret", async () => {
    const environment = { PORT: "9000", ACME_API_KEY: "acme-secret", ADMIN_TOKEN: "0123456789abcdef" };
    const { code, out } = await tollgate(["config"], environment);
    expect(code).toBe(0);
    expect(out).toMatch(/^PORT +9000 +set$/m);
    expect(out).toMatch(/^ACME_API_KEY +\(set\) +set$/m);
    expect(out).not.toContain("acme-secret");
    expect(out).not.toContain("0123456789abcdef");
    const json = JSON.parse((await tollgate(["config", "--json"], environment)).out);
    expect(json.from).toBe("environment");
    expect(json.settings).toContainEqual({ name: "PORT", value: "9000", from: "environment" });
  });

  test("says in one line what does not parse", async () => {
    const { code, err } = await tollgate(["config"], { PORT: "abc" });
    expect(code).toBe(1);
    expect(err).toBe('tollgate: PORT="abc": must be a whole number from 0 to 65535');
  });

  test("gives the table of docs/reference/settings.md", async () => {
    const { out } = await tollgate(["config", "--markdown"]);
    expect(out.split("\n")[0]).toBe("| Variable | Default | Meaning |");
    expect(out).toContain("| PORT | 8080 | Port of the public listener; 0 takes a free one |");
  });
});

describe("prices", () => {
  test("lists the models with what they cost and who is configured", async () => {
    const rows = JSON.parse((await tollgate(["prices", "--json"], { OPENAI_API_KEY: "k" })).out).models;
    const served = rows.filter((row: { providers: string[] }) => row.providers.length > 0);
    expect(served.length).toBeGreaterThan(0);
    expect(served.every((row: { providers: string[] }) => row.providers.join() === "openai")).toBe(true);
    const available = await tollgate(["prices", "--available", "--json"], { OPENAI_API_KEY: "k" });
    expect(JSON.parse(available.out).models).toEqual(served);
    const all = JSON.parse((await tollgate(["prices", "--json", "--sandbox"])).out).models;
    expect(all.filter((row: { providers: string[] }) => row.providers.length > 0).length).toBeGreaterThan(
      served.length,
    );
  });

  test("begins with the tiers, each at its first choice's price with the most that it can cost", async () => {
    const { out } = await tollgate(["prices", "--json"], { OPENAI_API_KEY: "k" });
    const { tiers, models } = JSON.parse(out);
    expect(tiers.map(({ model }: { model: string }) => model)).toEqual(["core/cheap", "core/mid", "core/best"]);
    const [cheap] = tiers;
    const first = models.find(({ model }: { model: string }) => model === cheap.candidates[0]);
    expect([cheap.prompt_usd_per_million, cheap.context_length]).toEqual([Number(first.input), first.contextTokens]);
    const text = (await tollgate(["prices", "--available"], { OPENAI_API_KEY: "k" })).out;
    expect(text).toMatch(/^core\/cheap +0\.1 +0\.01 +0\.5 .*openai\/gpt-6-luna\n +at most +0\.1 +0\.01 +0\.5/m);
  });

  test("prints a table for people", async () => {
    const { code, out } = await tollgate(["prices"]);
    expect(code).toBe(0);
    expect(out).toContain("USD per million tokens");
  });
});

describe("prices check", () => {
  const listed = (input_mtok: number) => [
    { id: "deepseek", models: [{ match: { equals: "deepseek-v4-pro" }, prices: { input_mtok, output_mtok: 1 } }] },
  ];

  test("says with its exit code and as JSON what differs from a list in a file", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-prices-"));
    const file = join(folder, "prices.json");
    writeFileSync(file, JSON.stringify(listed(9)));
    const found = await tollgate(["prices", "check", "--json", "--file", file, "--day", "2026-11-22"]);
    expect(found.code).toBe(1);
    expect(JSON.parse(found.out)).toMatchObject({
      day: "2026-11-22",
      faults: 1,
      differences: [{ provider: "deepseek", model: "deepseek/deepseek-v4-pro", difference: "price", at_a_loss: true }],
      unknown: expect.arrayContaining(["deepseek/deepseek-v4-flash"]),
    });
    writeFileSync(file, "{}");
    const bad = await tollgate(["prices", "check", "--file", file]);
    expect([bad.code, bad.err]).toEqual([1, expect.stringContaining("is not a list of prices")]);
    expect((await tollgate(["prices", "check", "--day", "today"])).code).toBe(2);
    const own = await tollgate(["prices", "check", "--json", "--day", "2026-11-23"]);
    expect([own.code, JSON.parse(own.out).compared > 200]).toEqual([0, true]);
    removeFolder(folder);
  });
});
