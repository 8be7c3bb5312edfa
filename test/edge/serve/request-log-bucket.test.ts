// The request log in a bucket that all processes share, also while the bucket is slow or unavailable.
import { createServer, type RequestListener } from "node:http";
import type { AddressInfo } from "node:net";
import { expect, it } from "vitest";
import { openS3Objects } from "../../../src/actions/files/s3-bucket.ts";
import { run } from "../../../src/cli/run.ts";
import { systemClock } from "../../../src/core/clock.ts";
import { openRequestLog } from "../../../src/gateway/request-log.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { LogBucket } from "../../../src/platform/observe/log-bucket.ts";
import { createRequestLog, type RequestLog } from "../../../src/platform/observe/request-log.ts";
import { BUCKET, KEYS, startS3 } from "../../actions/files/s3.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, startTestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";

type Json = Record<string, unknown>;

const s3 = forFile(await startS3());
const settings = {
  REQUEST_LOG_S3_ENDPOINT: s3.endpoint,
  REQUEST_LOG_S3_BUCKET: BUCKET,
  REQUEST_LOG_S3_ACCESS_KEY_ID: KEYS.accessKeyId,
  REQUEST_LOG_S3_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
  SIGNING_SECRET: "a-secret-of-this-test-alone",
};
const gateway = forFile(await startTestGateway(settings));

const call = { keyId: "k", path: "/", asked: null, status: 200, code: null, answer: null };
const idOf = (n: number) => `tx_0VK0000${String(n).padStart(13, "0")}`;
const ALL = { accountId: null, bytesMax: Number.POSITIVE_INFINITY };

function keep(log: RequestLog, transactionId: string, { accountId = "acct_a", body = "hello" } = {}): void {
  const requestId = transactionId.replace("tx_", "req_");
  log.begin()?.({ ...call, transactionId, requestId, accountId, body });
}

const bucketAt = (endpoint: string) =>
  openS3Objects({ endpoint, bucket: BUCKET, region: "us-east-1", ...KEYS, clock: systemClock });

it("lists and shows the calls of all processes, sealed, by the command", async () => {
  const { key, accountId } = await gateway.account();
  await gateway.admin("PUT", `/admin/v1/accounts/${accountId}/request-log`, { enabled: true });
  const response = await postAs(key, `${gateway.url}/api/llm/v1/chat/completions`, {
    model: "core/cheap",
    max_tokens: 20,
    messages: [{ role: "user", content: "Hi there" }],
  });
  await response.arrayBuffer();
  const id = String(response.headers.get("x-request-id")).replace("req_", "tx_");
  const other = openRequestLog({
    config: readConfig(settings),
    observer: { callLogged() {} },
    broken() {},
  } as unknown as Parameters<typeof openRequestLog>[0]);
  // Started in the same millisecond.
  const theirs = `${id.slice(0, 10)}${"0".repeat(13)}`;
  keep(other, theirs, { accountId: "acct_other", body: "from the other process" });
  await other.close();

  const listed = `/admin/v1/request-log?account=${accountId}`;
  const ofOne = await eventually(async () => {
    const calls = (await gateway.admin("GET", listed)).json.calls as Json[];
    return calls.length > 0 ? calls : undefined;
  }, "the call, which waits for others a second longer");
  const said: string[] = [];
  const tell = (text: string) => void said.push(text);
  const environment = { DATA_DIR: gateway.dataDir, ADMIN_PORT: new URL(gateway.adminUrl).port };
  expect(await run(["log", "list"], { environment, out: tell, err: tell })).toBe(0);
  expect([said[0]?.includes(id), said[0]?.includes("acct_other")]).toEqual([true, true]);
  expect(await run(["log", "show", id], { environment, out: tell, err: tell })).toBe(0);
  expect(said[1]).toContain("Hi there");
  expect(await run(["log", "show", theirs], { environment, out: tell, err: tell })).toBe(0);
  expect(said[2]).toContain("from the other process");
  expect(ofOne.map(({ transaction_id }) => transaction_id)).toEqual([id]);
  const bucket = bucketAt(s3.endpoint);
  const { names } = await bucket.list({ prefix: `request-log/${accountId}/`, after: "" });
  const bytes = await bucket.get(names[0] ?? "", 1_000_000);
  expect([names.length, bytes?.includes(id), bytes?.includes("Hi there")]).toEqual([1, true, false]);
});

it("takes away what is older than its days, and lists what is left newest first", async () => {
  const log = new LogBucket({
    objects: bucketAt(s3.endpoint),
    owner: "sweeper",
    days: 1,
    clock: systemClock,
    onBroken() {},
    sweepMs: 10,
  });
  const nowMs = Date.now();
  const line = (at: number, accountId: string) => {
    const name = { at: new Date(at).toISOString(), transactionId: `tx_${at}`, requestId: "", accountId };
    return { accountId, text: `${JSON.stringify({ ...name, sealed: "x" })}\n` };
  };
  const old = nowMs - 2 * 86_400_000;
  await log.append([line(old, "acct_s"), line(old, "acct_t")], old);
  expect(await log.newest({ ...ALL, accountId: "acct_t" }, 10)).toHaveLength(1);
  await log.append([line(nowMs - 2_000, "acct_s"), line(nowMs - 1_000, "acct_s")], nowMs);
  const swept = log.keepSwept();
  await eventually(
    async () => ((await log.newest({ ...ALL, accountId: "acct_t" }, 10)).length === 0 ? true : undefined),
    "the old ones to go",
  );
  const left = await log.newest({ ...ALL, accountId: "acct_s" }, 10);
  expect(left.map(({ transactionId }) => transactionId)).toEqual([`tx_${nowMs - 1_000}`, `tx_${nowMs - 2_000}`]);
  log.close();
  await swept;
});

it("looks for nothing old any more once it is closed", async () => {
  let listed = 0;
  const list = async () => {
    listed += 1;
    log.close();
    return { names: [], folders: ["request-log/a/", "request-log/b/"], hasMore: true };
  };
  const objects = { ...bucketAt(s3.endpoint), list };
  const log = new LogBucket({ objects, owner: "ended", days: 1, clock: systemClock, onBroken() {}, sweepMs: 1 });
  await log.keepSwept();
  expect(listed).toBe(1);
});

it("of an account whose calls are all older than what is found, no object is read", async () => {
  const objects = bucketAt(s3.endpoint);
  let asked = 0;
  const get = (name: string, bytesMax: number) => {
    asked += 1;
    return objects.get(name, bytesMax);
  };
  const log = new LogBucket({
    objects: { ...objects, get },
    owner: "counter",
    days: 1,
    clock: systemClock,
    onBroken() {},
  });
  const nowMs = Date.now() + 1_000;
  const name = { at: new Date(nowMs).toISOString(), transactionId: "tx_newest", requestId: "", accountId: "acct_0" };
  await log.append([{ accountId: "acct_0", text: `${JSON.stringify({ ...name, sealed: "x" })}\n` }], nowMs);
  expect(await log.newest(ALL, 1)).toEqual([name]);
  expect(asked).toBe(1);
});

/** A log over a bucket with scripted answers, and the results of its calls. */
async function logOver(answer: RequestListener, waitMs = 10) {
  const server = createServer(answer);
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const outcomes: string[] = [];
  const broken: unknown[] = [];
  const onBroken = (error: unknown) => void broken.push(error);
  const objects = bucketAt(`http://127.0.0.1:${(server.address() as AddressInfo).port}`);
  const log = createRequestLog({
    store: new LogBucket({ objects, owner: "one", days: 1, clock: systemClock, onBroken, waitMs }),
    clock: systemClock,
    beganMs: () => systemClock.epochMs(),
    redact: (text) => text,
    seal: (text) => text,
    unseal: (text) => text,
    onOutcome: (outcome) => void outcomes.push(outcome),
    onBroken,
  });
  return { log, server, outcomes, broken };
}

it("no call waits for a bucket that does not answer: what is too much to keep in memory is left out and counted", async () => {
  const { log, server, outcomes, broken } = await logOver(() => {});
  for (let n = 0; n < 100; n++) keep(log, idOf(n), { body: "x".repeat(250_000) });
  const most = Math.ceil((16 * 1024 * 1024) / 250_000);
  expect(outcomes.every((outcome) => outcome === "left_out")).toBe(true);
  expect(outcomes.length).toBeGreaterThanOrEqual(100 - most);
  server.closeAllConnections();
  server.close();
  await log.close();
  await eventually(() => (outcomes.length === 100 ? true : undefined), "all of them to be counted");
  expect([new Set(outcomes).size, broken.length]).toEqual([1, 1]);
});

it("a reader who asks again and again has no object written for each line", async () => {
  let written = 0;
  const { log, server } = await logOver((request, response) => {
    if (request.method === "PUT") written += 1;
    request.resume();
    response.writeHead(200).end();
  }, 60_000);
  const began = performance.now();
  for (let n = 0; n < 100; n++) {
    keep(log, idOf(n));
    await log.list({ ...ALL, accountId: "acct_a" }, 10);
  }
  expect(written).toBeLessThanOrEqual((performance.now() - began) / 1_000);
  await log.close();
  server.closeAllConnections();
  server.close();
});

it("a look reads a bounded number of objects, however small they are", async () => {
  let read = 0;
  const names = Array.from(
    { length: 300 },
    (_, n) => `<Key>request-log/acct_a/${8_000_000_000_000 + n}.one.0.jsonl</Key>`,
  );
  const { log, server } = await logOver((request, response) => {
    const isList = request.url?.includes("list-type") === true;
    if (!isList) read += 1;
    response.writeHead(200).end(isList ? names.join("") : "{}\n");
  });
  await log.list({ accountId: "acct_a", bytesMax: 16 * 1024 * 1024 }, 1_000);
  expect(read).toBe(256);
  await log.close();
  server.closeAllConnections();
  server.close();
});

it("what a bucket refuses for a moment is written again, and told once", async () => {
  let asked = 0;
  const { log, server, outcomes, broken } = await logOver((request, response) => {
    if (request.method === "PUT") asked += 1;
    request.resume();
    response.writeHead(asked === 1 ? 503 : 200).end();
  });
  keep(log, idOf(1));
  await eventually(() => outcomes[0], "its outcome");
  expect([outcomes, broken.length, asked]).toEqual([["kept"], 1, 2]);
  server.closeAllConnections();
  server.close();
});
