// Vendor connections over TLS, in HTTP/1.1 and HTTP/2: what the client sees, and that the ledger shows each answer once and nothing held.
import { once } from "node:events";
import { mkdirSync, readFileSync } from "node:fs";
import type { ServerHttp2Session } from "node:http2";
import type { AddressInfo } from "node:net";
import { join } from "node:path";
import { setTimeout } from "node:timers/promises";
import { createServer, getCACertificates, type Server, setDefaultCACertificates, type TLSSocket } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import type { Adapter } from "../../src/catalog/catalog.ts";
import { systemClock } from "../../src/core/clock.ts";
import { createConnections } from "../../src/upstream/connections.ts";
import { Exchange } from "../../src/upstream/exchange.ts";
import { tapVendors } from "../../src/upstream/vendor-tap.ts";
import { type CertificateFiles, makeCertificate } from "../support/certificates.ts";
import { folderForFile } from "../support/for-file.ts";
import { eventually, startTestGateway, type TestAccount, type TestGateway } from "../support/gateway.ts";
import { startTcpProxy, type TcpProxy } from "../support/tcp-proxy.ts";
import { ANSWER_NANO, startPlainVendor, startTlsVendor, type TlsVendor, WORD } from "../support/tls-vendor.ts";

const CREDIT_CENTS = 1_000;
/** Longer than the gateway keeps a connection on which pings get no reply. */
const LONGER_THAN_PINGS_MS = 9_500;
/** So long that only the tested fault can end a call. */
const CLOCKS = { FIRST_TOKEN_SECONDS: "170", CHUNK_GAP_SECONDS: "170" };

const trusted = getCACertificates("default");
const folder = folderForFile("tollgate-tls-");
const ends: (() => unknown)[] = [];

async function certificate(name: string, options: Parameters<typeof makeCertificate>[1] = {}) {
  const own = join(folder, name);
  mkdirSync(own);
  return makeCertificate(own, options);
}

async function vendor(files: CertificateFiles, http2: boolean): Promise<TlsVendor> {
  const started = await startTlsVendor(files, { http2 });
  ends.push(started.close);
  return started;
}

async function proxied({ port }: TlsVendor): Promise<TcpProxy> {
  const proxy = await startTcpProxy(port);
  ends.push(proxy.close);
  return proxy;
}

/** The operator's own vendors, by name, each at a local port. */
function environmentOf(ports: Readonly<Record<string, number>>, spare: number): Record<string, string> {
  const named = Object.entries(ports).map(([name, port]) => [name, `https://127.0.0.1:${port}/v1`] as const);
  const all = [...named, ["spare", `http://127.0.0.1:${spare}/v1`] as const];
  return Object.fromEntries(
    all.flatMap(([name, url]) => {
      const variable = `CUSTOM_${name.toUpperCase()}`;
      return [
        [`${variable}_BASE_URL`, url],
        [`${variable}_PROMPT_USD_PER_MILLION`, "1"],
        [`${variable}_COMPLETION_USD_PER_MILLION`, "2"],
      ];
    }),
  );
}

interface Asked {
  /** Settles when the first word has arrived. */
  readonly begun: Promise<void>;
  /** The whole text. */
  readonly text: Promise<string>;
  leave(): void;
}

/** Streams from the vendor `name`, with the plain vendor as fallback. */
function ask(gateway: TestGateway, account: TestAccount, name: string, prompt: string): Asked {
  const begun = Promise.withResolvers<void>();
  const leaving = new AbortController();
  const read = async () => {
    const models = [`custom-${name}/m`, "custom-spare/m"];
    const response = await fetch(`${gateway.url}/api/llm/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${account.key}`, "content-type": "application/json" },
      body: JSON.stringify({ models, stream: true, messages: [{ role: "user", content: prompt }] }),
      signal: leaving.signal,
    });
    let text = "";
    for await (const part of response.body ?? []) {
      text += Buffer.from(part).toString();
      if (text.includes("word")) begun.resolve();
    }
    return text;
  };
  const text = read().catch((error: unknown) => `left: ${String(error)}`);
  return { begun: begun.promise, text, leave: () => leaving.abort() };
}

const isWhole = (text: string) => text.includes('"content":"word"') && text.trimEnd().endsWith("data: [DONE]");
const hasBroken = (text: string) => text.includes('"finish_reason":"error"') && !text.includes("[DONE]");

/** The account's charges by vendor, once nothing is held. */
async function chargedBy(gateway: TestGateway, account: TestAccount): Promise<Record<string, number>> {
  const get = async (path: string) => {
    const headers = { authorization: `Bearer ${account.key}` };
    return (await (await fetch(`${gateway.url}${path}`, { headers })).json()) as Record<string, unknown>;
  };
  await eventually(async () => {
    const { held_cents } = await get("/api/v1/account");
    return held_cents === 0 ? true : undefined;
  }, "the end of all holds");
  const { transactions } = await get("/api/v1/transactions?limit=200");
  const charges = (transactions as { kind: string; model: string; charged_nano_usd: unknown }[]).filter(
    ({ kind }) => kind === "charge",
  );
  const counts: Record<string, number> = {};
  for (const { model, charged_nano_usd } of charges) {
    const name = model.replace(/^custom-(.+)\/m$/, "$1");
    const whole = Number(charged_nano_usd) === ANSWER_NANO ? name : `${name} in part`;
    counts[whole] = (counts[whole] ?? 0) + 1;
  }
  return counts;
}

let good: CertificateFiles;
let spare: Awaited<ReturnType<typeof startPlainVendor>>;

beforeAll(async () => {
  good = await certificate("good");
  spare = await startPlainVendor();
  ends.push(spare.close);
});

afterAll(async () => {
  await Promise.all(ends.map((end) => end()));
  setDefaultCACertificates(trusted);
});

function trust(...files: readonly CertificateFiles[]): void {
  setDefaultCACertificates([...trusted, ...files.map(({ certificateFile }) => readFileSync(certificateFile, "utf8"))]);
}

/** A TLS record that was never encrypted. */
const GARBAGE = Buffer.concat([Buffer.from([0x17, 0x03, 0x03, 0x00, 0x40]), Buffer.alloc(64, 7)]);

const FLOOD_BYTES = 20_000_000;
/** An empty SETTINGS frame (RFC 9113, 6.5); each must be acknowledged. */
const SETTINGS_FRAME = Buffer.from([0, 0, 0, 4, 0, 0, 0, 0, 0]);

interface FloodingVendor {
  readonly port: number;
  /** The most bytes sent over one connection. */
  written(): number;
}

/** Answers requests with SETTINGS frames, as fast as the gateway reads them. */
async function startFlood({ keyFile, certificateFile }: CertificateFiles): Promise<FloodingVendor> {
  const block = Buffer.concat(Array.from({ length: 1_000 }, () => SETTINGS_FRAME));
  let most = 0;
  const flood = (socket: TLSSocket) => {
    let written = 0;
    const more = () => {
      while (written < FLOOD_BYTES && !socket.destroyed) {
        written += block.length;
        most = Math.max(most, written);
        if (!socket.write(block)) return;
      }
    };
    socket.on("error", () => {}).on("drain", more);
    socket.write(SETTINGS_FRAME);
    socket.once("data", more);
    ends.push(() => socket.destroy());
  };
  const files = { key: readFileSync(keyFile), cert: readFileSync(certificateFile) };
  const server: Server = createServer({ ...files, ALPNProtocols: ["h2"] }, flood).listen(0, "127.0.0.1");
  ends.push(() => server.close());
  await once(server, "listening");
  return { port: (server.address() as AddressInfo).port, written: () => most };
}

function frame(type: number, flags: number, stream: number, payload: Buffer): Buffer {
  const head = Buffer.alloc(9);
  head.writeUIntBE(payload.length, 0, 3);
  head.writeUInt8(type, 3);
  head.writeUInt8(flags, 4);
  head.writeUInt32BE(stream, 5);
  return Buffer.concat([head, payload]);
}

/** Whether a HEADERS frame has begun after the preface. */
function hasHeaders(bytes: Buffer): boolean {
  for (let at = 24; at + 9 <= bytes.length; at += 9 + bytes.readUIntBE(at, 3)) if (bytes[at + 3] === 1) return true;
  return false;
}

/**
 * Resets the first stream after one word, with a code that undici takes for an end. Node's own server ends a stream properly before it
 * resets it, so these frames are written by hand (RFC 9113, 6.4): status 200, the word, RST_STREAM with CANCEL.
 */
async function startCut({ keyFile, certificateFile }: CertificateFiles): Promise<number> {
  const type = "text/event-stream";
  const headers = Buffer.concat([Buffer.from([0x88, 0x0f, 0x10, type.length]), Buffer.from(type)]);
  const answer = [
    frame(1, 4, 1, headers),
    frame(0, 0, 1, Buffer.from(WORD)),
    frame(3, 0, 1, Buffer.from([0, 0, 0, 8])),
  ];
  const files = { key: readFileSync(keyFile), cert: readFileSync(certificateFile) };
  const server = createServer({ ...files, ALPNProtocols: ["h2"] }, (socket) => {
    socket.on("error", () => {}).write(SETTINGS_FRAME);
    ends.push(() => socket.destroy());
    let heard = Buffer.alloc(0);
    const hear = (bytes: Buffer) => {
      heard = Buffer.concat([heard, bytes]);
      if (!hasHeaders(heard)) return;
      socket.off("data", hear).resume();
      socket.write(Buffer.concat(answer));
    };
    socket.on("data", hear);
  }).listen(0, "127.0.0.1");
  ends.push(() => server.close());
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}

/** Settles once the peer has acknowledged the new limit. */
function lowered(session: ServerHttp2Session, maxConcurrentStreams: number): Promise<void> {
  return new Promise((resolve) => session.settings({ maxConcurrentStreams }, () => resolve()));
}

describe("HTTP/2", () => {
  const names = ["goaway", "calm", "reset", "limit", "left", "dead", "alert"] as const;
  const vendors = {} as Record<(typeof names)[number], TlsVendor>;
  let gateway: TestGateway;
  let dead: TcpProxy;
  let alert: TcpProxy;
  let flood: FloodingVendor;
  let sound: TlsVendor;
  const account = () => gateway.account({ kind: "personal", creditCents: CREDIT_CENTS });

  beforeAll(async () => {
    trust(good);
    for (const name of names) vendors[name] = await vendor(good, true);
    dead = await proxied(vendors.dead);
    alert = await proxied(vendors.alert);
    flood = await startFlood(good);
    sound = await vendor(good, true);
    const ports = Object.fromEntries(names.map((name) => [name, vendors[name].port]));
    const all = { ...ports, dead: dead.port, alert: alert.port, flood: flood.port, cut: await startCut(good) };
    const speaking = { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: `https://127.0.0.1:${sound.port}/v1` };
    const environment = { ...environmentOf(all, spare.port), ...speaking, ...CLOCKS };
    gateway = await startTestGateway({ ...environment, VENDORS_HTTP2: "1" });
  });
  afterAll(async () => {
    const findings = await gateway.doctor();
    await gateway.stop();
    expect(findings).toEqual([]);
  });

  it.concurrent("a vendor that goes away finishes what it has begun, and what comes then has a new connection", async () => {
    const { goaway } = vendors;
    const payer = await account();
    const calls = [1, 2].map((n) => ask(gateway, payer, "goaway", `begin ${n}`));
    await Promise.all(calls.map(({ begun }) => begun));
    expect(goaway.connections).toHaveLength(1);
    const [first, second] = [await goaway.held("begin 1"), await goaway.held("begin 2")];
    first.session.goaway(0);
    const later = ask(gateway, payer, "goaway", "say 3");
    expect(isWhole(await later.text)).toBe(true);
    second.finish();
    // After GOAWAY undici sends no more pings, so silence does not mean that the connection is dead.
    await setTimeout(LONGER_THAN_PINGS_MS);
    first.finish();
    expect((await Promise.all(calls.map(({ text }) => text))).map(isWhole)).toEqual([true, true]);
    expect(goaway.connections).toHaveLength(2);
    expect(await chargedBy(gateway, payer)).toEqual({ goaway: 3 });
  });

  it.concurrent("one that ends its connection with an error breaks what has content, and the rest goes on unseen", async () => {
    const { calm } = vendors;
    const payer = await account();
    const [broken, moved] = [ask(gateway, payer, "calm", "begin 1"), ask(gateway, payer, "calm", "silent 2")];
    await broken.begun;
    const { session } = await calm.held("silent 2");
    session.goaway(11);
    session.destroy();
    expect(hasBroken(await broken.text)).toBe(true);
    expect(isWhole(await moved.text)).toBe(true);
    expect(await chargedBy(gateway, payer)).toEqual({ calm: 1 });
  });

  it.concurrent("a stream that is reset is one call's matter, and one that was refused is asked for again", async () => {
    const { reset } = vendors;
    const payer = await account();
    const [broken, other] = [ask(gateway, payer, "reset", "begin 1"), ask(gateway, payer, "reset", "begin 2")];
    await Promise.all([broken.begun, other.begun]);
    expect(isWhole(await ask(gateway, payer, "reset", "refuse 3").text)).toBe(true);
    expect(reset.asked.filter(({ prompt }) => prompt === "refuse 3")).toHaveLength(2);
    (await reset.held("begin 1")).stream.close(2);
    expect(hasBroken(await broken.text)).toBe(true);
    expect(isWhole(await ask(gateway, payer, "reset", "reset 4").text)).toBe(true);
    (await reset.held("begin 2")).finish();
    expect(isWhole(await other.text)).toBe(true);
    expect(reset.connections).toHaveLength(1);
    expect(await chargedBy(gateway, payer)).toEqual({ reset: 2, spare: 1 });
  });

  it.concurrent("a stream that is given up in the middle, without an error, breaks the call", async () => {
    const payer = await account();
    expect(hasBroken(await ask(gateway, payer, "cut", "say 1").text)).toBe(true);
    expect(await chargedBy(gateway, payer)).toEqual({});
  });

  it.concurrent("sound, of which nothing says where it ends, has a connection of HTTP/1.1 that does: half of it is not an answer", async () => {
    const payer = await account();
    const speak = (input: string) =>
      fetch(`${gateway.url}/api/llm/v1/audio/speech`, {
        method: "POST",
        headers: { authorization: `Bearer ${payer.key}`, "content-type": "application/json" },
        body: JSON.stringify({ model: "openai/tts-1", voice: "alloy", input }),
      });
    expect((await (await speak("say 1")).text()).length).toBeGreaterThan(0);
    const half = speak("begin 2").then((response) => response.text());
    const { socket } = await sound.held("begin 2");
    socket.destroy();
    // None of its words reached the client, so the gateway retries.
    expect(isWhole(await half)).toBe(true);
    expect(sound.sessions.size).toBe(0);
    expect(Object.values(await chargedBy(gateway, payer))).toEqual([2]);
  });

  it.concurrent("a caller that leaves has its stream ended at the vendor, and no other's", async () => {
    const { left } = vendors;
    const payer = await account();
    const [leaver, other] = [ask(gateway, payer, "left", "begin 1"), ask(gateway, payer, "left", "begin 2")];
    await Promise.all([leaver.begun, other.begun]);
    const { stream } = await left.held("begin 1");
    const closed = once(stream, "close");
    leaver.leave();
    await closed;
    (await left.held("begin 2")).finish();
    expect(isWhole(await other.text)).toBe(true);
    expect(await chargedBy(gateway, payer)).toEqual({ left: 1, "left in part": 1 });
  });

  it.concurrent("who listens to what vendors answer hears its headers", async () => {
    const tap = tapVendors();
    await ask(gateway, await account(), "left", "say 3").text;
    const heard = tap.take().find(({ headers }) => headers["x-asked"] === "say 3");
    tap.close();
    expect(heard?.headers["content-type"]).toBe("text/event-stream");
    expect(isWhole(String(heard?.body))).toBe(true);
  });

  it.concurrent("a vendor that lowers its limit of streams is given no more than that over the connection", async () => {
    const { limit } = vendors;
    const payer = await account();
    const before = [1, 2, 3].map((n) => ask(gateway, payer, "limit", `begin ${n}`));
    await Promise.all(before.map(({ begun }) => begun));
    const { session } = await limit.held("begin 1");
    let open = 3;
    await lowered(session, 2);
    session.on("stream", (stream) => {
      open++;
      stream.once("close", () => open--);
      expect(open).toBeLessThanOrEqual(2);
    });
    const after = [4, 5, 6].map((n) => ask(gateway, payer, "limit", `say ${n}`));
    // One of them waits for a free stream; the others get another connection.
    await Promise.any(after.map(({ begun }) => begun));
    for (const n of [1, 2, 3]) {
      const call = await limit.held(`begin ${n}`);
      call.stream.once("close", () => open--);
      call.finish();
    }
    const texts = await Promise.all([...before, ...after].map(({ text }) => text));
    expect(texts.map(isWhole)).toEqual(texts.map(() => true));
    expect(await chargedBy(gateway, payer)).toEqual({ limit: 6 });
  });

  it.concurrent("of a flood of settings little is read", async () => {
    const payer = await account();
    expect(isWhole(await ask(gateway, payer, "flood", "say 1").text)).toBe(true);
    expect(flood.written()).toBeLessThan(FLOOD_BYTES);
    expect(await chargedBy(gateway, payer)).toEqual({ spare: 1 });
  });

  it.concurrent("a TLS alert in the middle breaks the call", async () => {
    const payer = await account();
    const broken = ask(gateway, payer, "alert", "begin 1");
    await broken.begun;
    alert.inject(GARBAGE);
    expect(hasBroken(await broken.text)).toBe(true);
    expect(await chargedBy(gateway, payer)).toEqual({});
  });

  it.concurrent("a connection that dies without a word is found by its pings: what has no content goes on unseen", async () => {
    const payer = await account();
    expect(isWhole(await ask(gateway, payer, "dead", "say 0").text)).toBe(true);
    const begun = Array.from({ length: 50 }, (_, n) => ask(gateway, payer, "dead", `begin ${n}`));
    const silent = Array.from({ length: 50 }, (_, n) => ask(gateway, payer, "dead", `silent ${n}`));
    await Promise.all(begun.map((call) => call.begun));
    await Promise.all(silent.map((_, n) => vendors.dead.held(`silent ${n}`)));
    expect(vendors.dead.connections).toHaveLength(1);
    dead.freeze();
    // The retry finds the vendor unreachable.
    dead.leadTo(1, "keep");
    const frozenMs = performance.now();
    const moved = await Promise.all(silent.map(({ text }) => text));
    expect(moved.filter(isWhole)).toHaveLength(50);
    expect(performance.now() - frozenMs).toBeLessThan(60_000);
    expect((await Promise.all(begun.map(({ text }) => text))).filter(hasBroken)).toHaveLength(50);
    expect(await chargedBy(gateway, payer)).toEqual({ dead: 1, spare: 50 });
  });
});

describe("what is agreed upon with a vendor that offers both", () => {
  /** Accepts both protocols: drops HTTP/2 connections; over HTTP/1.1 it opens web sockets or answers 200. */
  async function startBoth(): Promise<string> {
    const files = { key: readFileSync(good.keyFile), cert: readFileSync(good.certificateFile) };
    const server = createServer({ ...files, ALPNProtocols: ["h2", "http/1.1"] }, (socket) => {
      socket.on("error", () => {});
      if (socket.alpnProtocol === "h2") return void socket.destroy();
      const upgraded = "HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n";
      const answered = "HTTP/1.1 200 OK\r\ncontent-length: 0\r\n\r\n";
      socket.once("data", (head) => socket.write(String(head).includes("upgrade") ? upgraded : answered));
      ends.push(() => socket.destroy());
    }).listen(0, "127.0.0.1");
    ends.push(() => server.close());
    await once(server, "listening");
    return `https://127.0.0.1:${(server.address() as AddressInfo).port}`;
  }

  it.each([
    ["HTTP/1.1 where nothing is said", false, undefined, undefined, "200"],
    ["HTTP/2 where the adapter says so", false, true, undefined, "provider_connection_failed"],
    ["HTTP/2 where the setting says so", true, undefined, undefined, "provider_connection_failed"],
    ["HTTP/1.1 where the adapter says so", true, false, undefined, "200"],
    ["HTTP/1.1 for a web socket", true, undefined, { upgrade: "websocket" as const }, "101"],
    ["HTTP/1.1 where nothing says where the answer ends", true, undefined, { ownConnection: true as const }, "200"],
  ])("%s", async (_, byDefault, http2, wants, outcome) => {
    trust(good);
    const connections = createConnections(systemClock, byDefault);
    const origin = await startBoth();
    connections.keepFor({ origin, origins: {}, keys: [], spec: { http2 } } as unknown as Adapter);
    const told = new Promise<string>((resolve) => {
      const heard = { data: () => {}, end: () => {}, failed: ({ kind }: { kind: string }) => resolve(kind) };
      const clocks = { firstMsMax: 60_000, gapMsMax: () => 60_000, quiet: () => false };
      const exchange = new Exchange({ ...heard, head: (status) => resolve(String(status)) }, clocks, systemClock);
      const asked = { method: "GET" as const, origin, path: "/", headers: {}, body: null };
      exchange.send(connections.dispatcher, { ...asked, ...wants });
    });
    expect(await told).toBe(outcome);
    await connections.close();
  });
});

describe("HTTP/1.1 over TLS", () => {
  let gateway: TestGateway;
  let alert: TcpProxy;
  let alerted: TlsVendor;
  let warm: TlsVendor;
  let keyless: TlsVendor;
  const unasked: TlsVendor[] = [];
  const account = () => gateway.account({ kind: "personal", creditCents: CREDIT_CENTS });

  beforeAll(async () => {
    const ended = await certificate("ended", { ended: true });
    const other = await certificate("other", { names: "DNS:other.example" });
    const unknown = await certificate("unknown");
    trust(good, ended, other);
    for (const files of [ended, other, unknown]) unasked.push(await vendor(files, true));
    alerted = await vendor(good, false);
    alert = await proxied(alerted);
    // It also offers HTTP/2, which the gateway does not use.
    warm = await vendor(good, true);
    keyless = await vendor(good, false);
    const [endedPort = 0, otherPort = 0, unknownPort = 0] = unasked.map(({ port }) => port);
    const ports = {
      ended: endedPort,
      other: otherPort,
      unknown: unknownPort,
      alert: alert.port,
      keyless: keyless.port,
    };
    const keyed = { OPENAI_API_KEY: "sk-test", OPENAI_BASE_URL: `https://127.0.0.1:${warm.port}/v1` };
    gateway = await startTestGateway({ ...environmentOf(ports, spare.port), ...CLOCKS, ...keyed });
  });
  afterAll(async () => {
    const findings = await gateway.doctor();
    await gateway.stop();
    expect(findings).toEqual([]);
  });

  it.concurrent.each([
    ["has ended", "ended"],
    ["is for another name", "other"],
    ["is of an unknown authority", "unknown"],
  ])("a vendor whose certificate %s is not asked", async (_, name) => {
    const payer = await account();
    expect(isWhole(await ask(gateway, payer, name, "say 1").text)).toBe(true);
    expect(unasked.flatMap(({ asked }) => asked)).toEqual([]);
    expect(await chargedBy(gateway, payer)).toEqual({ spare: 1 });
  });

  it.concurrent("a TLS alert in the middle breaks the call", async () => {
    const payer = await account();
    const broken = ask(gateway, payer, "alert", "begin 1");
    await broken.begun;
    alert.inject(GARBAGE);
    expect(hasBroken(await broken.text)).toBe(true);
    expect(await chargedBy(gateway, payer)).toEqual({});
  });

  it.concurrent("a vendor in use has a connection ready, which is no call; one without a key has none", async () => {
    const payer = await account();
    const call = async (prompt: string) => {
      const messages = [{ role: "user" as const, content: prompt }];
      const answer = await payer.client.chat.completions.create({
        model: "openai/gpt-5.4-mini",
        messages,
        stream: true,
      });
      for await (const _ of answer);
    };
    await ask(gateway, payer, "keyless", "say 1").text;
    await call("say 1");
    await eventually(() => (warm.connections.length === 2 ? true : undefined), "the connection that lies ready");
    warm.connections[0]?.destroy();
    await call("say 2");
    await eventually(() => (warm.connections.length === 3 ? true : undefined), "the next one that lies ready");
    expect(warm.asked.map(({ prompt, socket }) => [prompt, warm.connections.indexOf(socket)])).toEqual([
      ["say 1", 0],
      ["say 2", 1],
    ]);
    expect(warm.sessions.size).toBe(0);
    expect(keyless.connections).toHaveLength(1);
    const charged = await chargedBy(gateway, payer);
    expect(Object.values(charged).sort()).toEqual([1, 2]);
  });
});
