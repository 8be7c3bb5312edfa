// Files that batches leave at a provider are deleted there, as often as it takes, by the process that looks next.
import { Readable } from "node:stream";
import { expect, it, onTestFinished } from "vitest";
import type { NativeProgress } from "../../../src/actions/batches/batch-record.ts";
import { LeftFiles } from "../../../src/actions/batches/left-files.ts";
import { Cleanups } from "../../../src/platform/records/cleanups.ts";
import { VendorFailure } from "../../../src/upstream/vendor-failure.ts";
import { openTestFiles } from "../files/open-test-files.ts";

const ended = (outputs: readonly string[]) => ({ status: "completed", message: null, outputs, answers: 1 });
const batch = { fileId: null, isSure: true, end: null };

/** A provider that refuses a number of requests with this status. */
async function provider(status: number, times: number, deletes = true) {
  const opened = await openTestFiles();
  onTestFinished(() => opened.close());
  const { records, clock } = opened;
  const asked: string[] = [];
  const stream = async ({ method, path }: { method: string; path: string }) => {
    asked.push(`${method} ${path}`);
    const failure = { kind: "provider_server_error", status, message: "no", retryAfterMs: null } as const;
    if (asked.length <= times) throw new VendorFailure(failure);
    return Readable.from([]);
  };
  const left = new LeftFiles(records, { open: () => ({ api: { deletes }, client: { stream } }) as never });
  const broken: unknown[] = [];
  const cleanups = new Cleanups({ records, clock, onBroken: (error) => broken.push(error) }, [left as never]);
  const add = (batches: readonly object[], answers: object | null = {}) =>
    left.add({ vendor: "acme", keyName: "k", batches, answers } as unknown as NativeProgress, true, clock.epochMs());
  return { asked, broken, clock, add, look: () => cleanups.look(true) };
}

it("deletes inputs and answers, whether a batch ended, was not created, or is still unsure", async () => {
  const { asked, add, look } = await provider(500, 0);
  await add([
    { ...batch, fileId: "in-1", end: ended(["/files/out-1/content", "/files/err-1/content"]) },
    { ...batch, fileId: "in-2", isSure: false },
    { ...batch, end: ended(["/messages/batches/b-1/results"]) },
  ]);
  await add([{ ...batch, isSure: false, end: ended(["/messages/batches/foreign/results"]) }], null);
  await look();
  await look();
  expect(asked.toSorted()).toEqual([
    "DELETE /files/err-1",
    "DELETE /files/in-1",
    "DELETE /files/in-2",
    "DELETE /files/out-1",
    "DELETE /messages/batches/b-1",
  ]);
});

it("retries ever less often, reports each failure, and gives up after some days", async () => {
  const { asked, broken, clock, add, look } = await provider(500, 1_000);
  await add([{ ...batch, fileId: "in-1" }]);
  await look();
  await look();
  expect(asked).toHaveLength(1);
  for (let hour = 0; hour < 200; hour++) {
    clock.advance(3_600_000);
    await look();
  }
  expect(asked).toHaveLength(100);
  expect(broken).toHaveLength(100);
});

it.each([
  [404, 1],
  [500, 0],
])("does not ask again once a file is gone (%i)", async (status, times) => {
  const { asked, clock, add, look } = await provider(status, times);
  await add([{ ...batch, fileId: "in-1" }]);
  for (let hour = 0; hour < 3; hour++) {
    await look();
    clock.advance(3_600_000);
  }
  expect(asked).toEqual(["DELETE /files/in-1"]);
});

it("leaves files to a provider that deletes none on request", async () => {
  const { asked, add, look } = await provider(500, 0, false);
  await add([{ ...batch, fileId: "in-1" }]);
  await look();
  expect(asked).toEqual([]);
});
