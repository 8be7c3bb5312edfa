// Where a list of models is read from: a file, an address, or a vendor that we have a key of. Bounded in bytes and time, and followed nowhere else.

import { readFile, stat } from "node:fs/promises";
import { isAbsolute } from "node:path";
import type { SessionContext } from "../catalog/adapter.ts";
import type { Adapter } from "../catalog/catalog.ts";
import { BadList } from "../catalog/updates/list.ts";
import { LIST_BYTES_MAX } from "../catalog/updates/read-list.ts";
import { wholeWithin } from "../pieces.ts";
import type { Upstream } from "../upstream/upstream.ts";
import { VendorFailure } from "../upstream/vendor-failure.ts";

/** All of it, to the last byte. */
const READ_MS_MAX = 20_000;
const ADDRESS = /^https?:\/\//;

export interface ReadSource {
  readonly bytes: Uint8Array;
  /** The adapter whose own list it is; null: it is a list of many. */
  readonly vendor: string | null;
}

async function bytesOfFile(path: string): Promise<Uint8Array> {
  try {
    const { size } = await stat(path);
    if (size > LIST_BYTES_MAX) throw new BadList(`it has more than ${LIST_BYTES_MAX / 1_048_576} MiB`);
    return await readFile(path);
  } catch (error) {
    throw error instanceof BadList ? error : new BadList(`it cannot be read: ${(error as Error).message}`);
  }
}

async function bounded(body: ReadableStream<Uint8Array>): Promise<Uint8Array> {
  const whole = await wholeWithin(body, LIST_BYTES_MAX);
  if (whole === null) throw new BadList(`it has more than ${LIST_BYTES_MAX / 1_048_576} MiB`);
  return whole;
}

async function bytesAt(address: string, signal: AbortSignal, { fetch }: Pick<Upstream, "fetch">): Promise<Uint8Array> {
  try {
    const both = AbortSignal.any([signal, AbortSignal.timeout(READ_MS_MAX)]);
    const answer = await fetch(address, { signal: both, headers: { accept: "application/json" } });
    if (!answer.ok) throw new BadList(`it answered ${answer.status}`);
    return answer.body === null ? new Uint8Array() : await bounded(answer.body);
  } catch (error) {
    if (error instanceof BadList) throw error;
    const { name, message, cause } = error as Error;
    if (name === "TimeoutError") throw new BadList(`it took longer than ${READ_MS_MAX / 1000} seconds`);
    throw new BadList(`it does not answer: ${cause instanceof Error ? cause.message : message}`);
  }
}

async function bytesFrom(adapter: Adapter, upstream: Upstream, signal: AbortSignal): Promise<Uint8Array> {
  const path = adapter.spec.chat?.modelsPath ?? "/models";
  const script = async ({ ask }: SessionContext) => (await ask({ method: "GET", path, send: "none" })).json;
  const order = { adapter, name: "models", requestId: "req_models", msMax: READ_MS_MAX, sandboxFault: null, signal };
  try {
    return Buffer.from(JSON.stringify((await upstream.vendorScript(script, order)) ?? null));
  } catch (error) {
    if (error instanceof VendorFailure) throw new BadList(`it answered: ${error.failure.message}`);
    throw error;
  }
}

/** A source as it may be shown: an address without a password and a query. */
export function sourceText(from: string): string {
  if (!ADDRESS.test(from)) return from;
  const { origin, pathname } = new URL(from);
  return origin + pathname;
}

/** Whether it is a source that a gateway can read by itself: an address, a vendor, or a file by its whole path. */
export function isSource(from: string): boolean {
  return ADDRESS.test(from) ? URL.canParse(from) : isAbsolute(from) || /^[a-z0-9]+(-[a-z0-9]+)*$/.test(from);
}

/** Reads a source. Throws BadList. */
export async function readSource(
  from: string,
  {
    adapters,
    upstream,
    signal,
  }: { readonly adapters: ReadonlyMap<string, Adapter>; readonly upstream: Upstream; readonly signal: AbortSignal },
): Promise<ReadSource> {
  if (ADDRESS.test(from)) return { bytes: await bytesAt(from, signal, upstream), vendor: null };
  const adapter = adapters.get(from);
  if (adapter === undefined || isAbsolute(from)) return { bytes: await bytesOfFile(from), vendor: null };
  if (!adapter.configured) throw new BadList("it is a provider that is not on");
  return { bytes: await bytesFrom(adapter, upstream, signal), vendor: from };
}
