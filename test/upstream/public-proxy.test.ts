// The proxy for our own browser: an invalid answer from a server ends only its own connection.
import { once } from "node:events";
import { request } from "node:http";
import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { expect, it } from "vitest";
import { openPublicProxy } from "../../src/upstream/public-proxy.ts";
import { forFile } from "../support/for-file.ts";

let answer = "";

const server = forFile(
  createServer((socket) => {
    socket.on("error", () => socket.destroy());
    socket.once("data", () => socket.end(answer));
  }).listen(0, "127.0.0.1"),
);
await once(server, "listening");
const port = (server.address() as AddressInfo).port;
const proxy = forFile(
  await openPublicProxy({
    bytesMax: 1_000_000,
    resolve: async () => ["127.0.0.1"],
    allowForTests: [`127.0.0.1:${port}`],
  }),
);

/** The status, or that there was none. */
async function status(said: string): Promise<number | "none"> {
  answer = said;
  const { hostname, port: proxyPort } = new URL(proxy.url);
  const sent = request({ host: hostname, port: proxyPort, path: `http://site.example:${port}/` });
  return new Promise((resolve) => {
    sent.on("response", (came) => resolve(came.resume().statusCode ?? "none"));
    sent.on("error", () => resolve("none"));
    sent.end();
  });
}

it.each([
  ["a status that there is not", "HTTP/1.1 000 X\r\nContent-Length: 0\r\n\r\n", "none"],
  ["trailers and a length", "HTTP/1.1 200 OK\r\nTrailer: X\r\nContent-Length: 2\r\n\r\nok", 200],
  [
    "two ways to say its length",
    "HTTP/1.1 200 OK\r\nTransfer-Encoding: chunked\r\nContent-Length: 2\r\n\r\nok",
    "none",
  ],
])("an answer with %s harms nobody else", async (_, said, seen) => {
  expect(await status(said)).toBe(seen);
  expect(await status("HTTP/1.1 200 OK\r\nContent-Length: 2\r\n\r\nok")).toBe(200);
});
