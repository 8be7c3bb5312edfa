// Every outgoing connection of the gateway goes through the operator's proxy, and a proxy failure counts against the gateway only.
import { once } from "node:events";
import { mkdtempSync, readdirSync, readFileSync } from "node:fs";
import { createServer } from "node:http";
import { createServer as createTlsServer } from "node:https";
import type { AddressInfo } from "node:net";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { getCACertificates, setDefaultCACertificates } from "node:tls";
import { afterAll, beforeAll, describe, expect, it } from "vitest";
import { openS3Objects } from "../../src/actions/files/s3-bucket.ts";
import type { Adapter } from "../../src/catalog/catalog.ts";
import { systemClock } from "../../src/core/clock.ts";
import { GatewayError } from "../../src/core/errors.ts";
import { FAILURES } from "../../src/core/failures.ts";
import type { Proxies } from "../../src/core/proxies.ts";
import type { AttemptFailure } from "../../src/core/route.ts";
import { httpFacilitator } from "../../src/edge/x402/facilitator.ts";
import { nodeRpc } from "../../src/money/wallet/node-rpc.ts";
import { readConfig } from "../../src/platform/config.ts";
import { createAccessTokens } from "../../src/upstream/access-tokens.ts";
import { createConnections } from "../../src/upstream/connections.ts";
import { Exchange, type ExchangeRequest } from "../../src/upstream/exchange.ts";
import { createPublicFetch } from "../../src/upstream/public-fetch.ts";
import { openPublicProxy } from "../../src/upstream/public-proxy.ts";
import { fetchThrough, newAgent, openTunnel } from "../../src/upstream/tunnel.ts";
import { makeCertificate } from "../support/certificates.ts";
import { type ConnectProxy, startConnectProxy } from "../support/connect-proxy.ts";
import { startTestGateway } from "../support/gateway.ts";
import { removeFolder } from "../support/remove-folder.ts";

const OUTER = "127.0.0.2";
const folder = mkdtempSync(join(tmpdir(), "tollgate-proxy-"));
const trusted = getCACertificates("default");
let proxy: ConnectProxy;
let plain: string;
let secure: string;
let proxies: Proxies;
const ends: (() => unknown)[] = [];

/** Answers everything with a little JSON, enough to show that it was reached. */
function answer(
  request: { url?: string | undefined },
  response: { end(text: string): unknown; setHeader(name: string, value: string): unknown },
) {
  response.setHeader("content-type", "application/json");
  response.end(JSON.stringify({ jsonrpc: "2.0", result: request.url, access_token: "token", expires_in: 3600 }));
}

beforeAll(async () => {
  const { keyFile, certificateFile } = await makeCertificate(folder, { names: "DNS:secure.outside.test" });
  setDefaultCACertificates([...trusted, readFileSync(certificateFile, "utf8")]);
  const server = createServer(answer).listen(0, "0.0.0.0");
  const tls = createTlsServer({ key: readFileSync(keyFile), cert: readFileSync(certificateFile) }, answer);
  tls.listen(0, "127.0.0.1");
  for (const one of [server, tls]) {
    one.on("upgrade", (_, socket) => {
      socket.write("HTTP/1.1 101 Switching Protocols\r\nconnection: upgrade\r\nupgrade: websocket\r\n\r\n");
    });
  }
  await Promise.all([once(server, "listening"), once(tls, "listening")]);
  const [port, tlsPort] = [server, tls].map((one) => (one.address() as AddressInfo).port) as [number, number];
  proxy = await startConnectProxy({ "plain.outside.test": port, "secure.outside.test": tlsPort });
  plain = `http://plain.outside.test:${port}`;
  secure = "https://secure.outside.test";
  proxies = readConfig({ HTTPS_PROXY: proxy.url, HTTP_PROXY: proxy.url }).proxies;
  ends.push(
    () => server.close(),
    () => tls.close(),
    () => proxy.close(),
  );
});
afterAll(() => {
  for (const end of ends) end();
  setDefaultCACertificates(trusted);
  removeFolder(folder);
});

/** The vendor's status, or why there was none. */
function exchanged(
  origin: string,
  more: Partial<ExchangeRequest> = {},
  http2 = false,
): Promise<number | AttemptFailure> {
  const connections = createConnections(systemClock, http2, proxies);
  connections.keepFor({ origin, origins: {}, keys: [], spec: {} } as unknown as Adapter);
  ends.push(() => connections.close());
  return new Promise((resolve) => {
    const heard = { head: resolve, data: () => {}, end: () => {}, failed: resolve };
    const clocks = { firstMsMax: 60_000, gapMsMax: () => 60_000, quiet: () => false };
    const request = { method: "GET" as const, origin, path: "/", headers: {}, body: null, ...more };
    new Exchange(heard, clocks, systemClock).send(connections.dispatcher, request);
  });
}

function publicFetch(mayBeInner: boolean) {
  const port = new URL(plain).port;
  const names = { resolve: async () => [OUTER], allowForTests: [`${OUTER}:${port}`, `${OUTER}:443`] };
  const fetched = createPublicFetch({ ...names, mayBeInner, proxies });
  ends.push(() => fetched.close());
  return (url: string) => fetched.open(url, { bytesMax: 1_000, msMax: 20_000 });
}

async function s3Of(endpoint: string): Promise<unknown> {
  const keys = { bucket: "bucket", region: "r", accessKeyId: "a", secretAccessKey: "b" };
  return openS3Objects({ endpoint, ...keys, clock: systemClock, proxies }).get("name", 1_000);
}

/** Each kind of outgoing connection, as a request to an address that only the proxy reaches. */
const WAYS: readonly (readonly [name: string, ask: (origin: string) => Promise<unknown>])[] = [
  ["vendors", (origin) => exchanged(origin)],
  ["vendors that may speak HTTP/2", (origin) => exchanged(origin, {}, true)],
  ["web sockets of vendors", (origin) => exchanged(origin, { upgrade: "websocket" })],
  [
    "access tokens",
    (origin) => {
      const { dispatcher } = createConnections(systemClock, false, proxies);
      return Promise.resolve(
        createAccessTokens(systemClock, dispatcher).of({} as Adapter, "key", () => ({ url: `${origin}/t`, form: {} })),
      );
    },
  ],
  ["price lists", (origin) => fetchThrough(proxies)(origin)],
  ["nodes of a chain", (origin) => nodeRpc(origin, fetchThrough(proxies)).call("a", [])],
  ["facilitators", (origin) => httpFacilitator(origin, { fetchOut: fetchThrough(proxies) }).verify({} as never, {})],
  ["S3", s3Of],
  [
    "collectors of traces",
    async (origin) => {
      const isSecure = origin.startsWith("https:");
      const { request } = await import(isSecure ? "node:https" : "node:http");
      await once(request(origin, { agent: newAgent(proxies, isSecure) }).end(), "response");
    },
  ],
];

describe("goes through the proxy, which connects to the name:", () => {
  it.each(WAYS)("%s", async (_, ask) => {
    for (const origin of [plain, secure]) {
      const before = proxy.asked.length;
      await ask(origin);
      const { hostname, port } = new URL(origin);
      expect(proxy.asked.slice(before)).toContain(`${hostname}:${port || 443}`);
    }
  });
});

describe("goes through the proxy, which connects to the address that was checked:", () => {
  it.each([
    ["webhooks, pages and links", false],
    ["the guard and the identity provider", true],
  ])("%s", async (_, mayBeInner) => {
    const { port } = new URL(plain);
    const answered = await publicFetch(mayBeInner)(`http://name.example:${port}/`);
    expect(answered).toMatchObject({ status: 200 });
    expect(proxy.asked.at(-1)).toBe(`${OUTER}:${port}`);
  });

  it("and TLS is spoken with the name", async () => {
    const { port } = new URL(plain);
    // The server, reached by its bare address, has a certificate for another name.
    const before = proxy.asked.length;
    const refused = await publicFetch(false)(`https://name.example:${port}/`);
    expect(refused).toBeInstanceOf(GatewayError);
    expect(proxy.asked.slice(before)).toEqual([`${OUTER}:${port}`]);
  });

  it("and never one that is private, which the proxy is not asked for", async () => {
    const inner = createPublicFetch({ resolve: async () => ["10.0.0.1"], proxies });
    const before = proxy.asked.length;
    for (const host of ["name.example", "10.0.0.1", "localhost", "2130706433"]) {
      expect(await inner.open(`http://${host}/`, { bytesMax: 1, msMax: 5_000 })).toMatchObject({ code: "bad_url" });
    }
    inner.close();
    expect(proxy.asked.slice(before)).toEqual([]);
  });

  it("the browser that records demos", async () => {
    const { port } = new URL(plain);
    const options = { bytesMax: 1_000_000, resolve: async () => [OUTER], allowForTests: [`${OUTER}:${port}`], proxies };
    const own = await openPublicProxy(options);
    ends.push(() => own.close());
    const { request } = await import("node:http");
    const at = { host: "127.0.0.1", port: new URL(own.url).port };
    const [page] = await once(request({ ...at, path: `http://name.example:${port}/` }).end(), "response");
    expect(page.statusCode).toBe(200);
    const tunnel = request({ ...at, method: "CONNECT", path: `name.example:${port}` }).end();
    const [opened, socket] = await once(tunnel, "connect");
    socket.destroy();
    expect(opened.statusCode).toBe(200);
    expect(proxy.asked.slice(-2)).toEqual([`${OUTER}:${port}`, `${OUTER}:${port}`]);
  });
});

describe("a proxy that fails", () => {
  it.each([407, 403, 502, 503])(
    "with %d is the gateway's failure: the vendor is not blamed, nor the caller",
    async (status) => {
      proxy.refuseWith = status;
      const failed = (await exchanged(secure)) as AttemptFailure;
      const fetched = await publicFetch(false)(`http://name.example:${new URL(plain).port}/`);
      proxy.refuseWith = null;
      expect(failed).toMatchObject({ kind: "gateway_proxy_failed", mayHaveRun: false });
      expect(failed.message).toMatch(new RegExp(`the proxy .*${status}`));
      expect(failed.message).not.toMatch(/p@ss|p%40ss/);
      expect(fetched).toMatchObject({ code: "upstream_error", message: expect.stringContaining(String(status)) });
    },
  );

  it("by not being there is the same", async () => {
    const away = readConfig({ HTTPS_PROXY: "http://127.0.0.1:1" }).proxies;
    const kept = proxies;
    proxies = away;
    const failed = await exchanged(secure);
    proxies = kept;
    expect(failed).toMatchObject({ kind: "gateway_proxy_failed", message: expect.stringContaining("ECONNREFUSED") });
    expect(FAILURES.gateway_proxy_failed).toMatchObject({ fault: "gateway", code: "upstream_error" });
    expect(FAILURES.gateway_proxy_failed).not.toHaveProperty("rests");
  });

  it("is named by the check and to the caller, charges nothing, and does not stand before the sandbox", async () => {
    const { port } = new URL(plain);
    const key = { OPENAI_API_KEY: "sk-test-key", OPENAI_BASE_URL: `http://plain.outside.test:${port}/v1` };
    const gateway = await startTestGateway({ ...key, HTTP_PROXY: proxy.url });
    const { client } = await gateway.account({ kind: "personal", creditCents: 100 });
    const ask = (model: string) =>
      client.chat.completions.create({ model, messages: [{ role: "user", content: "hi" }] }, { maxRetries: 0 });
    proxy.refuseWith = 407;
    const { data } = (await gateway
      .admin("POST", "/admin/v1/providers/openai/check")
      .then(({ json }) => ({ data: (json.checks as { detail: string; verdict: string; proxy: string }[])[0] }))) ?? {
      data: undefined,
    };
    expect(data).toMatchObject({ verdict: "unreachable", proxy: `http://***@127.0.0.1:${proxy.port}` });
    expect(data?.detail).toContain("407");
    await expect(ask("openai/gpt-4.1-mini")).rejects.toMatchObject({
      status: 502,
      message: expect.stringContaining("gateway_proxy_failed"),
    });
    proxy.refuseWith = null;
    expect(await gateway.doctor()).toEqual([]);
    const { json } = await gateway.admin("GET", "/admin/v1/accounts");
    expect(json.accounts).toMatchObject([{ spent_cents: 0, held_cents: 0 }]);
    await gateway.stop();

    const direct = await startTestGateway({ HTTP_PROXY: proxy.url });
    const before = proxy.asked.length;
    const sandbox = await direct.account();
    // The sandbox is a part of the gateway: its connections use no proxy.
    const said = await sandbox.client.chat.completions.create({
      model: "core/cheap",
      messages: [{ role: "user", content: "hi" }],
    });
    expect(said.choices).toHaveLength(1);
    expect(proxy.asked.slice(before)).toEqual([]);
    await direct.stop();
  });
});

it.each([
  ["localhost", ["localhost"]],
  ["[::1]", []],
  ["127.0.0.1", []],
])("a proxy at https://%s is asked for a certificate by its name, never by an address", async (host, named) => {
  const own = mkdtempSync(join(tmpdir(), "tollgate-proxy-"));
  const { keyFile, certificateFile } = await makeCertificate(own, { names: "DNS:localhost,IP:127.0.0.1,IP:::1" });
  const [key, cert] = [readFileSync(keyFile), readFileSync(certificateFile, "utf8")];
  const before = getCACertificates("default");
  setDefaultCACertificates([...before, cert]);
  const names: string[] = [];
  const SNICallback = (name: string, done: (error: null) => void) => {
    names.push(name);
    done(null);
  };
  const server = createTlsServer({ key, cert, SNICallback }).listen(0, "::");
  server.on("connect", (_, socket) => socket.write("HTTP/1.1 200 Connection established\r\n\r\n"));
  await once(server, "listening");
  const { port } = server.address() as AddressInfo;
  const opened = openTunnel(new URL(`https://${host}:${port}`), ["outside.test"], 443);
  // Node 22.23 accepts no certificate for an IPv6 address: its checkServerIdentity does not know the address for one.
  if (host === "[::1]") await expect(opened).rejects.toThrow("ERR_TLS_CERT_ALTNAME_INVALID");
  else (await opened).destroy();
  server.close();
  setDefaultCACertificates(before);
  removeFolder(own);
  expect(names).toEqual(named);
});

/** Files that open connections, and which of those are tested above or stay on this machine. */
const OPENERS: Readonly<Record<string, string>> = {
  "src/upstream/connections.ts": "vendors",
  "src/upstream/access-tokens.ts": "access tokens, by the vendors' connections",
  "src/upstream/public-fetch.ts": "webhooks, pages and links, the guard and the identity provider",
  "src/upstream/public-proxy.ts": "the browser that records demos",
  "src/upstream/tunnel.ts": "the tunnel itself",
  "src/actions/files/s3-bucket.ts": "S3",
  "src/platform/storage/remote-thread.ts": "a socket file of this machine",
  "src/upstream/sidecar/serve-lines.ts": "a pipe to the parent",
};

it("there is no other way out", () => {
  const files = readdirSync("src", { recursive: true, encoding: "utf8" }).filter((name) => name.endsWith(".ts"));
  const opens = files.filter((name) => {
    const text = readFileSync(join("src", name), "utf8");
    return /^import (?!type)[^;"]*\b(?<!type )(connect|Socket|request|Client|Agent|Pool)\b[^;"]*from "(undici|node:(net|tls|https?|http2))"/m.test(
      text,
    );
  });
  expect(opens.map((name) => join("src", name)).toSorted()).toEqual(Object.keys(OPENERS).toSorted());
});
