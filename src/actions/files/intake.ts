// How bytes come in: by a signed PUT, from an address, or as the answer of an action. Whole, within their bounds, or not at all.
import { GatewayError } from "../../core/errors.ts";
import type { FileRow } from "./file-rows.ts";
import { claim, discard, FILE_BYTES_MAX, type LifecycleDeps, type NewFile, noSuchFile, stored } from "./lifecycle.ts";

function badBody(detail: string): GatewayError {
  return new GatewayError("bad_request", { detail: { detail } });
}

/** Passes bytes on while there are no more than `bytesMax`, and throws `over` at the first one beyond. */
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

/** Passes on exactly `sizeBytes`, or throws what the sender is to be told. */
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
  return new GatewayError("conflict", { detail: { detail } });
}

/** Why no bytes are expected for a file any more, or null. */
function unexpected(row: FileRow | null): GatewayError | null {
  if (row === null || row.state === "new") return noSuchFile();
  return row.state === "stored" ? taken("This file has been uploaded already.") : null;
}

/**
 * Passes bytes on and, before they take their name, looks once more whether they are expected: of two processes that are sent
 * the same upload each knows but its own, and what one has acknowledged the other must not replace.
 */
async function* whileExpected(
  deps: LifecycleDeps,
  id: string,
  bytes: AsyncIterable<Uint8Array>,
): AsyncGenerator<Uint8Array> {
  yield* bytes;
  const refused = unexpected(await deps.rows.get(id));
  if (refused !== null) throw refused;
}

/** Takes the bytes of an announced upload. `contentLength` is what the sender says of them; null: it does not. */
export async function receive(
  deps: LifecycleDeps,
  id: string,
  body: AsyncIterable<Uint8Array>,
  contentLength: number | null,
): Promise<FileRow | GatewayError> {
  const row = await deps.rows.get(id);
  const refused = unexpected(row);
  if (row === null || refused !== null) return refused ?? noSuchFile();
  if (deps.busy.has(id)) return taken("This file is being uploaded just now.");
  if (contentLength !== null && contentLength !== row.sizeBytes)
    return badBody(`The body has ${contentLength} bytes, and ${row.sizeBytes} were announced.`);
  deps.busy.add(id);
  try {
    await deps.store.write(id, whileExpected(deps, id, exactly(body, row.sizeBytes)), row.sizeBytes);
    const kept = await stored(deps, row, row.sizeBytes);
    if (kept !== null) return kept;
    // The bytes of that name are no longer ours alone if another process was faster by a moment.
    const now = await deps.rows.get(id);
    if (now === null) await deps.store.delete(id);
    return unexpected(now) ?? taken("This file is being uploaded just now.");
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  } finally {
    deps.busy.delete(id);
  }
}

/** Keeps bytes that we fetched or made. `sizeBytes` is null where it is not known how many; then room for the largest file is needed. */
export async function keep(
  deps: LifecycleDeps,
  payer: string,
  file: Omit<NewFile, "sizeBytes"> & { readonly sizeBytes: number | null },
  bytes: AsyncIterable<Uint8Array>,
): Promise<FileRow | GatewayError> {
  const bytesMax = file.sizeBytes ?? FILE_BYTES_MAX;
  if (bytesMax > FILE_BYTES_MAX) return tooLarge();
  const row = await claim(deps, payer, { ...file, sizeBytes: bytesMax });
  if (row instanceof GatewayError) return row;
  deps.busy.add(row.id);
  let kept: FileRow | null = null;
  try {
    const whole = file.sizeBytes === null ? atMost(bytes, bytesMax, tooLarge) : exactly(bytes, bytesMax);
    const sizeBytes = await deps.store.write(row.id, whole, file.sizeBytes);
    kept = await stored(deps, row, sizeBytes);
    return kept ?? noSuchFile();
  } catch (error) {
    if (error instanceof GatewayError) return error;
    throw error;
  } finally {
    deps.busy.delete(row.id);
    if (kept === null) await discard(deps, row);
  }
}

function tooLarge(): GatewayError {
  return new GatewayError("body_too_large", { detail: { limit_mib: FILE_BYTES_MAX / 1_048_576 } });
}
