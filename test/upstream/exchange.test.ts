// The timeouts of an exchange: a silent vendor is given up, and one that answered while we were busy is not.
import { randomBytes } from "node:crypto";
import { Worker } from "node:worker_threads";
import { gzipSync } from "node:zlib";
import { Agent } from "undici";
import { afterAll, beforeAll, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import { Exchange } from "../../src/upstream/exchange.ts";
import { startVendor, type VendorServer } from "../support/vendor-server.ts";

/** In its own thread, so that it sends while this one is busy: something every 50 ms for 2 s; `/silent`: a single word. */
const VENDOR = `
  const { createServer } = require("node:http");
  const server = createServer((request, response) => {
    response.write("word");
    if (request.url === "/silent") return;
    let left = 40;
    const timer = setInterval(() => (left-- > 0 ? response.write("word") : (clearInterval(timer), response.end())), 50);
  });
  server.listen(0, "127.0.0.1", () => require("node:worker_threads").parentPort.postMessage(server.address().port));
`;
const GAP_MS = 600;

let vendor: Worker;
let origin: string;
let agent: Agent;
let coded: VendorServer;

beforeAll(async () => {
  vendor = new Worker(VENDOR, { eval: true });
  const port = await new Promise((resolve) => vendor.once("message", resolve));
  origin = `http://127.0.0.1:${port}`;
  agent = new Agent();
  coded = await startVendor();
});

afterAll(async () => {
  await agent.destroy();
  await coded.close();
  await vendor.terminate();
});

/** How the exchange ends; `busy` is called when its first word has arrived. */
function ended(path: string, busy: () => void, from = origin): Promise<string> {
  return new Promise((resolve) => {
    let isFirst = true;
    const listener = {
      head: () => {},
      data() {
        if (!isFirst) return;
        isFirst = false;
        exchange.answering();
        busy();
      },
      end: () => resolve("whole"),
      failed: ({ kind, message }: { kind: string; message: string }) => resolve(`${kind}: ${message}`),
    };
    const clocks = { firstMsMax: 10_000, gapMsMax: () => GAP_MS, quiet: () => false };
    const exchange = new Exchange(listener, clocks, systemClock);
    exchange.send(agent, { method: "GET", origin: from, path, headers: {}, body: null });
  });
}

it("gives up a vendor that has fallen silent", async () => {
  expect(await ended("/silent", () => {})).toBe("provider_timeout: the stream fell silent");
});

it("hears what came while the process was busy for longer than the gap", async () => {
  // After the event loop reads sockets, and before its next turn of timers.
  const busy = () =>
    void setImmediate(() => {
      const startedMs = performance.now();
      while (performance.now() - startedMs < 2 * GAP_MS);
    });
  expect(await ended("/", busy)).toBe("whole");
});

it.each(["gzip", "x-gzip", "deflate", "br", "zstd"])("an empty body is an empty one in %s too", async (encoding) => {
  coded.answers({ headers: { "content-encoding": encoding }, body: "" });
  expect(await ended("/", () => {}, coded.url)).toBe("whole");
});

it("an encoding that is told twice is not understood", async () => {
  coded.answers((response) => void response.setHeader("content-encoding", ["gzip", "gzip"]).end("x"));
  expect(await ended("/", () => {}, coded.url)).toContain("its encoding is not understood");
});

it("a connection whose decoder was behind serves again once the rest of the body is dropped", async () => {
  const ports: unknown[] = [];
  coded.answers((response) => {
    ports.push(response.socket?.remotePort);
    response.writeHead(200, { "content-encoding": "gzip" }).end(gzipSync(randomBytes(1024 * 1024)));
  });
  const one = new Agent({ connections: 1 });
  const heard = () =>
    new Promise<void>((resolve, reject) => {
      const data = () => {
        exchange.release();
        resolve();
      };
      const listener = { head() {}, data, end: resolve, failed: reject };
      const exchange = new Exchange(
        listener,
        { firstMsMax: 10_000, gapMsMax: () => 10_000, quiet: () => false },
        systemClock,
      );
      exchange.send(one, { method: "GET", origin: coded.url, path: "/", headers: {}, body: null });
    });
  await heard();
  await heard();
  expect(new Set(ports).size).toBe(1);
  await one.destroy();
});
