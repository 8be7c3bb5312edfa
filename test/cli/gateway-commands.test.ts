import { existsSync, mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { describe, expect, test } from "vitest";
import { run } from "../../src/cli/run.ts";
import { folderForFile, forFile } from "../support/for-file.ts";
import { eventually, startTestGateway } from "../support/gateway.ts";
import { postAs } from "../support/keyed-fetch.ts";
import { removeFolder } from "../support/remove-folder.ts";

const dataDir = folderForFile("tollgate-cli-");
const gateway = forFile(await startTestGateway({ DATA_DIR: dataDir }));
const environment = { DATA_DIR: dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };

async function tollgate(...words: string[]) {
  const out: string[] = [];
  const err: string[] = [];
  const code = await run(words, { environment, out: (line) => out.push(line), err: (line) => err.push(line) });
  return { code, out: out.join("\n"), err: err.join("\n") };
}

async function json(...words: string[]) {
  const { code, out } = await tollgate(...words, "--json");
  return { code, body: JSON.parse(out) };
}

async function balance(key: string): Promise<unknown> {
  const response = await fetch(`${gateway.url}/api/v1/account`, { headers: { authorization: `Bearer ${key}` } });
  return response.status === 200
    ? ((await response.json()) as { balance_cents: number }).balance_cents
    : response.status;
}

async function open(...options: string[]): Promise<{ id: string; key: string }> {
  const { body } = await json("account", "create", "--name", "Ada", ...options);
  return { id: body.account_id, key: body.api_key };
}

describe("accounts", () => {
  test("an account is opened and its key works at once", async () => {
    const { code, out } = await tollgate("account", "create", "--name", "Ada", "--credit-cents", "1234");
    expect(code).toBe(0);
    expect(out).toMatch(/^balance +12\.34 USD$/m);
    const key = /tg_sk_[0-9A-Za-z]{49}/.exec(out)?.[0] ?? "";
    expect(await balance(key)).toBe(1_234);
  });

  test("kinds differ in their keys and their welcome", async () => {
    expect(await balance((await open()).key)).toBe(200);
    expect(await balance((await open("--business")).key)).toBe(1_000);
    const sandbox = await open("--sandbox");
    expect(sandbox.key).toMatch(/^tg_sk_test_/);
    expect(await balance(sandbox.key)).toBe(1_000);
  });

  test("are listed and shown without their keys", async () => {
    const { id, key } = await open();
    const list = await tollgate("account", "list");
    expect(list.out).toMatch(new RegExp(`^${id} +Ada +personal +active +2\\.00 +0\\.00$`, "m"));
    const shown = await tollgate("account", "show", id);
    expect(shown.out).toMatch(/^calls in flight +64$/m);
    expect(list.out + shown.out).not.toContain(key);
  });

  test("credit counts once per reference", async () => {
    const { id, key } = await open();
    const first = await tollgate("credit", id, "--cents", "300", "--reference", "invoice-7");
    expect(first.out).toBe("Credited. The balance is 5.00 USD.");
    const again = await tollgate("credit", id, "--cents", "300", "--reference", "invoice-7");
    expect(again).toMatchObject({ code: 0, out: expect.stringContaining("nothing was added") });
    expect(await balance(key)).toBe(500);
  });

  test("limits are changed one by one", async () => {
    const { id } = await open();
    await tollgate("account", "limit", id, "--in-flight", "512");
    const { body } = await json("account", "limit", id, "--inference-cap-cents", "5000");
    expect(body).toMatchObject({
      inference_cap_cents: 5_000,
      rate_limit: { requests_per_minute: 600, in_flight: 512 },
    });
  });

  test("bounds are made strict and usual again", async () => {
    const { id } = await open();
    expect((await tollgate("account", "limit", id, "--strict-bounds", "on")).out).toMatch(/^bounds +strict/m);
    expect((await tollgate("account", "show", id)).out).toMatch(/^bounds +strict/m);
    const { body } = await json("account", "limit", id, "--strict-bounds", "off");
    expect(body).toMatchObject({ strict_bounds: false, inference_cap_cents: 1_000 });
    expect(await tollgate("account", "limit", id, "--strict-bounds", "no")).toMatchObject({ code: 2 });
  });

  test("freezing stops paid calls until it is undone", async () => {
    const { id, key } = await open("--sandbox");
    const ask = () =>
      postAs(key, `${gateway.url}/api/llm/v1/chat/completions`, {
        model: "core/cheap",
        messages: [{ role: "user", content: "hi" }],
      });
    expect((await ask()).status).toBe(200);
    expect((await tollgate("freeze", id)).out).toBe(`${id} is frozen.`);
    expect((await ask()).status).toBe(403);
    await tollgate("unfreeze", id);
    const again = await ask();
    expect(again.status).toBe(200);
    await again.text();
  });

  test("a charge is refunded once", async () => {
    const { key } = await open("--sandbox");
    const headers = { authorization: `Bearer ${key}`, "content-type": "application/json" };
    const body = JSON.stringify({ model: "core/cheap", messages: [{ role: "user", content: "hi" }] });
    await (await fetch(`${gateway.url}/api/llm/v1/chat/completions`, { method: "POST", headers, body })).text();
    const page = (await (await fetch(`${gateway.url}/api/v1/transactions`, { headers })).json()) as {
      transactions: { transaction_id: string; kind: string; charged_nano_usd: number }[];
    };
    const charge = page.transactions.find(({ kind }) => kind === "charge");
    const { body: first } = await json("refund", charge?.transaction_id ?? "", "--reason", "test");
    expect(first).toMatchObject({ refunded_nano_usd: charge?.charged_nano_usd, repeated: false });
    const { body: again } = await json("refund", charge?.transaction_id ?? "", "--reason", "test");
    expect(again).toMatchObject({ refund_id: first.refund_id, repeated: true });
  });
});

describe("keys", () => {
  test("are made, listed, paused, resumed, rotated and revoked", async () => {
    const { id } = await open();
    const { body: made } = await json("key", "create", id, "--label", "robot", "--ceiling-cents", "50");
    expect(made).toMatchObject({ label: "robot", ceiling_cents: 50, ceiling_period: "month" });
    const list = await tollgate("key", "list", id);
    expect(list.out).toMatch(/primary \*/);
    expect(list.out).toMatch(
      new RegExp(`^${made.id} +robot +.* active +0\\.50 USD a month +0\\.00 +never +all +all +none +never$`, "m"),
    );
    expect((await tollgate("key", "pause", id, made.id)).out).toBe(`${made.id} is paused.`);
    expect((await tollgate("key", "resume", id, made.id)).out).toBe(`${made.id} is active.`);
    const { body: rotated } = await json("key", "rotate", id, made.id);
    expect([await balance(made.api_key), await balance(rotated.api_key)]).toEqual([401, 200]);
    expect((await tollgate("key", "revoke", id, made.id)).code).toBe(0);
    expect(await balance(rotated.api_key)).toBe(401);
  });
});

describe("a key's limits", () => {
  test("are set when it is made, shown, changed one by one, and taken off", async () => {
    const { id } = await open();
    const create = ["key", "create", id, "--label", "bot", "--services", "files, exa/search", "--models", "none"];
    const { body: made } = await json(...create, "--expires-at", "2100-01-31T12:00:00Z");
    const expires_at = "2100-01-31T12:00:00.000Z";
    expect(made).toMatchObject({ services: ["files", "exa/search"], models: [], expires_at });
    const list = await tollgate("key", "list", id);
    expect(list.out).toMatch(new RegExp(`^${made.id} .* active .* files, exa/search +none +none +${expires_at}$`, "m"));
    const changed = await tollgate("key", "limit", id, made.id, "--models", "cheap", "--ceiling-cents", "50");
    expect(changed.out).toMatch(/^models +core\/cheap$/m);
    expect(changed.out).toMatch(/^services +files, exa\/search$/m);
    expect(changed.out).toMatch(/^ceiling +0\.50 USD a month$/m);
    const off = ["--services", "all", "--models", "all", "--expires-at", "never"];
    const { body: freed } = await json("key", "limit", id, made.id, ...off);
    expect(freed).toMatchObject({ services: null, models: null, expires_at: null, ceiling_cents: 50 });
    const unbounded = await tollgate("key", "limit", id, made.id, "--ceiling-cents", "none");
    expect(unbounded).toMatchObject({ code: 0, out: expect.stringMatching(/^ceiling +none$/m) });
  });

  test("are refused with the gateway's words; nothing to change is not understood", async () => {
    const { id } = await open();
    const bad = await tollgate("key", "create", id, "--services", "No Such");
    expect(bad).toMatchObject({ code: 1, err: expect.stringContaining("services.0: must be a service") });
    expect(await tollgate("key", "limit", id, "key_1")).toMatchObject({ code: 2, out: "" });
  });

  test("an expired key is listed as such", async () => {
    const { id } = await open();
    // Tried again where the time is past when the command runs.
    const create = () => json("key", "create", id, "--expires-at", new Date(Date.now() + 1_500).toISOString());
    const made = await eventually(async () => {
      const { code, body } = await create().catch(() => ({ code: 1, body: null }));
      return code === 0 ? body : undefined;
    }, "a key that expires");
    const expired = await eventually(async () => {
      const { out } = await tollgate("key", "list", id);
      return out.includes(" expired ") ? out : undefined;
    }, "the key to expire");
    expect(expired).toMatch(new RegExp(`^${made.id} .* expired `, "m"));
    expect(await balance(made.api_key)).toBe(401);
  });
});

describe("a key's lists take only what is sold", () => {
  test.each([
    [["--models", "core/chep"], "models: core/chep is not sold here. Nearest: core/cheap"],
    [
      ["--models", "core/cheap,openai/gpt-5.4-nanoo"],
      "models: openai/gpt-5.4-nanoo is not sold here. Nearest: openai/gpt-5.4-nano",
    ],
    [["--services", "exa/serch"], "services: exa/serch is not sold here. Nearest: exa/search"],
    [["--services", "fils"], "services: fils is not sold here. Nearest: files"],
  ])("%j", async (options, says) => {
    const { id } = await open();
    const refused = await tollgate("key", "create", id, ...options);
    expect(refused).toMatchObject({ code: 1, out: "", err: expect.stringContaining(says) });
    const { body: made } = await json("key", "create", id);
    expect(await tollgate("key", "limit", id, made.id, ...options)).toMatchObject({
      code: 1,
      err: expect.stringContaining(says),
    });
    const { body } = await json("account", "show", id);
    expect(body.keys).toHaveLength(2);
  });

  test("a model of an own server, a tier by its short name, an embedding and a service are; a sandbox's too, where it is one", async () => {
    const { id } = await open();
    const models = "custom/any-name:8b,cheap,openai/text-embedding-3-small";
    expect((await tollgate("key", "create", id, "--models", models, "--services", "files,exa/search")).code).toBe(0);
    expect((await tollgate("key", "create", id, "--models", "sandbox/503")).code).toBe(1);
    const play = await open("--sandbox");
    expect((await tollgate("key", "create", play.id, "--models", "sandbox/503")).code).toBe(0);
  });
});

describe("what the gateway refuses ends with 1 and its words", () => {
  test.each([
    [["account", "show", "acct_none"], "There is no such account", "not_found"],
    [["account", "show", "../accounts"], "There is no such account", "not_found"],
    [["key", "create", "acct_none"], "There is no such account", "not_found"],
    [["refund", "tx_none", "--reason", "x"], "There is no such charge", "not_found"],
  ])("%j", async (words, says, error) => {
    const plain = await tollgate(...words);
    expect(plain).toMatchObject({ code: 1, out: "", err: expect.stringContaining(says) });
    const { code, body } = await json(...words);
    expect([code, body.ok, body.error]).toEqual([1, false, error]);
  });

  test("a wrong token", async () => {
    const err: string[] = [];
    const wrong = { ...environment, ADMIN_TOKEN: "this-is-not-the-token" };
    const code = await run(["account", "list"], { environment: wrong, out: () => {}, err: (line) => err.push(line) });
    expect(code).toBe(1);
    expect(err.join()).toContain("admin token");
  });
});

describe("the ledger", () => {
  test("is examined and copied while the gateway runs", async () => {
    expect(await tollgate("doctor")).toMatchObject({ code: 0, out: expect.stringContaining("all in order") });
    const path = join(dataDir, "running.db");
    expect((await tollgate("backup", path)).out).toBe(`Written to ${path}.`);
    expect(existsSync(path)).toBe(true);
    expect(await tollgate("backup", path)).toMatchObject({
      code: 1,
      err: expect.stringContaining("no backup was written"),
    });
  });

  test("and while it does not", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-cli-"));
    const own = await startTestGateway({ DATA_DIR: folder });
    const { key } = await own.account();
    await own.stop();
    // A port where nothing listens: another gateway may have its old port by now.
    const place = { DATA_DIR: folder, ADMIN_PORT: "1" };
    const out: string[] = [];
    const work = (...words: string[]) =>
      run(words, { environment: place, out: (line) => out.push(line), err: (line) => out.push(line) });
    expect(await work("doctor")).toBe(0);
    expect(out.join("\n")).toContain("1 accounts, 0 open holds");
    expect(await work("backup", join(folder, "stopped.db"))).toBe(0);
    expect(existsSync(join(folder, "stopped.db"))).toBe(true);
    expect(await work("account", "list")).toBe(1);
    expect(out.at(-1)).toContain("No gateway answers at http://127.0.0.1:");
    const restarted = await startTestGateway({ DATA_DIR: folder });
    const headers = { authorization: `Bearer ${key}` };
    expect((await fetch(`${restarted.url}/api/v1/account`, { headers })).status).toBe(200);
    await restarted.stop();
    removeFolder(folder);
  });

  test("that is not there is not made", async () => {
    const folder = mkdtempSync(join(tmpdir(), "tollgate-cli-"));
    const err: string[] = [];
    const place = { DATA_DIR: join(folder, "none"), ADMIN_PORT: "1" };
    expect(await run(["doctor"], { environment: place, out: () => {}, err: (line) => err.push(line) })).toBe(1);
    expect(err.join()).toContain("there is no ledger");
    expect(existsSync(join(folder, "none"))).toBe(false);
    removeFolder(folder);
  });
});

test("the first call that a new account is told asks the cheapest tier", async () => {
  const { out } = await tollgate("account", "create", "--name", "first", "--sandbox");
  expect(out).toContain('"model":"core/cheap"');
});

describe("who spent what", () => {
  test("usage and transactions are told as a table, as JSON and as CSV", async () => {
    const { id } = await open("--credit-cents", "700");
    const { body } = await json("usage", "--by", "account,day", "--status", "credited", "--account", id);
    expect(body.usage).toMatchObject([{ account_id: id, credited_nano_usd: 7_000_000_000, credited_usd: "7" }]);
    const spoken = await tollgate("usage", "--by", "account", "--status", "credited", "--account", id);
    expect(spoken.out).toMatch(new RegExp(`^ACCOUNT_ID +ACCOUNT_NAME +CALLS +CREDITED_USD.*\\n${id} +\\S+ +1 +7 `));
    const csv = await tollgate("transactions", "--account", id, "--csv");
    expect(csv.out).toMatch(/^transaction_id,.*\r\nopen_acct_/);
    expect((await tollgate("transactions", "--limit", "1")).out.split("\n")).toHaveLength(2);
    expect(await tollgate("transactions", "--model", "m")).toMatchObject({
      code: 1,
      err: expect.stringContaining("one UTC day"),
    });
    expect((await tollgate("usage", "--account", "nobody")).out).toBe("Nothing.");
  });
});
