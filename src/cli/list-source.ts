// Reads a list of models from a file, a URL, or a vendor whose key is set. Limited in bytes and time.
import { readFile, stat } from "node:fs/promises";
import type { Adapter } from "../catalog/catalog.ts";
import type { SessionContext } from "../catalog/session.ts";
import { BadList } from "../catalog/updates/list.ts";
import { LIST_BYTES_MAX } from "../catalog/updates/read-list.ts";
import { wholeWithin } from "../core/chunk-list.ts";
import { systemClock } from "../core/clock.ts";
import type { Proxies } from "../core/proxies.ts";
import { fetchThrough } from "../upstream/tunnel.ts";
import { createUpstream } from "../upstream/upstream.ts";
import { VendorFailure } from "../upstream/vendor-failure.ts";

/** For the whole list. */
const READ_MS_MAX = 20_000;
const ADDRESS = /^https?:\/\//;

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

async function bytesAt(address: string, proxies: Proxies): Promise<Uint8Array> {
  try {
    const signal = AbortSignal.timeout(READ_MS_MAX);
    const answer = await fetchThrough(proxies)(address, { signal, headers: { accept: "application/json" } });
    if (!answer.ok) throw new BadList(`it answered ${answer.status}`);
    return answer.body === null ? new Uint8Array() : await bounded(answer.body);
  } catch (error) {
    if (error instanceof BadList) throw error;
    const { name, message, cause } = error as Error;
    if (name === "TimeoutError") throw new BadList(`it took longer than ${READ_MS_MAX / 1000} seconds`);
    throw new BadList(`it does not answer: ${cause instanceof Error ? cause.message : message}`);
  }
}

async function bytesFrom(adapter: Adapter, proxies: Proxies): Promise<Uint8Array> {
  const path = adapter.spec.chat?.modelsPath ?? "/models";
  const script = async ({ ask }: SessionContext) => (await ask({ method: "GET", path, send: "none" })).json;
  const { signal } = new AbortController();
  const order = { adapter, name: "models", requestId: "req_models", msMax: READ_MS_MAX, sandboxFault: null, signal };
  const upstream = createUpstream(systemClock, { dialects: {}, proxies });
  try {
    return Buffer.from(JSON.stringify((await upstream.vendorScript(script, order)) ?? null));
  } catch (error) {
    if (error instanceof VendorFailure) throw new BadList(`it answered: ${error.failure.message}`);
    throw error;
  } finally {
    await upstream.close();
  }
}

/** A source as it may be shown: a URL without password and query. */
export function sourceText(from: string): string {
  if (!ADDRESS.test(from)) return from;
  const { origin, pathname } = new URL(from);
  return origin + pathname;
}

/** Reads a source: a URL, a configured provider's id, or a file. Throws BadList. `vendor`: whose own list it is; null: of many vendors. */
export async function readSource(from: string, adapters: ReadonlyMap<string, Adapter>, proxies: Proxies) {
  if (ADDRESS.test(from)) return { bytes: await bytesAt(from, proxies), vendor: null };
  const adapter = adapters.get(from);
  if (adapter === undefined) return { bytes: await bytesOfFile(from), vendor: null };
  if (!adapter.configured) throw new BadList("it is a provider that is not on");
  return { bytes: await bytesFrom(adapter, proxies), vendor: from };
}
