// File lifecycle, ordered so a crash never leaks quota.
import { randomBytes } from "node:crypto";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { FileFacts, FileRow, FileRows } from "./file-rows.ts";
import type { FileStore } from "./file-store.ts";
import type { Quota } from "./quota.ts";

export const FILE_BYTES_MAX = 100 * 1024 * 1024;
export const QUOTA_BYTES_MAX = 2 * 1024 * 1024 * 1024;
/** How long links work, and how long an announced upload keeps its quota. */
export const LINK_SECONDS = 3_600;

export interface LifecycleDeps {
  readonly rows: FileRows;
  readonly quota: Quota;
  readonly store: FileStore;
  readonly clock: Clock;
  /** Files whose bytes this process is receiving. */
  readonly busy: Set<string>;
  readonly limits: FileLimits;
}

/** The most bytes of one file, and of all files of a payer. */
export interface FileLimits {
  readonly fileBytesMax: number;
  readonly quotaBytesMax: number;
}

export const FILE_LIMITS: FileLimits = { fileBytesMax: FILE_BYTES_MAX, quotaBytesMax: QUOTA_BYTES_MAX };

/** What a file is before it has an id. */
export type NewFile = Pick<FileFacts, "filename" | "mime" | "tags" | "note" | "source" | "sizeBytes" | "expiresAtMs">;

export function noSuchFile(): GatewayError {
  return new GatewayError("not_found", { of: "file", detail: "There is no such file." });
}

function noRoom(sizeBytes: number, freeBytes: number, { quotaBytesMax }: FileLimits): GatewayError {
  return new GatewayError("storage_quota_exceeded", {
    detail: { needed: sizeBytes, free: freeBytes },
    data: { quota_bytes: quotaBytesMax, free_bytes: freeBytes, needed_bytes: sizeBytes },
  });
}

/** Reserves quota for an announced file, or throws where there is too little. The claim lapses after an hour. */
export async function claim(deps: LifecycleDeps, payer: string, file: NewFile): Promise<FileRow> {
  const id = `file_${randomBytes(16).toString("hex")}`;
  const lapsesAtMs = deps.clock.epochMs() + LINK_SECONDS * 1_000;
  await deps.rows.remind(id, lapsesAtMs + (deps.store.links?.lateMsMax ?? 0));
  const fresh = await deps.rows.put({ ...file, id, payer, state: "new", lapsesAtMs, version: 0, createdAtMs: 0 });
  if (fresh === null) throw new Error(`the id of a file was made twice: ${id}`);
  const refused = await deps.quota.take(fresh);
  if (refused !== null) {
    await deps.rows.remove(fresh);
    await deps.rows.forget(id);
    throw noRoom(file.sizeBytes, refused.freeBytes, deps.limits);
  }
  const pending = await deps.rows.put({ ...fresh, state: "pending" });
  if (pending === null) throw new Error(`another process changed an unknown file: ${id}`);
  return pending;
}

/** Marks a file as stored with its real size and returns the quota it did not need; null if it was deleted meanwhile. */
export async function stored(deps: LifecycleDeps, row: FileRow, sizeBytes: number): Promise<FileRow | null> {
  const state = await deps.quota.state(row.payer);
  const kept = await deps.rows.put({ ...row, sizeBytes, state: "stored" });
  if (kept === null) return null;
  if (sizeBytes < row.sizeBytes) await deps.quota.free(row.payer, row.sizeBytes - sizeBytes, state);
  return kept;
}

/** Deletes a file and its bytes and returns its quota; false if another request deleted it first. */
export async function discard(deps: LifecycleDeps, row: FileRow): Promise<boolean> {
  const { rows, quota, store, clock } = deps;
  // If we crash in between, the sweep finds the orphaned bytes by this reminder.
  await rows.remind(row.id, clock.epochMs());
  const state = await quota.state(row.payer);
  if (!(await rows.remove(row))) return false;
  await store.delete(row.id);
  if (row.state !== "new") await quota.free(row.payer, row.sizeBytes, state);
  // While a link into the store is valid, the bytes may be uploaded once more.
  const links = store.links;
  if (links === null || clock.epochMs() >= row.lapsesAtMs + links.lateMsMax) await rows.forget(row.id);
  else await rows.remind(row.id, row.lapsesAtMs + links.lateMsMax);
  return true;
}

/** Looks again at a file whose bytes may have arrived without us. Once its claim has lapsed, it is stored or forgotten (null). */
export async function lookAgain(deps: LifecycleDeps, row: FileRow): Promise<FileRow | null> {
  if (deps.busy.has(row.id)) return row;
  if (row.state === "stored") {
    const { expiresAtMs = Number.POSITIVE_INFINITY } = row;
    return deps.clock.epochMs() >= expiresAtMs && (await discard(deps, row)) ? null : row;
  }
  const lapsed = deps.clock.epochMs() >= row.lapsesAtMs + (deps.store.links?.lateMsMax ?? 0);
  const mayBeThere = row.state === "pending" && (deps.store.links !== null || lapsed);
  if (mayBeThere && (await deps.store.sizeOf(row.id)) === row.sizeBytes)
    return (await stored(deps, row, row.sizeBytes)) ?? deps.rows.get(row.id);
  if (!lapsed) return row;
  return (await discard(deps, row)) ? null : deps.rows.get(row.id);
}

/** Checks all files that are due, and returns how many were forgotten. An error with one does not stop the rest. */
export async function sweepFiles(deps: LifecycleDeps, onBroken: (error: unknown) => void): Promise<number> {
  let forgotten = 0;
  for await (const id of deps.rows.due(deps.clock.epochMs())) {
    if (deps.busy.has(id)) continue;
    try {
      const row = await deps.rows.get(id);
      if (row === null) await deps.store.delete(id);
      const now = row === null ? null : await lookAgain(deps, row);
      if (row !== null && now === null) forgotten += 1;
      if (now?.expiresAtMs === undefined) await deps.rows.forget(id);
      else await deps.rows.remind(id, now.expiresAtMs);
    } catch (error) {
      onBroken(error);
    }
  }
  return forgotten;
}
