// The gateway's files: announce, receive, keep, look up, list and delete them, and links to them.
import type { Clock } from "../../core/clock.ts";
import type { Payer } from "../../core/plan.ts";
import { createRequestWindows } from "../../platform/limits/request-windows.ts";
import type { Records } from "../../platform/records/records.ts";
import { type FileRow, fileRows } from "./file-rows.ts";
import type { FileStore } from "./file-store.ts";
import { keep, receive } from "./intake.ts";
import {
  claim,
  discard,
  FILE_LIMITS,
  LINK_SECONDS,
  type LifecycleDeps,
  lookAgain,
  type NewFile,
  noSuchFile,
  sweepFiles,
} from "./lifecycle.ts";
import { createQuota } from "./quota.ts";
import { signedPath } from "./signed-links.ts";

const SWEEP_MS = 60_000;
/** Pages of the store that one list searches for matches. */
const PAGES_MAX = 20;
/** Lists are free, but cloud stores charge for each lookup: this bounds the lookups of pending uploads in one payer's lists. */
const LOOKS_PER_MINUTE_MAX = 600;

export interface FilesParts {
  readonly records: Records;
  readonly store: FileStore;
  readonly clock: Clock;
  /** Signs links to our own endpoints. */
  readonly secret: string;
  /** Our public address. Read for each link, because a random port is known only once it is open. */
  readonly baseUrl: () => string;
  /** Absent: any key is valid. */
  readonly stampOf?: StampOf | undefined;
  /** False: another process forgets uploads that never came. Default: true. */
  readonly sweeps?: boolean;
  readonly onBroken: (error: unknown) => void;
}

/** A value that goes into the signatures of a key's links and changes with the key's secret; null where the key is not valid. */
export type StampOf = (payer: string, keyId: string) => Promise<string | null>;

const NO_STAMP: StampOf = async () => "";

export type FileView = ReturnType<typeof view>;

export type LinkedView = FileView & { readonly get_url: string };

export type KeptBytes = Pick<NewFile, "filename" | "mime" | "source"> & { readonly bytes: Uint8Array };

type Keyed = Pick<Payer, "id"> & { readonly keyId?: string };

/** The key that a payer's links depend on; undefined where the payer has no account. */
export const keyOf = ({ keyId }: Keyed): string | undefined => keyId;

export interface FileFilter {
  /** The file must have all of them. */
  readonly tags: readonly string[];
  /** Part of the filename, ignoring case. */
  readonly query: string;
}

function view(row: FileRow) {
  return {
    file_id: row.id,
    filename: row.filename,
    size_bytes: row.sizeBytes,
    mime: row.mime,
    tags: row.tags,
    note: row.note,
    source: row.source,
    status: row.state === "stored" ? ("stored" as const) : ("pending" as const),
    created_at: new Date(row.createdAtMs).toISOString(),
  };
}

function fits(row: FileRow, { tags, query }: FileFilter): boolean {
  return tags.every((tag) => row.tags.includes(tag)) && row.filename.toLowerCase().includes(query.toLowerCase());
}

/** Makes links for about an hour, valid while the key `keyId` is: into the store where it has its own links, else to our endpoints. */
function createLinks({ store, secret, baseUrl, clock, stampOf = NO_STAMP }: FilesParts) {
  async function ours(method: "GET" | "PUT", { id, payer }: FileRow, untilMs: number, keyId = ""): Promise<string> {
    const key = keyId === "" ? undefined : { id: keyId, stamp: (await stampOf(payer, keyId)) ?? "" };
    return `${baseUrl()}${signedPath(secret, { method, id, expiresAt: Math.ceil(untilMs / 1_000), key })}`;
  }
  async function get(row: FileRow, keyId?: string): Promise<string> {
    const { id, ...file } = row;
    return store.links?.get(id, file, LINK_SECONDS) ?? ours("GET", row, clock.epochMs() + LINK_SECONDS * 1_000, keyId);
  }
  const linked = async (row: FileRow, keyId?: string) => ({ ...view(row), get_url: await get(row, keyId) });
  return {
    get,
    linked,
    async announced(row: FileRow, keyId?: string) {
      const { id, sizeBytes, lapsesAtMs } = row;
      const put = await (store.links?.put(id, sizeBytes, LINK_SECONDS) ?? ours("PUT", row, lapsesAtMs, keyId));
      return { ...(await linked(row, keyId)), put_url: put };
    },
  };
}

/** The payer's file. Throws a 404 where it has none of this id. */
async function own(deps: LifecycleDeps, payer: string, id: string): Promise<FileRow> {
  const row = await deps.rows.get(id);
  const now = row === null || row.payer !== payer || row.state === "new" ? null : await lookAgain(deps, row);
  if (now === null) throw noSuchFile();
  return now;
}

function lister(deps: LifecycleDeps) {
  const looks = createRequestWindows({ clock: deps.clock });

  /** The current row for a list; unchanged once the payer's lists have used up their lookups. */
  function lookForList(row: FileRow): Promise<FileRow | null> | FileRow {
    if (row.state === "pending" && !looks.take(row.payer, LOOKS_PER_MINUTE_MAX).allowed) return row;
    return lookAgain(deps, row);
  }

  /** A page of a payer's stored files. It may be shorter than `limit`; `next` says whether there are more. */
  return async function list(payer: string, filter: FileFilter, limit: number, from: string | null) {
    const files: FileView[] = [];
    let next = from;
    for (let pages = 0; pages < PAGES_MAX && files.length < limit; pages++) {
      const page = await deps.rows.list(payer, limit - files.length, next);
      const now = await Promise.all(page.rows.filter((row) => fits(row, filter)).map(lookForList));
      for (const row of now) if (row?.state === "stored") files.push(view(row));
      next = page.next;
      if (next === null) break;
    }
    return { files, next };
  };
}

function byLink(deps: LifecycleDeps, { store, stampOf = NO_STAMP }: FilesParts) {
  const { rows } = deps;
  return {
    /** Receives the bytes of an announced upload. */
    receive: (id: string, body: AsyncIterable<Uint8Array>, contentLength: number | null) =>
      receive(deps, id, body, contentLength),

    /** Null where there is no such file, or not yet. */
    async stored(id: string): Promise<FileRow | null> {
      const row = await rows.get(id);
      return row?.state === "stored" ? row : null;
    },

    /** The stamp for a link's signature; null where its key is no longer valid. */
    async stamp(id: string, keyId: string): Promise<string | null> {
      const row = await rows.get(id);
      if (row === null) throw noSuchFile();
      return stampOf(row.payer, keyId);
    },

    read: store.read,
  };
}

export type Files = ReturnType<typeof createFiles>;

/** Opens the files of all payers. A payer sees only its own: other ids are 404. */
export function createFiles(parts: FilesParts) {
  const rows = fileRows(parts.records, parts.clock);
  const limits = FILE_LIMITS;
  const quota = createQuota(parts.records, rows, limits.quotaBytesMax);
  const deps: LifecycleDeps = { rows, quota, store: parts.store, clock: parts.clock, busy: new Set(), limits };
  const links = createLinks(parts);
  const { linked } = links;
  const list = lister(deps);
  const sweep = () => sweepFiles(deps, parts.onBroken);
  const swept = () => void sweep().catch(parts.onBroken);
  const timer = parts.sweeps === false ? undefined : setInterval(swept, SWEEP_MS).unref();

  return {
    /** Reserves quota for an upload, and returns where to send its bytes. */
    async announce(payer: string, file: NewFile, keyId?: string) {
      return links.announced(await claim(deps, payer, file), keyId);
    },

    /** Stores bytes that were fetched; `sizeBytes` is null where their number is unknown. */
    async keep(payer: string, file: Parameters<typeof keep>[2], bytes: AsyncIterable<Uint8Array>, keyId?: string) {
      return linked(await keep(deps, payer, file, bytes), keyId);
    },

    /** Stores an action's answer that is too large for an envelope as one of its payer's files. */
    async keepBytes(payer: Keyed, { bytes, ...facts }: KeptBytes): Promise<LinkedView> {
      const file = { ...facts, tags: [], note: null, sizeBytes: bytes.length };
      return linked(await keep(deps, payer.id, file, one(bytes)), keyOf(payer));
    },

    async get(payer: string, id: string, keyId?: string): Promise<LinkedView> {
      return linked(await own(deps, payer, id), keyId);
    },

    async link(payer: Keyed, id: string): Promise<string> {
      const row = await own(deps, payer.id, id);
      if (row.state !== "stored") throw noSuchFile();
      return links.get(row, keyOf(payer));
    },

    list,

    async delete(payer: string, id: string): Promise<FileView> {
      for (;;) {
        const row = await own(deps, payer, id);
        if (await discard(deps, row)) return view(row);
      }
    },

    ...byLink(deps, parts),

    /** Forgets uploads that never came. Also runs every minute. */
    sweep,

    close: () => clearInterval(timer),
  };
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
