// The gateway opens links that a vendor cannot open: guarded, bounded, once per call, and sends their content.

import { createServer, type Server, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { gzipSync } from "node:zlib";
import { afterAll, beforeAll, beforeEach, describe, expect, it } from "vitest";
import { keyHeader } from "../../src/catalog/adapter.ts";
import type { Offer } from "../../src/catalog/catalog.ts";
import type { ChatWire, DialectName } from "../../src/catalog/chat-wire.ts";
import { compilePrice } from "../../src/catalog/price.ts";
import { systemClock } from "../../src/core/clock.ts";
import type { AttemptFailure, FinalPart } from "../../src/core/route.ts";
import { chatAnswers } from "../../src/models/formats/chat-completions/answers.ts";
import { chatRequest } from "../../src/models/formats/chat-completions/request.ts";
import type { MessagesBody } from "../../src/models/formats/messages/fields.ts";
import { messagesRequest } from "../../src/models/formats/messages/request.ts";
import { DIALECTS } from "../../src/models/formats/vendor-dialects.ts";
import { createRequestWindows } from "../../src/platform/limits/request-windows.ts";
import { CALL_BYTES_MAX, LINK_BYTES_MAX, UNPAID_LINKS_MAX } from "../../src/upstream/fetch-media.ts";
import type { ModelCandidate } from "../../src/upstream/model-candidate.ts";
import { createPublicFetch } from "../../src/upstream/public-fetch.ts";
import { createUpstream, type Upstream } from "../../src/upstream/upstream.ts";
import { eventually } from "../support/gateway.ts";
import { manualClock } from "../support/manual-clock.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

const PNG = Buffer.from("\x89PNG\r\n\x1a\n and so on", "latin1");
const PDF = Buffer.from("%PDF-1.7\n and so on");
const page =
  (bytes: Buffer | string, type = "image/png", status = 200) =>
  (response: ServerResponse) =>
    void response.writeHead(status, { "content-type": type }).end(bytes);

/** Links opened for failed calls are counted per minute. */
const minutes = manualClock(Date.parse("2026-11-22T12:00:00Z"));
let server: Server;
let site: string;
let vendor: VendorServer;
let upstream: Upstream;
const opened: string[] = [];
const PAGES: Record<string, (response: ServerResponse) => void> = {
  "/cat": page(PNG, "text/plain"),
  "/dog": page(Buffer.from([0xff, 0xd8, 0xff, 0xe0, 1])),
  "/paper": page(PDF),
  "/notes.txt": page("Just words"),
  "/liar.pdf": page("Just words", "application/pdf"),
  "/html": page("<html>", "image/png"),
  "/missing": page(PNG, "image/png", 404),
  "/inside": (response) => void response.writeHead(302, { location: "http://169.254.169.254/latest/meta-data" }).end(),
  "/huge": page(Buffer.concat([PNG, Buffer.alloc(LINK_BYTES_MAX)])),
  "/bomb": (response) =>
    void response
      .writeHead(200, { "content-encoding": "gzip" })
      .end(gzipSync(Buffer.concat([PNG, Buffer.alloc(LINK_BYTES_MAX)]))),
  "/slow": () => {},
};
for (let at = 0; at < 4; at++) PAGES[`/large-${at}`] = page(Buffer.concat([PNG, Buffer.alloc(CALL_BYTES_MAX / 3)]));

beforeAll(async () => {
  server = createServer((request, response) => {
    opened.push(request.url ?? "");
    (PAGES[(request.url ?? "").split("?")[0] ?? ""] ?? page("", "", 404))(response);
  });
  await new Promise<void>((done) => server.listen(0, "127.0.0.1", done));
  const { port } = server.address() as AddressInfo;
  site = `http://127.0.0.1:${port}`;
  vendor = await startVendor();
  const publicFetch = createPublicFetch({ allowForTests: [`127.0.0.1:${port}`] });
  upstream = createUpstream(systemClock, {
    dialects: DIALECTS,
    publicFetch,
    unpaidLinks: createRequestWindows({ clock: minutes }),
  });
});
beforeEach(() => {
  opened.length = 0;
  vendor.asked.length = 0;
  const content = [{ type: "text", text: "A cat." }];
  const choices = [{ index: 0, message: { role: "assistant", content: "A cat." }, finish_reason: "stop" }];
  const candidates = [{ content: { parts: [{ text: "A cat." }] }, finishReason: "STOP" }];
  vendor.answers({ body: { content, choices, candidates, stop_reason: "end_turn", usage: {} } });
});
afterAll(async () => {
  server.closeAllConnections();
  server.close();
  await upstream.close();
  await vendor.close();
});

const image = (url: string) => ({ type: "image_url", image_url: { url } });
const document = (file_data: string) => ({ type: "file", file: { file_data, filename: "a.pdf" } });
const asking = (...parts: readonly object[]) =>
  chatRequest({ messages: [{ role: "user", content: parts as { type: string }[] }] });

interface Asked {
  readonly fetches: ChatWire["fetches"];
  readonly dialect?: DialectName;
  readonly sandbox?: true;
  readonly account?: string;
}

function candidate(
  asked: ReturnType<typeof asking>,
  { fetches, dialect = "messages", sandbox, account = "acct_1" }: Asked,
): ModelCandidate | string {
  const offer: Offer = {
    adapter: {
      id: "vendor",
      spec: { name: "Vendor", docs: "", origin: "", auth: keyHeader("x-key") },
      origin: vendor.url,
      origins: {},
      settings: {},
      deployments: null,
      keys: ["key"],
      userAgent: null,
      configured: true,
      ...(sandbox === undefined ? {} : { isSandbox: sandbox }),
    },
    upstreamModel: "m",
    weight: 1,
    spec: { contextTokens: 1, prices: [] },
    cost: compilePrice({ since: "2026-01-01", input: "1", output: "1" }, "m"),
    healthKey: "vendor:m",
    chat: { dialect, models: {} },
    wire: fetches === undefined ? {} : { fetches },
  };
  const clocks = { firstTokenMsMax: 20_000, lastFirstTokenMsMax: 20_000, gapMsMax: 20_000 };
  const ids = { requestId: "req_1", completionId: "c", createdS: 0, servedSlug: "vendor/m", stream: false, account };
  const answers = chatAnswers({ id: "c", createdS: 0, model: "vendor/m" });
  return upstream.chatCandidate(offer, { asked, answers, ...ids, contextTokens: 1, outputTokensMax: 1, clocks });
}

function ask(route: ModelCandidate | string): Promise<FinalPart | AttemptFailure> {
  if (typeof route === "string") throw new Error(route);
  return new Promise((resolve) => {
    route.open({ content() {}, done: resolve, failed: resolve }, 20_000);
  });
}

const sentPart = () => JSON.stringify(vendor.asked[0]?.body);
const sentContent = () =>
  (vendor.asked[0]?.body as { messages: { content: object[] }[] } | undefined)?.messages[0]?.content;
const base64 = (bytes: Buffer | string) => Buffer.from(bytes).toString("base64");

describe("what a vendor cannot open", () => {
  it("is sent as what stands there, by its bytes and not by what its server says", async () => {
    const asked = asking(image(`${site}/cat`), image(`${site}/dog?size=1`), document(`${site}/paper`));
    expect(await ask(candidate(asked, { fetches: "https" }))).toMatchObject({ kind: "body" });
    const content = sentContent();
    expect(content).toMatchObject([
      { type: "image", source: { type: "base64", media_type: "image/png", data: base64(PNG) } },
      { type: "image", source: { type: "base64", media_type: "image/jpeg" } },
      { type: "document", source: { type: "base64", media_type: "application/pdf", data: base64(PDF) } },
    ]);
  });

  it("is decided by the adapter: https, https with an ending, or nothing", async () => {
    const links = ["https://a.example/cat", "https://a.example/cat.PNG?x=1", "http://a.example/cat.png"];
    const outcome = async (fetches: ChatWire["fetches"]) =>
      Promise.all(
        links.map(async (url) => {
          const end = await ask(candidate(asking(image(url)), { fetches, dialect: "chat-completions" }));
          return end.kind === "body" ? "passed" : "opened";
        }),
      );
    expect(await outcome(undefined)).toEqual(["passed", "passed", "passed"]);
    // Where the adapter does not say, the wire decides.
    const claude = await ask(candidate(asking(image("http://a.example/cat.png")), { fetches: undefined }));
    expect(claude.kind).toBe("caller_unsupported");
    expect(await outcome("https")).toEqual(["passed", "passed", "opened"]);
    expect(await outcome("https-typed")).toEqual(["opened", "passed", "opened"]);
    expect(await outcome("none")).toEqual(["opened", "opened", "opened"]);
  });

  it("passes as a data URL where the wire is the caller's own, and nothing else of the body changes", async () => {
    const asked = asking({ type: "text", text: "What?" }, image(`${site}/cat`), document(`${site}/notes.txt`));
    await ask(candidate(asked, { fetches: "none", dialect: "chat-completions" }));
    const content = sentContent();
    expect(content).toEqual([
      { type: "text", text: "What?" },
      image(`data:image/png;base64,${base64(PNG)}`),
      document(`data:text/plain;base64,${base64("Just words")}`),
    ]);
  });

  it("passes in the messages wire too, results of tools included, and the rest of the caller's bytes stays", async () => {
    const linked = (url: string) => ({ type: "image", source: { type: "url", url } });
    const call = { type: "tool_use", id: "a", name: "look", input: {} };
    const result = { type: "tool_result", tool_use_id: "a", content: [linked(`${site}/cat`)] };
    const paper = { type: "document", title: "A", source: { type: "url", url: `${site}/notes.txt` } };
    const body: MessagesBody = {
      model: "m",
      max_tokens: 5,
      messages: [
        { role: "user", content: [linked("https://a.example/cat.png"), paper] },
        { role: "assistant", content: [call] },
        { role: "user", content: [result] },
      ],
    };
    const sent = { bytes: Buffer.from(JSON.stringify(body)), headers: { "some-beta": "b1" } };
    const asked = { ...messagesRequest(body), sent };
    const opensHttps = candidate(asked, { fetches: undefined });
    expect(await ask(opensHttps)).toMatchObject({ kind: "body" });
    const { messages, max_tokens } = (vendor.asked[0]?.body ?? {}) as typeof body;
    expect(messages).toMatchObject([
      {
        content: [
          linked("https://a.example/cat.png"),
          { title: "A", source: { type: "text", media_type: "text/plain", data: "Just words" } },
        ],
      },
      { content: [call] },
      { content: [{ content: [{ source: { type: "base64", media_type: "image/png", data: base64(PNG) } }] }] },
    ]);
    expect([max_tokens, vendor.asked[0]?.headers["some-beta"]]).toEqual([1, "b1"]);
    // For an adapter that opens none, the gateway must open the first link too, which leads nowhere here.
    expect((await ask(candidate(asked, { fetches: "none" }))).kind).toBe("caller_unsupported");
  });

  it("goes to Gemini's wire inline, without an ending", async () => {
    await ask(candidate(asking(image(`${site}/cat`)), { fetches: "https-typed", dialect: "generate-content" }));
    expect(sentPart()).toContain(`{"inlineData":{"mimeType":"image/png","data":"${base64(PNG)}"}}`);
  });

  it("is opened once for a call, whoever of its candidates wants it, and however often it is named", async () => {
    vendor.answers(
      { status: 500, body: {} },
      { body: { content: [{ type: "text", text: "A cat." }], stop_reason: "end_turn", usage: {} } },
    );
    const asked = asking(image(`${site}/cat`), image(`${site}/cat`));
    expect(await ask(candidate(asked, { fetches: "https" }))).not.toMatchObject({ kind: "body" });
    expect(await ask(candidate(asked, { fetches: "https" }))).toMatchObject({ kind: "body" });
    expect(vendor.asked).toHaveLength(2);
    expect(opened).toEqual(["/cat"]);
  });

  it("is never opened for a sandbox account", async () => {
    const asked = asking(image("http://a.example/cat"), document(`${site}/paper`));
    const route = candidate(asked, { fetches: "none", sandbox: true });
    expect(await ask(route)).toMatchObject({ kind: "body" });
    expect(opened).toEqual([]);
  });
});

describe("what stands in the way of opening it", () => {
  const LINKS: readonly (readonly [what: string, link: () => object, words: RegExp])[] = [
    ["a private address", () => image("http://10.0.0.1/cat.png"), /does not lead to a public address/],
    ["a name of this network", () => image("http://localhost/cat.png"), /does not lead to a public address/],
    ["another port", () => image("http://a.example:8080/cat.png"), /port/],
    ["a redirect inside", () => image(`${site}/inside`), /redirects to one that does not lead to a public address/],
    ["a file that is too large", () => image(`${site}/huge`), /more than the 8388608 bytes/],
    ["a small file that becomes too large", () => image(`${site}/bomb`), /more than the 8388608 bytes/],
    ["a page that is no image", () => image(`${site}/html`), /does not serve an image/],
    ["a text that says it is a PDF", () => document(`${site}/liar.pdf`), /does not serve a document/],
    ["an image where a document is wanted", () => document(`${site}/cat`), /does not serve a document/],
    ["a page that is missing", () => image(`${site}/missing`), /answers with status 404/],
  ];

  it.each(LINKS)("%s is the caller's affair, and the vendor is not asked", async (_, link, words) => {
    const end = await ask(candidate(asking(link()), { fetches: "none" }));
    expect(end).toMatchObject({ kind: "caller_unsupported", status: 400 });
    if ("message" in end) expect(end.message).toMatch(words);
    expect(vendor.asked).toEqual([]);
  });

  it("many links: a request with more than sixteen is not even begun", () => {
    const parts = (count: number) => Array.from({ length: count }, (_, at) => image(`${site}/cat?${at}`));
    expect(candidate(asking(...parts(16)), { fetches: "none" })).toBeTypeOf("object");
    for (const dialect of ["messages", "chat-completions"] as const)
      expect(candidate(asking(...parts(1_000)), { fetches: "none", dialect })).toMatch(/1000 links/);
    expect(opened).toEqual([]);
  });

  it("many large files together: the call stops at its bound", async () => {
    const parts = [0, 1, 2, 3].map((at) => image(`${site}/large-${at}`));
    const end = await ask(candidate(asking(...parts, image(`${site}/cat`)), { fetches: "none" }));
    expect(end).toMatchObject({ kind: "caller_unsupported" });
    if ("message" in end) expect(end.message).toMatch(/the others of the call serve more than/);
    expect(vendor.asked).toEqual([]);
  });

  it("a slow server: who leaves is not waited for, and nothing of it stays", async () => {
    const route = candidate(asking(image(`${site}/slow`)), { fetches: "none" });
    if (typeof route === "string") throw new Error(route);
    const ended: unknown[] = [];
    const attempt = route.open(
      { content() {}, done: (end) => ended.push(end), failed: (end) => ended.push(end) },
      20_000,
    );
    await eventually(() => (opened.includes("/slow") ? true : undefined), "the slow page to be asked for");
    expect(attempt.accepted()).toBe(false);
    attempt.abort();
    const connections = () => new Promise<number>((done) => server.getConnections((_, count) => done(count)));
    await eventually(async () => ((await connections()) === 0 ? true : undefined), "the connection to be closed");
    expect([ended, vendor.asked]).toEqual([[], []]);
  });
});

describe("links that are opened for nothing", () => {
  const tryOne = (account: string, path: string) =>
    ask(candidate(asking(image(`${site}${path}`)), { fetches: "https", account }));

  it("are counted by account and minute, so that we are no free crawler", async () => {
    minutes.advance(60_000);
    for (let at = 0; at < UNPAID_LINKS_MAX; at++) await tryOne("acct_crawler", "/html");
    expect(opened).toHaveLength(UNPAID_LINKS_MAX);
    expect(await tryOne("acct_crawler", "/cat")).toMatchObject({
      kind: "caller_unsupported",
      message: expect.stringContaining("opened for nothing"),
    });
    expect(opened).toHaveLength(UNPAID_LINKS_MAX);
    expect(await tryOne("acct_other", "/cat")).toMatchObject({ kind: "body" });
    minutes.advance(60_000);
    expect(await tryOne("acct_crawler", "/cat")).toMatchObject({ kind: "body" });
  });

  it("are those whose vendor then refused too, though they were there", async () => {
    minutes.advance(60_000);
    vendor.answers({ status: 500, body: { error: { message: "down" } } });
    for (let at = 0; at < UNPAID_LINKS_MAX; at++) await tryOne("acct_unlucky", "/cat");
    expect(await tryOne("acct_unlucky", "/cat")).toMatchObject({ kind: "caller_unsupported" });
  });

  it("do not count where the call was served", async () => {
    minutes.advance(60_000);
    for (let at = 0; at <= UNPAID_LINKS_MAX; at++) {
      expect(await tryOne("acct_good", "/cat")).toMatchObject({ kind: "body" });
    }
  });
});
