// The request log on a real gateway: off by default, encrypted on disk, redacted by rules, read by the operator; and its behaviour on a
// full disk.
import { existsSync, mkdirSync, mkdtempSync, readdirSync, readFileSync, statSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, it } from "vitest";
import { run } from "../../../src/cli/run.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { openRequestLog } from "../../../src/gateway/request-log.ts";
import { LogFolder } from "../../../src/platform/observe/log-folder.ts";
import { createRedactor } from "../../../src/platform/observe/redactor.ts";
import { createRequestLog } from "../../../src/platform/observe/request-log.ts";
import { folderForFile, forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { removeFolder } from "../../support/remove-folder.ts";

type Json = Record<string, unknown>;

const folder = folderForFile("tollgate-request-log-");
const gateway = forFile(
  await startTestGateway({
    REQUEST_LOG_DIR: join(folder, "log"),
    REQUEST_LOG_REDACT: "emails,field:user",
    REQUEST_LOG_OWNERS: "1",
  }),
);
const account = await gateway.account();

const ALL = { accountId: null, bytesMax: Number.POSITIVE_INFINITY };

async function ask(more: Json = {}, { key } = account) {
  const sent = { model: "core/cheap", max_tokens: 20, messages: [{ role: "user", content: "Hi, I am a@b.example" }] };
  const response = await postAs(key, `${gateway.url}/api/llm/v1/chat/completions`, { ...sent, user: "ada", ...more });
  const answer = await response.text();
  return { answer, id: String(response.headers.get("x-request-id")).replace("req_", "tx_") };
}

const kept = async (query = "") => (await gateway.admin("GET", `/admin/v1/request-log${query}`)).json.calls as Json[];
const one = (id: string) => gateway.admin("GET", `/admin/v1/request-log/${id}`);
const turn = (enabled: boolean, { accountId } = account) =>
  gateway.admin("PUT", `/admin/v1/accounts/${accountId}/request-log`, { enabled });

it("keeps nothing of an account that has not been switched on, and opens nothing", async () => {
  await ask();
  expect(await kept()).toEqual([]);
  expect(() => readdirSync(join(folder, "log"))).toThrow();
  expect((await turn(true, { ...account, accountId: "acct_none" })).status).toBe(404);
});

it("keeps body and answer, redacted and sealed, under the transaction", async () => {
  expect(await turn(true)).toMatchObject({ status: 200, json: { enabled: true } });
  const other = await gateway.account();
  await ask({}, other);
  const { answer, id } = await ask();
  expect(await kept(`?account=${account.accountId}`)).toMatchObject([{ transaction_id: id }]);
  const { json } = await one(id);
  expect(json).toMatchObject({ account_id: account.accountId, asked: "core/cheap", status: 200, code: null });
  const body = JSON.parse(String(json.body));
  expect(body).toMatchObject({ user: "[redacted]", messages: [{ content: "Hi, I am [redacted]" }] });
  expect(JSON.parse(String(json.answer)).id).toBe(JSON.parse(answer).id);
  const [file = ""] = readdirSync(join(folder, "log"));
  const line = readFileSync(join(folder, "log", file), "utf8");
  expect([line.split("\n").length, line.includes("Hi, I am"), line.includes("core/cheap")]).toEqual([2, false, false]);
});

it("leaves out what it cannot redact, and what was refused before it cost anything", async () => {
  const streamed = await ask({ stream: true });
  expect(streamed.answer).toContain("[DONE]");
  expect((await one(streamed.id)).json).toMatchObject({ status: 200, answer: null });
  const refused = await ask({ model: "no/such-model" });
  expect((await one(refused.id)).status).toBe(404);
});

it("is read by the command, and ends when it is switched off", async () => {
  const said: string[] = [];
  const tell = (text: string) => void said.push(text);
  const environment = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
  expect(await run(["log", "list"], { environment, out: tell, err: tell })).toBe(0);
  expect(said.join("")).toContain(account.accountId);
  await turn(false);
  const { id } = await ask();
  expect((await one(id)).status).toBe(404);
});

it("is switched on and read by an account's owner for its own calls, where the operator lets owners", async () => {
  const [owner, other] = [await gateway.account(), await gateway.account()];
  const own = async (method: string, path = "", { key } = owner) => {
    const response = await fetch(`${gateway.url}/api/v1/request-log${path}`, {
      method,
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json" },
      ...(method === "PUT" ? { body: JSON.stringify({ enabled: true }) } : {}),
    });
    return { status: response.status, json: (await response.json()) as Json };
  };
  expect((await own("GET")).json).toEqual({ enabled: false, calls: [] });
  for (const one of [owner, other]) expect((await own("PUT", "", one)).json.enabled).toBe(true);
  const mine = await ask({}, owner);
  const theirs = await ask({}, other);
  expect((await own("GET")).json).toMatchObject({ enabled: true, calls: [{ transaction_id: mine.id }] });
  expect((await own("GET", `/${mine.id}`)).json).toMatchObject({ asked: "core/cheap", status: 200 });
  expect((await own("GET", `/${theirs.id}`)).status).toBe(404);
  const agent = await fetch(`${gateway.url}/api/v1/agents`, {
    method: "POST",
    headers: { authorization: `Bearer ${owner.key}`, "content-type": "application/json" },
    body: "{}",
  });
  const { api_key: key } = (await agent.json()) as { api_key: string };
  expect([(await own("GET", "", { ...owner, key })).status, (await own("PUT", "", { ...owner, key })).status]).toEqual([
    403, 403,
  ]);
  const said: string[] = [];
  const tell = (text: string) => void said.push(text);
  const environment = { DATA_DIR: gateway.dataDir, PUBLIC_URL: gateway.url, TOLLGATE_API_KEY: owner.key };
  expect(await run(["log", "list", "--own"], { environment, out: tell, err: tell })).toBe(0);
  expect([said.join("").includes(mine.id), said.join("").includes(theirs.id)]).toEqual([true, false]);
  expect(await run(["log", "show", theirs.id, "--own"], { environment, out: tell, err: tell })).toBe(1);
  expect(await run(["log", "set", "own", "off"], { environment, out: tell, err: tell })).toBe(0);
  expect((await own("GET")).json.enabled).toBe(false);
});

it("takes out addresses, cards and keys however they are escaped, and leaves other words", () => {
  const redact = createRedactor(["emails", "cards", "keys", "field:ssn"]);
  const text = {
    a: "Ada <a@b.example>, 4111 1111 1111 1111",
    b: `sk-${"x".repeat(40)} ok`,
    c: [{ ssn: 12 }],
    d: "at 5@home",
  };
  const escaped = JSON.stringify(text).replaceAll("@", "\\u0040");
  expect(JSON.parse(redact(escaped) ?? "")).toEqual({
    a: "Ada <[redacted]>, [redacted]",
    b: "[redacted] ok",
    c: [{ ssn: "[redacted]" }],
    d: "at 5@home",
  });
  expect(redact("data: no JSON")).toBeNull();
});

it("takes out of names, numbers and the beginnings of lines what it takes out of words, and leaves JSON", () => {
  const redact = createRedactor(["emails", "cards", "keys"]);
  const key = `sk-proj-${"x".repeat(30)}`;
  const within = JSON.stringify({ env: `a\n${key}\t4111-1111-1111-1111` });
  const text = {
    env: `key:\n${key}\r\n4111 1111 1111 1111\n\ta@b.example`,
    "b@c.example": 4111111111111111,
    within,
    logprob: -0.1234567890123456,
    "task-management-for-everyone": "task-sk-management-for-everyone",
  };
  expect(JSON.parse(redact(JSON.stringify(text)) ?? "")).toEqual({
    env: "key:\n[redacted]\r\n[redacted]\n\t[redacted]",
    "[redacted]": "[redacted]",
    within: JSON.stringify({ env: "a\n[redacted]\t[redacted]" }),
    logprob: -0.1234567890123456,
    "task-management-for-everyone": "task-sk-management-for-everyone",
  });
});

it("no call waits for a disk that does not take it: what is not kept is counted", async () => {
  const outcomes: string[] = [];
  const broken: unknown[] = [];
  const kept = { owner: "test", days: 2, bytesMax: 1_000, hasRoom: async () => true };
  const options = {
    clock: systemClock,
    beganMs: () => systemClock.epochMs(),
    redact: createRedactor([]),
    seal: (text: string) => text,
    unseal: (text: string) => text,
    onOutcome: (outcome: string) => void outcomes.push(outcome),
    onBroken: (error: unknown) => void broken.push(error),
  };
  const call = { requestId: "req_1", accountId: "a", keyId: "k", path: "/", asked: null, status: 200, code: null };
  const keep = (log: ReturnType<typeof createRequestLog>, transactionId: string) =>
    log.begin()?.({ ...call, transactionId, body: "x".repeat(2_000), answer: null });

  const blocked = join(folder, "blocked");
  writeFileSync(blocked, "a file where the folder should be");
  const without = createRequestLog({ ...options, store: new LogFolder({ ...kept, folder: blocked }) });
  keep(without, "tx_1");
  expect([await without.list(ALL, 10), outcomes.splice(0), broken.length]).toEqual([[], ["left_out"], 1]);

  const small = join(folder, "small");
  mkdirSync(small);
  writeFileSync(join(small, "2020-01-01.old.jsonl"), "{}\n");
  const first = createRequestLog({ ...options, store: new LogFolder({ ...kept, folder: small }) });
  keep(first, "tx_1");
  expect((await first.find(ALL, "tx_1"))?.body).toHaveLength(2_000);
  expect(readdirSync(small)).toHaveLength(1);
  const next = createRequestLog({ ...options, store: new LogFolder({ ...kept, folder: small, owner: "next" }) });
  keep(next, "tx_2");
  expect(await next.find(ALL, "tx_2")).toBeNull();
  expect(outcomes.splice(0)).toEqual(["kept", "left_out"]);

  const full = new LogFolder({ ...kept, folder: join(folder, "low"), hasRoom: async () => false });
  const low = createRequestLog({ ...options, store: full });
  keep(low, "tx_3");
  expect([await low.find(ALL, "tx_3"), outcomes.splice(0)]).toEqual([null, ["left_out"]]);

  const many = Array.from({ length: 300 }, () => next.begin());
  expect([many.filter((done) => done === null).length, outcomes.length]).toEqual([44, 44]);
});

it("finds one among many by when it began, and nobody else's", async () => {
  const log = new LogFolder({
    folder: join(folder, "many"),
    owner: "a",
    days: 9,
    bytesMax: 1e9,
    hasRoom: async () => true,
  });
  const dayMs = Date.parse("2026-03-01");
  const lines = Array.from({ length: 4_000 }, (_, n) => {
    const at = new Date(dayMs + n * 20_000).toISOString();
    const name = { at, transactionId: `tx_${n}`, requestId: `req_${n}`, accountId: n % 2 === 0 ? "a" : "b" };
    return { accountId: name.accountId, text: `${JSON.stringify({ ...name, sealed: `${n}`.padEnd(1_000, ".") })}\n` };
  });
  await log.append(lines, dayMs);
  const find = (n: number, accountId: string | null) =>
    log.sealed({ id: `tx_${n}`, beganMs: dayMs + n * 20_000 - 500, accountId, bytesMax: 100_000 });
  for (const n of [0, 1_999, 3_999]) expect(Number.parseInt((await find(n, null)) ?? "", 10)).toBe(n);
  expect([await find(1_998, "b"), (await find(1_998, "a"))?.startsWith("1998.")]).toEqual([null, true]);
  // From the last 16 KB, which begin in the middle of a line.
  const last = await log.newest({ accountId: "b", bytesMax: 16_000 }, 100);
  expect([last.length, last[0]?.transactionId, last.every(({ accountId }) => accountId === "b")]).toEqual([
    7,
    "tx_3999",
    true,
  ]);
});

it("has no more than its bound and its disk let it, counted as it writes", async () => {
  const bounded = join(folder, "bounded");
  let room = 100;
  const hasRoom = async (bytes: number) => bytes <= room;
  const line = (text: string) => [{ accountId: "a", text }];
  const log = new LogFolder({ folder: bounded, owner: "one", days: 1, bytesMax: 64 * 1024 * 1024 + 10, hasRoom });
  expect(await log.append(line("x".repeat(101)), 0)).toBe(0);
  room = Number.POSITIVE_INFINITY;
  expect(await log.append(line("x"), 0)).toBe(1);
  writeFileSync(join(bounded, "1970-01-01.other.jsonl"), "of another process");
  expect(await log.append(line("x".repeat(64 * 1024 * 1024)), 1)).toBe(1);
  expect(await log.append(line("x"), 2)).toBe(0);

  const small = new LogFolder({ folder: join(folder, "bound"), owner: "one", days: 1, bytesMax: 10, hasRoom });
  const kept = [
    await small.append(line("x".repeat(9)), 0),
    await small.append(line("xx"), 1),
    await small.append(line("x"), 2),
  ];
  expect(kept).toEqual([1, 1, 0]);
});

const shared = "/dev/shm";
const isOther = existsSync(shared) && statSync(shared).dev !== statSync(tmpdir()).dev;
it.runIf(isOther)(
  "looks at the disk that it lies on, and leaves more than the least room on that of the books",
  async () => {
    const outcomes: string[] = [];
    const other = mkdtempSync(join(shared, "tollgate-request-log-"));
    for (const requestLogDir of [other, join(folder, "beside the books")]) {
      const config = {
        ...{
          dataDir: folder,
          requestLogDir,
          requestLogDays: 1,
          requestLogBytesMax: 1_000,
          requestLogRedact: [],
          requestLogS3Endpoint: null,
        },
        ...{ signingSecret: "a secret of this test alone", diskFreeMibMin: 1e9 },
      };
      const foundation = { config, observer: { callLogged: (one: string) => void outcomes.push(one) }, broken() {} };
      const log = openRequestLog(foundation as unknown as Parameters<typeof openRequestLog>[0]);
      log.begin()?.({
        ...{ transactionId: "tx_1", requestId: "req_1", accountId: "a", keyId: "k", path: "/", asked: null },
        ...{ status: 200, code: null, body: null, answer: null },
      });
      await log.close();
    }
    removeFolder(other);
    expect(outcomes).toEqual(["kept", "left_out"]);
  },
);
