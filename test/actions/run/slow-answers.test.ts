// A long answer and a caller who does not read it: the vendor gets backpressure, nothing accumulates here, and what is read is complete.
import { connect, type Socket } from "node:net";
import { describe, expect, it } from "vitest";
import { forFile } from "../../support/for-file.ts";
import { eventually, standstill, type TestAccount } from "../../support/gateway.ts";
import { startAcmeGateway } from "./acme-gateway.ts";

const MIB = 1024 * 1024;
const PARTS = 96;
const PART = Buffer.alloc(MIB, 0x61);
/** The kernel's maximum buffers of the two connections. */
const IN_SOCKETS = 32 * MIB;

const gateway = forFile(await startAcmeGateway());

/** The vendor writes as fast as it can; reports how many parts it has written. */
function longAnswer(): { readonly written: () => number } {
  let written = 0;
  gateway.vendor.answers(async (response) => {
    response.writeHead(200, { "content-type": "application/json" });
    response.write('{"a":"');
    let wake = () => {};
    response.on("drain", () => wake()).on("close", () => wake());
    for (written = 0; written < PARTS; written++) {
      const room = new Promise<void>((resolve) => {
        wake = resolve;
      });
      if (!response.write(PART) && !response.closed) await room;
    }
    response.end('"}');
  });
  return { written: () => written };
}

/** Sends a request and does not read the answer. */
function askWithoutReading(account: TestAccount): Socket {
  const { port } = new URL(gateway.url);
  const socket = connect({ port: Number(port), host: "127.0.0.1" });
  socket.pause();
  socket.write(
    `POST /api/run/bulk/dump HTTP/1.1\r\nhost: x\r\nauthorization: Bearer ${account.key}\r\ncontent-type: application/json\r\ncontent-length: 2\r\nconnection: close\r\n\r\n{}`,
  );
  return socket;
}

const stalled = (written: () => number) => standstill(written, "the vendor to be held back");

describe("a caller who does not read", () => {
  it("holds the vendor back, and gets all of it once it reads", async () => {
    const account = await gateway.live({ creditCents: 100 });
    const { written } = longAnswer();
    const before = process.memoryUsage();
    const socket = askWithoutReading(account);
    expect((await stalled(written)) * MIB).toBeLessThan(IN_SOCKETS);
    const { external, arrayBuffers } = process.memoryUsage();
    expect(external - before.external + (arrayBuffers - before.arrayBuffers)).toBeLessThan(IN_SOCKETS);
    expect(await gateway.heldCents(account)).toBe(2);

    let bytes = 0;
    let tail = "";
    await new Promise<void>((resolve) => {
      socket.on("data", (chunk: Buffer) => {
        bytes += chunk.length;
        tail = (tail + chunk.subarray(-300).toString("latin1")).slice(-300);
      });
      socket.on("close", () => resolve());
      socket.resume();
    });
    expect(bytes).toBeGreaterThan(PARTS * MIB);
    expect(tail).toContain(',"charged_cents":2,');
    expect(await gateway.balanceCents(account)).toBe(98);
  });

  it("and leaves pays for what went on without it", async () => {
    const account = await gateway.live({ creditCents: 100 });
    const { written } = longAnswer();
    const socket = askWithoutReading(account);
    await stalled(written);
    socket.destroy();
    await eventually(async () => ((await gateway.balanceCents(account)) === 98 ? true : undefined), "the charge");
    expect(written()).toBe(PARTS);
    expect(await gateway.heldCents(account)).toBe(0);
  });
});

describe("a caller who leaves", () => {
  it("at whatever moment is charged once or not at all, and leaves no hold", async () => {
    const account = await gateway.live({ creditCents: 100 });
    gateway.vendor.answers((response) => void setImmediate(() => response.end('{"rows":[1]}')));
    for (let turns = 0; turns < 40; turns++) {
      const socket = askWithoutReading(account);
      await new Promise((resolve) => socket.once("connect", resolve));
      for (let turn = 0; turn < turns; turn++) await new Promise((resolve) => setImmediate(resolve));
      socket.destroy();
    }
    await eventually(async () => ((await gateway.heldCents(account)) === 0 ? true : undefined), "the holds to end");
    // The last calls may be charged after the holds were read.
    await eventually(async () => {
      const charges = (await gateway.transactions(account)).length;
      return (await gateway.balanceCents(account)) === 100 - 2 * charges ? true : undefined;
    }, "the books");
    expect(await gateway.doctor()).toEqual([]);
  });
});
