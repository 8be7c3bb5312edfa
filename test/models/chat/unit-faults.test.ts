// Models sold by units, at vendors that fail, break off, bill more than the hold, or report no usage.

import { mkdirSync, mkdtempSync, writeFileSync } from "node:fs";
import { createConnection } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { toFile } from "openai";
import { afterAll, beforeAll, beforeEach, expect, it } from "vitest";
import { startTestGateway, type TestAccount, type TestGateway } from "../../support/gateway.ts";
import { postAs } from "../../support/keyed-fetch.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { startVendor, type VendorServer } from "../../support/vendor-server.ts";

let folder: string;
let gateway: TestGateway;
let account: TestAccount;
let first: VendorServer;
let second: VendorServer;

const adapter = (name: string) => `// ${name}: what hears, sees, speaks and ranks.
import { bearer, defineAdapter } from "#adapter";
const since = "2026-01-01";
export default defineAdapter({
  name: "${name}",
  docs: "docs/guides/add-a-provider.md",
  origin: "https://${name}.invalid/v1",
  auth: bearer,
  unitModels: {
    hears: { slug: "lab/hears", kind: "transcription", dialect: "openai-audio", formats: ["json"], streams: true, prices: [{ since, hours: "0.36" }] },
    sees: { slug: "lab/sees", kind: "images", dialect: "openai-images", formats: ["url", "b64_json"], prices: [{ since, images: { "1024x1024 standard": "0.04" } }] },
    speaks: { slug: "lab/speaks", kind: "speech", dialect: "openai-voice", prices: [{ since, characters: "15" }] },
    ranks: { slug: "lab/ranks", kind: "rerank", dialect: "cohere-rerank", prices: [{ since, searches: "2" }] },
  },
});
`;

beforeAll(async () => {
  [first, second] = await Promise.all([startVendor(), startVendor()]);
  folder = mkdtempSync(join(tmpdir(), "tollgate-units-"));
  mkdirSync(join(folder, "adapters"));
  for (const name of ["lab-one", "lab-two"]) writeFileSync(join(folder, "adapters", `${name}.ts`), adapter(name));
  gateway = await startTestGateway({
    OVERLAY_DIR: folder,
    LAB_ONE_API_KEY: "one",
    LAB_ONE_BASE_URL: first.url,
    LAB_TWO_API_KEY: "two",
    LAB_TWO_BASE_URL: second.url,
  });
  account = await gateway.account({ kind: "personal", creditCents: 10_000 });
});

beforeEach(() => {
  first.answers({ status: 500, body: { error: { message: "down" } } });
  second.answers({ status: 500, body: { error: { message: "down" } } });
});

afterAll(async () => {
  const findings = await gateway.doctor();
  await gateway.stop();
  await Promise.all([first.close(), second.close()]);
  removeFolder(folder);
  expect(findings).toEqual([]);
});

const file = () => toFile(Buffer.from("sound ".repeat(5_000)), "talk.mp3", { type: "audio/mpeg" });
const hear = async () =>
  account.client.audio.transcriptions.create({ file: await file(), model: "lab/hears" }).withResponse();

it("another vendor gets the very same file", async () => {
  second.answers({ body: { text: "calm", duration: 20 } });
  const { data, response } = await hear();
  expect(data.text).toBe("calm");
  expect(response.headers.get("x-tollgate-attempts")).not.toBe("1");
  const bodies = [...first.asked, ...second.asked].map(({ body, headers }) => {
    const [, boundary = ""] = /boundary=(\S+)/.exec(String(headers["content-type"])) ?? [];
    expect(Number(headers["content-length"])).toBe(Buffer.byteLength(String(body)));
    return String(body)
      .replaceAll(boundary, "B")
      .replace(/model"\r\n\r\n\w+/, "");
  });
  expect(new Set(bodies).size).toBe(1);
  expect(bodies[0]).toContain('name="file"; filename="talk.mp3"\r\ncontent-type: audio/mpeg\r\n\r\nsound sound');
  expect((await gateway.record(response.headers.get("x-request-id"))).charged_nano_usd).toBe(2_000_000);
});

it("what nobody could do costs nothing", async () => {
  await expect(hear()).rejects.toMatchObject({ status: 502, code: "upstream_error" });
  const { json } = await gateway.admin("GET", `/admin/v1/accounts/${account.accountId}`);
  expect(json).toMatchObject({ held_cents: 0 });
});

it("a vendor that hears more than the file can last is paid by us beyond the hold", async () => {
  first.answers({ body: { text: "calm", duration: 9_999 } });
  const { response } = await hear();
  const record = await gateway.record(response.headers.get("x-request-id"));
  expect(record).toMatchObject({ charged_nano_usd: record.held_nano_usd, absorb_reason: "usage_above_hold" });
});

it("a vendor that does not say what it heard is taken to have heard all that could be in the file", async () => {
  first.answers({ body: { text: "calm" } });
  const { response } = await hear();
  const record = await gateway.record(response.headers.get("x-request-id"));
  expect(record).toMatchObject({ charged_nano_usd: record.held_nano_usd, estimated: true });
});

it.each([
  ["no image", { created: 1, data: [] }],
  ["an error", { error: { message: "overloaded", type: "server_error" } }],
  ["a page", "<html></html>"],
])("an answer with %s is no answer, and the next vendor's turn", async (_, body) => {
  first.answers({ body });
  second.answers({ body: { created: 1, data: [{ url: "https://images.example/1.png" }] } });
  const { data, response } = await account.client.images.generate({ model: "lab/sees", prompt: "x" }).withResponse();
  expect(data.data).toHaveLength(1);
  const record = await gateway.record(response.headers.get("x-request-id"));
  expect(record).toMatchObject({ provider: "lab-two", charged_nano_usd: 40_000_000 });
});

it("is charged for the images that came, not for those that were asked for", async () => {
  first.answers({ body: { created: 1, data: [{ url: "https://images.example/1.png" }] } });
  const { response } = await account.client.images.generate({ model: "lab/sees", prompt: "x", n: 3 }).withResponse();
  const record = await gateway.record(response.headers.get("x-request-id"));
  expect(record).toMatchObject({ held_nano_usd: 120_000_000, charged_nano_usd: 40_000_000 });
});

it("an outage in which vendors close every connection locks no honest account out", async () => {
  const honest = await gateway.account({ kind: "personal", creditCents: 1_000 });
  for (const vendor of [first, second]) vendor.answers((response) => response.socket?.destroy());
  const fails = async () => {
    const asked = honest.client.images.generate({ model: "lab/sees", prompt: "x", n: 10 }, { maxRetries: 0 });
    await expect(asked).rejects.toMatchObject({ status: 502, code: "upstream_error" });
  };
  // Concurrently, since most of each is the pause before a retry.
  for (let round = 0; round < 6; round++) await Promise.all(Array.from({ length: 5 }, fails));
  const { json } = await gateway.admin("GET", `/admin/v1/accounts/${honest.accountId}`);
  expect(json.unpaid).toMatchObject({ today_nano_usd: 0 });
});

it("a vendor's refusal of a prompt is told as one, and costs nothing", async () => {
  const body = {
    error: { message: "Your request was rejected by the safety system.", code: "content_policy_violation" },
  };
  first.answers({ status: 400, body });
  second.answers({ status: 400, body });
  const asked = account.client.images.generate({ model: "lab/sees", prompt: "x" });
  await expect(asked).rejects.toMatchObject({ status: 400, code: "content_policy_violation" });
});

it("sound that breaks off ends in a broken connection, and costs nothing", async () => {
  first.answers((response) => {
    response.writeHead(200, { "content-type": "audio/mpeg", "content-length": "10000000" });
    // Larger than one socket read, so that the first piece has gone out.
    response.write(Buffer.alloc(1_000_000, 1), () => setImmediate(() => response.destroy()));
  });
  const response = await account.client.audio.speech.create({ model: "lab/speaks", voice: "x", input: "calm" });
  await expect(response.arrayBuffer()).rejects.toThrow();
  const record = await gateway.record(response.headers.get("x-request-id"));
  expect(record.charged_nano_usd ?? 0).toBe(0);
});

it("sound of no bytes is none, and the next vendor's turn", async () => {
  first.answers({ headers: { "content-type": "audio/mpeg" }, body: "" });
  second.answers({ headers: { "content-type": "audio/mpeg" }, body: Buffer.from("sound") });
  const response = await account.client.audio.speech.create({ model: "lab/speaks", voice: "x", input: "calm" });
  expect(Buffer.from(await response.arrayBuffer()).toString()).toBe("sound");
});

it("ranks of documents that nobody sent are no answer", async () => {
  first.answers({ body: { results: [{ index: 7, relevance_score: 1 }] } });
  second.answers({
    body: { results: [{ index: 0, relevance_score: 0.5 }], meta: { billed_units: { search_units: 1 } } },
  });
  const response = await postAs(account.key, `${gateway.url}/v1/rerank`, {
    model: "lab/ranks",
    query: "x",
    documents: ["y"],
  });
  expect(await response.json()).toMatchObject({ results: [{ index: 0, relevance_score: 0.5 }] });
});

it("a form whose sender leaves in the middle is never asked of anybody, and held by nobody", async () => {
  const { port } = new URL(gateway.url);
  const socket = createConnection(Number(port), "127.0.0.1");
  const head = [
    "POST /v1/audio/transcriptions HTTP/1.1",
    "Host: 127.0.0.1",
    `Authorization: Bearer ${account.key}`,
    "Content-Type: multipart/form-data; boundary=x",
    "Content-Length: 100000",
    "",
    '--x\r\ncontent-disposition: form-data; name="file"; filename="a.mp3"\r\n\r\nhalf a file',
  ];
  await new Promise<void>((resolve) => socket.write(head.join("\r\n"), () => resolve()));
  const before = gateway.records().length;
  socket.destroy();
  await expect.poll(() => gateway.records().length, { timeout: 60_000 }).toBeGreaterThan(before);
  const record = gateway.records().at(-1);
  expect(record).toMatchObject({ endpoint: "/api/llm/v1/audio/transcriptions", code: "bad_request" });
  expect(record).not.toHaveProperty("held_nano_usd");
  expect([...first.asked, ...second.asked]).toEqual([]);
});
