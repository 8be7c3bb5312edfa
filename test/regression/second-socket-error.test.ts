// A Redis connection that emits two errors, as TLS does where we reject a certificate and the server says so: the process survives.

import type { AddressInfo } from "node:net";
import { createServer } from "node:net";
import { Redis } from "ioredis";
import { expect, it, onTestFinished } from "vitest";
import { createClient } from "../../src/platform/storage/redis-client.ts";
import { parseRedisUrl } from "../../src/platform/storage/redis-url.ts";

it("an error after the first one of a connection is heard by somebody", async () => {
  const server = createServer((socket) => socket.on("error", () => {}));
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  const { port } = server.address() as AddressInfo;
  const client = createClient(parseRedisUrl(`redis://127.0.0.1:${port}`), { commandMsMax: 500, authorities: null });
  onTestFinished(() => {
    client.disconnect();
    server.close();
  });
  if (!(client instanceof Redis)) throw new Error("not the client of one server");
  const errors: string[] = [];
  client.on("error", (error: Error) => errors.push(error.message));
  client.connect().catch(() => {});
  await new Promise((resolve) => client.once("connect", resolve));
  const { stream } = client;
  stream.emit("error", new Error("the certificate is not trusted"));
  expect(() => stream.emit("error", new Error("alert: decode error"))).not.toThrow();
  expect(errors).toContain("the certificate is not trusted");
});
