// The model list: `tollgate models update` writes models.json, and a reload makes the gateway sell by it while calls run.
import { mkdirSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { join } from "node:path";
import { afterAll, beforeAll, describe, expect, it, onTestFinished } from "vitest";
import { run } from "../../src/cli/run.ts";
import { folderForFile } from "../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";

const MODEL = "openai/gpt-5.4-mini";
const token = (usd: number) => usd / 1_000_000;
/** A list with one model, at these prices in USD per million tokens; the adapter has 0.75, 4.5 and 0.075. */
const listOf = (input: number, output: number) => ({
  "gpt-5.4-mini": {
    litellm_provider: "openai",
    mode: "chat",
    input_cost_per_token: token(input),
    output_cost_per_token: token(output),
    cache_read_input_token_cost: token(input / 10),
  },
});

/** The gateway refuses an overlay without files, so it starts with an empty list. */
const NOTHING =
  '{"format":1,"takenAt":"2026-01-01T00:00:00Z","checkedAt":"2026-01-01T00:00:00Z","source":"none","vendors":{}}';

const OFTEN = { ADDRESS_REQUESTS_PER_MINUTE: "1000000" };
const folder = folderForFile("tollgate-lists-");

function listFile(list: unknown, name = "list.json"): string {
  const path = join(folder, name);
  writeFileSync(path, typeof list === "string" ? list : JSON.stringify(list));
  return path;
}

async function tollgate(variables: Record<string, string>, ...words: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(words, {
    environment: variables,
    out: (line) => out.push(line),
    err: (line) => err.push(line),
  });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

async function outputPrice({ url }: TestGateway): Promise<number> {
  const row = (await (await fetch(`${url}/api/llm/v1/models/${MODEL}`)).json()) as { pricing: { completion: string } };
  return Number((Number(row.pricing.completion) * 1_000_000).toFixed(6));
}

function ask({ client }: TestAccount, content = "hello") {
  return client.chat.completions.create({ model: MODEL, messages: [{ role: "user", content }], max_tokens: 50 });
}

describe("a running gateway", () => {
  let gateway: TestGateway;
  let account: TestAccount;
  let overlay: string;
  let file: string;
  const update = (list: string, ...more: string[]) =>
    tollgate(
      { DATA_DIR: gateway.dataDir, OVERLAY_DIR: overlay, ADMIN_PORT: new URL(gateway.adminUrl).port },
      "models",
      "update",
      "--from",
      list,
      ...more,
    );

  beforeAll(async () => {
    overlay = mkdtempSync(join(folder, "overlay-"));
    file = join(overlay, "models.json");
    writeFileSync(file, NOTHING);
    gateway = await startTestGateway({ ...OFTEN, OVERLAY_DIR: overlay });
    account = await gateway.account();
  });
  afterAll(() => gateway.stop());

  async function lastVersions(limit: number): Promise<readonly string[]> {
    const { json } = await gateway.admin("GET", `/admin/v1/transactions?limit=${limit}`);
    return (json.transactions as { price_version: string }[]).map((one) => one.price_version);
  }

  it("is told what a dry run would change, and nothing is written", async () => {
    const shown = await update(listFile(listOf(1.5, 9)), "--dry-run");
    expect(shown.out).toContain("~  openai/gpt-5.4-mini  price  0.75/4.5/0.075  1.5/9/0.15");
    expect(shown.out).toContain("1 changes would be taken, 0 wait for --yes");
    expect(shown.code).toBe(0);
    expect(readFileSync(file, "utf8")).toBe(NOTHING);
  });

  it("sells at the new price after a reload; running calls keep theirs, and a posting names its version", async () => {
    const stream = await account.client.chat.completions.create({
      model: MODEL,
      messages: [{ role: "user", content: "hello [[pace: 100]]" }],
      stream: true,
      stream_options: { include_usage: true },
      max_tokens: 50,
    });
    const chunks = stream[Symbol.asyncIterator]();
    await chunks.next();
    const before = (await ask(account)).usage as unknown as { cost: number };
    const [was = ""] = await lastVersions(1);
    const taken = await update(listFile(listOf(1.5, 9)), "--json");
    expect(JSON.parse(taken.out)).toMatchObject({ taken: 1, held: 0, file });
    expect(await outputPrice(gateway)).toBe(4.5);
    await gateway.reload();
    expect(await outputPrice(gateway)).toBe(9);
    const after = (await ask(account)).usage as unknown as { cost: number };
    expect(after.cost).toBeCloseTo(before.cost * 2, 9);
    const [version = ""] = await lastVersions(1);
    expect(version).toMatch(/^openai\/gpt-5\.4-mini@\d{4}-\d\d-\d\d\.\d{8}T\d{6}$/);
    for (let next = await chunks.next(); next.done !== true; ) next = await chunks.next();
    const three = [was, was, version].toSorted().join();
    await eventually(
      async () => ((await lastVersions(3)).toSorted().join() === three ? true : undefined),
      "the stream's posting",
    );
    const { json } = await eventually(async () => {
      const answer = await gateway.admin("GET", `/admin/v1/price?version=${encodeURIComponent(version)}`);
      return answer.status === 200 ? answer : undefined;
    }, "the price of a version");
    expect(json).toMatchObject({ version, usd: { input: "1.5", output: "9", cache_read: "0.15" } });
    expect(await gateway.doctor()).toEqual([]);
  });

  it("has a file that a diff can be read of: one model a line", () => {
    const lines = readFileSync(file, "utf8").split("\n");
    const changed = lines.filter((line) => line.includes('"gpt-5.4-mini"'));
    expect(changed).toHaveLength(1);
    expect(changed[0]).toContain('"output":"9"');
  });

  it("says how old each fact is", async () => {
    const { json } = await gateway.admin("GET", "/admin/v1/models?sandbox=1");
    const { models, list } = json as unknown as { models: { model: string }[]; list: { source: string } };
    const day = new Date().toISOString().slice(0, 10);
    expect(models.find(({ model }) => model === MODEL)).toMatchObject({ kind: "chat", since: day, until: null });
    expect(list.source).toContain("list.json");
    expect(await gateway.metricsText()).toMatch(/^tollgate_model_list_age_seconds \d/m);
  });

  it("takes a price that moves too far only with --yes", async () => {
    const far = listFile(listOf(1.5, 30), "far.json");
    const held = await update(far);
    expect(held.out).toContain("it moves by 3.3 times");
    expect(held.code).toBe(1);
    await gateway.reload();
    expect(await outputPrice(gateway)).toBe(9);
    expect((await update(far, "--yes")).code).toBe(0);
    await gateway.reload();
    expect(await outputPrice(gateway)).toBe(30);
  });

  it("keeps selling by what it has where the file is invalid, and the error names file and field", async () => {
    const good = readFileSync(file, "utf8");
    writeFileSync(file, good.replace('"format": 1', '"format": 7'));
    await expect(gateway.reload()).rejects.toThrow(`${file}: format`);
    expect(await outputPrice(gateway)).toBe(30);
    // Restoring the old file undoes the update.
    writeFileSync(file, NOTHING);
    await gateway.reload();
    expect(await outputPrice(gateway)).toBe(4.5);
  });

  it.each([
    ["half a file", '{"gpt-5.4-mini": {"litellm_provider": "openai', "it is not complete JSON; nothing was changed"],
    ["HTML", "<html>", "it is a page of HTML or XML, no JSON; nothing was changed"],
    [
      "prices of nothing",
      JSON.stringify(listOf(0, 0)),
      "openai/gpt-5.4-mini costs nothing there, and 0.75 here; nothing was changed",
    ],
  ])("is not changed by %s, and one line says why", async (_, text, why) => {
    const refused = await update(listFile(text, "bad.json"), "--yes");
    expect([refused.code, refused.err.split("\n")]).toEqual([1, [expect.stringContaining(why)]]);
    expect(readFileSync(file, "utf8")).toBe(NOTHING);
  });
});

it("the command names MODELS_SOURCE where no source is set", async () => {
  const refused = await tollgate({ DATA_DIR: folder }, "models", "update");
  expect([refused.code, refused.err]).toEqual([1, expect.stringContaining("MODELS_SOURCE")]);
});

it("a gateway sells by the newest dated file of an earlier version, until models.json is there", async () => {
  const dataDir = mkdtempSync(join(folder, "dated-"));
  mkdirSync(join(dataDir, "models"));
  expect((await tollgate({ DATA_DIR: dataDir }, "models", "update", "--from", listFile(listOf(1.5, 9)))).code).toBe(0);
  const written = join(dataDir, "models.json");
  writeFileSync(join(dataDir, "models/20261126T002503.json"), readFileSync(written));
  writeFileSync(join(dataDir, "models/20261127T002503.json.withdrawn"), "{");
  rmSync(written);
  const gateway = await startTestGateway({ ...OFTEN, DATA_DIR: dataDir });
  onTestFinished(() => gateway.drain());
  expect(await outputPrice(gateway)).toBe(9);
});
