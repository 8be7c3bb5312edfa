// Uploads in a form: their bytes arrive unchanged in reused memory, and little memory is held at a time.
import { createHash, randomBytes } from "node:crypto";
import { tmpdir } from "node:os";
import { expect, test } from "vitest";
import { createBodyBytes } from "../../../src/platform/limits/body-bytes.ts";
import { type SpooledForm, spooledForm } from "../../../src/platform/uploads/spooled-upload.ts";

const MIB = 1024 * 1024;
const BOUNDARY = "edge";
const KEPT_BYTES_MAX = 8 * MIB;

const head = (disposition: string) => `--${BOUNDARY}\r\ncontent-disposition: form-data; ${disposition}\r\n\r\n`;
const fileHead = (name: string) => head(`name="${name}"; filename="${name}.jsonl"`);

/** Sends a body as the listener does: every part is in the same memory. */
function incoming(body: Iterable<Uint8Array | string>, partBytes: number) {
  const memory = Buffer.alloc(partBytes);
  async function* parts() {
    for (const piece of body) {
      const bytes =
        typeof piece === "string" ? Buffer.from(piece) : Buffer.from(piece.buffer, piece.byteOffset, piece.length);
      for (let at = 0; at < bytes.length; at += partBytes) {
        const size = bytes.copy(memory, 0, at, at + partBytes);
        yield memory.subarray(0, size);
        memory.fill(0);
      }
    }
  }
  return Object.assign(parts(), { bytes: 0 });
}

async function formOf(body: Iterable<Uint8Array | string>, partBytes: number): Promise<SpooledForm> {
  const rules = { fileBytesMax: 256 * MIB, bodyBytesMax: 256 * MIB, filesMax: 3, folder: tmpdir() };
  const share = createBodyBytes({ bytesMax: 256 * MIB, accountBytesMax: 256 * MIB }).open();
  const form = await spooledForm(incoming(body, partBytes), `multipart/form-data; boundary=${BOUNDARY}`, rules, share);
  if (form instanceof Error) throw form;
  return form;
}

function sha256(bytes: Uint8Array): string {
  return createHash("sha256").update(bytes).digest("hex");
}

test.each([7, 1_000, 65_536, 131_072])("files and fields survive parts of %i bytes", async (partBytes) => {
  const files = [randomBytes(10), randomBytes(partBytes < 100 ? 5_000 : 400_000), Buffer.alloc(0)];
  const body = files.flatMap((bytes, at) => [
    `${head(`name="field${at}"`)}${"é".repeat(300)}\r\n${fileHead(`file${at}`)}`,
    bytes,
    "\r\n",
  ]);
  const form = await formOf(
    [Buffer.concat([...body, `--${BOUNDARY}--\r\n`].map((one) => Buffer.from(one)))],
    partBytes,
  );
  expect({ ...form.fields }).toEqual({ field0: "é".repeat(300), field1: "é".repeat(300), field2: "é".repeat(300) });
  expect(form.files.map((one) => one.sha256)).toEqual(files.map(sha256));
  for (const [at, file] of form.files.entries()) {
    const read: Buffer[] = [];
    for await (const part of file.bytes(Buffer.alloc(100_000))) read.push(Buffer.from(part));
    expect(Buffer.concat(read).equals(files[at] ?? Buffer.alloc(1))).toBe(true);
  }
  form.close();
});

test("a long upload allocates a few blocks, not its length", async () => {
  const piece = randomBytes(MIB);
  let mostBytes = 0;
  const before = process.memoryUsage().arrayBuffers;
  const look = () => {
    mostBytes = Math.max(mostBytes, process.memoryUsage().arrayBuffers - before);
  };
  function* body() {
    yield fileHead("file");
    for (let sent = 0; sent < 64; sent++) {
      look();
      yield piece;
    }
    yield `\r\n--${BOUNDARY}--\r\n`;
  }
  const form = await formOf(body(), 131_072);
  for await (const part of form.files[0]?.bytes(Buffer.alloc(100_000)) ?? []) if (part.length > 0) look();
  form.close();
  expect(mostBytes).toBeLessThan(KEPT_BYTES_MAX);
});
