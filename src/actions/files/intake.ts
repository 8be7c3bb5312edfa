// Takes bytes in: from a signed PUT, an address or an action's answer. Complete and within their bounds, or not at all.
import { GatewayError } from "../../core/errors.ts";
import type { FileRow } from "./file-rows.ts";
import { claim, discard, type LifecycleDeps, type NewFile, noSuchFile, stored } from "./lifecycle.ts";

function badBody(detail: string): GatewayError {
  return new GatewayError("bad_request", { detail });
}

/** Passes bytes on up to `bytesMax`, and throws `over` beyond that. */
async function* atMost(
  bytes: AsyncIterable<Uint8Array>,
  bytesMax: number,
  over: () => GatewayError,
): AsyncGenerator<Uint8Array> {
  let size = 0;
  for await (const part of bytes) {
    size += part.length;
    if (size > bytesMax) throw over();
    yield part;
  }
}

/** Passes on exactly `sizeBytes`, or throws the sender's error. */
async function* exactly(bytes: AsyncIterable<Uint8Array>, sizeBytes: number): AsyncGenerator<Uint8Array> {
  let size = 0;
  const over = () => badBody(`The body is longer than the ${sizeBytes} bytes that were announced.`);
  for await (const part of atMost(bytes, sizeBytes, over)) {
    size += part.length;
    yield part;
  }
  if (size < sizeBytes) throw badBody(`The body has ${size} bytes, and ${sizeBytes} were announced.`);
}

function taken(detail: string): GatewayError {
  return new GatewayError("conflict", { detail });
}

/** The row of a file that expects bytes; throws where it expects none. */
function expected(row: FileRow | null): FileRow {
  if (row === null || row.state === "new") throw noSuchFile();
  if (row.state === "stored") throw taken("This file has been uploaded already.");
  return row;
}

/** Checks again before bytes get their name: of two processes with the same upload, neither may replace what the other acknowledged. */
async function* whileExpected(
  deps: LifecycleDeps,
  id: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* bytes;
  expected(await deps.rows.get(id));
}

/** Receives the bytes of an announced upload. `contentLength` is the sender's; null where it sent none. */
export async function receive(
  deps: LifecycleDeps,
  id: string,
  body: AsyncIterable<Uint8Array>,
  contentLength: number | null,
): Promise<FileRow> {
  const row = expected(await deps.rows.get(id));
  if (deps.busy.has(id)) throw taken("This file is being uploaded just now.");
  if (contentLength !== null && contentLength !== row.sizeBytes)
    throw badBody(`The body has ${contentLength} bytes, and ${row.sizeBytes} were announced.`);
  deps.busy.add(id);
  try {
    await deps.store.write(id, whileExpected(deps, id, exactly(body, row.sizeBytes)), row.sizeBytes);
    const kept = await stored(deps, row, row.sizeBytes);
    if (kept !== null) return kept;
    // Another process may just have been faster: then the stored bytes are not ours alone.
    const now = await deps.rows.get(id);
    if (now === null) await deps.store.delete(id);
    expected(now);
    throw taken("This file is being uploaded just now.");
  } finally {
    deps.busy.delete(id);
  }
}

/** Stores bytes that we fetched or made. Where `sizeBytes` is null, reserves quota for the largest file. */
export async function keep(
  deps: LifecycleDeps,
  payer: string,
  file: Omit<NewFile, "sizeBytes"> & { readonly sizeBytes: number | null },
  bytes: AsyncIterable<Uint8Array>,
): Promise<FileRow> {
  const { fileBytesMax } = deps.limits;
  const over = () => new GatewayError("body_too_large", { detail: { limit_mib: fileBytesMax / 1_048_576 } });
  const bytesMax = file.sizeBytes ?? fileBytesMax;
  if (bytesMax > fileBytesMax) throw over();
  const row = await claim(deps, payer, { ...file, sizeBytes: bytesMax });
  deps.busy.add(row.id);
  let kept: FileRow | null = null;
  try {
    const whole = file.sizeBytes === null ? atMost(bytes, bytesMax, over) : exactly(bytes, bytesMax);
    const sizeBytes = await deps.store.write(row.id, whole, file.sizeBytes);
    kept = await stored(deps, row, sizeBytes);
    if (kept === null) throw noSuchFile();
    return kept;
  } finally {
    deps.busy.delete(row.id);
    if (kept === null) await discard(deps, row);
  }
}
