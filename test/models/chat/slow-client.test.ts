// A client that does not read: the upstream waits for it, nothing accumulates, and the stream resumes when it reads again.
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { post } from "../../edge/http/edge.ts";
import { forFile } from "../../support/for-file.ts";
import { eventually, standstill, startTestGateway, type TestAccount } from "../../support/gateway.ts";
import { CHAT } from "./bad-requests.ts";

/** More than all buffers between two local sockets hold: 40 MiB. */
const WORDS = 10_240;
const WIDTH = 4_096;
/** Longer than the vendor, which runs in this process, is silent on a busy machine; and shorter than the client's pause. */
const GAP_S = 4;
const PAUSE_MS = 5_000;
/** A generous bound on what the kernel buffers for three sockets. */
const UNDER_WAY_BYTES_MAX = 32 * 1024 * 1024;
/** One whose events pass through unchanged, and one whose events are translated. */
const VENDORS = ["sandbox", "sandbox-messages"];

const gateway = forFile(await startTestGateway({ CHUNK_GAP_SECONDS: String(GAP_S), FIRST_TOKEN_SECONDS: "30" }));

/** Requests a long stream and reads nothing of it. */
async function askWithoutReading(account: TestAccount, model: string): Promise<Socket> {
  const socket = connect(Number(new URL(gateway.url).port), "127.0.0.1");
  socket.on("error", () => {});
  socket.pause();
  const content = `hello [[words: ${WORDS}]] [[width: ${WIDTH}]]`;
  const body = { model, messages: [{ role: "user", content }], stream: true, max_tokens: WORDS };
  const text = post(CHAT, JSON.stringify(body), [`authorization: Bearer ${account.key}`, "connection: close"]);
  await new Promise<void>((resolve) => socket.write(text, () => resolve()));
  return socket;
}

async function running(vendor: string): Promise<Record<string, unknown>[]> {
  return (await gateway.books()).requests.filter(({ adapter, ended }) => adapter === vendor && ended === "open");
}

/** Waits until the sandbox has stopped writing, and returns its token count. */
function stuckAt(vendor: string): Promise<number> {
  const written = async () => (await running(vendor)).reduce((sum, { tokensOut }) => sum + Number(tokensOut), 0);
  return standstill(written, "an upstream that waits");
}

function pauseForAWhile(): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, PAUSE_MS));
}

/** Reads to the end; keeps only the word count and the last bytes. */
async function readOn(socket: Socket): Promise<{ words: number; end: string }> {
  let words = 0;
  let line = "";
  let end = "";
  socket.on("data", (bytes) => {
    const lines = (line + bytes.toString("latin1")).split("\n");
    end = (end + bytes.toString("latin1")).slice(-200);
    line = lines.pop() ?? "";
    for (const one of lines) if (/"content":"[^"]/.test(one)) words++;
  });
  socket.resume();
  await new Promise((resolve) => socket.once("close", resolve));
  return { words, end };
}

async function recordOf(account: TestAccount): Promise<Record<string, unknown>> {
  return eventually(
    () => gateway.records().find((row) => row.account_id === account.accountId && row.operation === "chat"),
    "the record",
  );
}

describe("a client that does not read makes the upstream wait for longer than a vendor may be silent, and then", () => {
  it.concurrent.each(VENDORS)("gets everything from %s", async (vendor) => {
    const account = await gateway.account();
    const socket = await askWithoutReading(account, `${vendor}/ok`);
    const stuck = await stuckAt(vendor);
    expect(stuck * WIDTH).toBeLessThan(UNDER_WAY_BYTES_MAX);
    await pauseForAWhile();
    expect(await stuckAt(vendor)).toBe(stuck);
    const { words, end } = await readOn(socket);
    expect(await recordOf(account)).toMatchObject({ outcome: "success", usage: { outputTokens: WORDS } });
    expect(words).toBe(WORDS);
    expect(end).toContain("data: [DONE]\n\n");
  });
});

describe("a client that does not read leaves, and", () => {
  it.concurrent.each(VENDORS)("%s is stopped, and at most what it made is charged", async (vendor) => {
    const account = await gateway.account();
    const socket = await askWithoutReading(account, `${vendor}/ok`);
    const stuck = await stuckAt(vendor);
    socket.destroy();
    const record = await recordOf(account);
    expect(record.outcome).toBe("left_after_content");
    await eventually(async () => ((await running(vendor)).length === 0 ? true : undefined), "the upstream's end");
    const [row] = (await gateway.books()).requests.filter(({ requestId }) => requestId === record.request_id);
    expect(row?.ended).toBe("aborted");
    // A padded word is one token to the sandbox, and many to a tokenizer.
    expect(Number(row?.tokensOut)).toBeLessThan(stuck + WORDS / 8);
    expect(Number(record.charged_nano_usd)).toBeGreaterThan(0);
    expect((await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`)).json.held_cents).toBe(0);
  });
});

it("twelve that do not read cost no memory to speak of", async () => {
  const account = await gateway.account();
  const asked = async () => (await gateway.books()).requests.filter(({ adapter }) => adapter === "sandbox").length;
  const [beforeBytes, before] = [process.memoryUsage().rss, await asked()];
  const sockets = await Promise.all(Array.from({ length: 12 }, () => askWithoutReading(account, "sandbox/ok")));
  await stuckAt("sandbox");
  // On a busy machine the gateway may have closed some by now, because it drops clients that read nothing for ten seconds.
  expect(await asked()).toBe(before + 12);
  // Buffering all of it would take 480 MiB.
  expect(process.memoryUsage().rss - beforeBytes).toBeLessThan(128 * 1024 * 1024);
  for (const socket of sockets) socket.destroy();
  await eventually(async () => ((await running("sandbox")).length === 0 ? true : undefined), "the end of all");
});
