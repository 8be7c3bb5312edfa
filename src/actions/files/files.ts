// Files as the rest of the gateway knows them: announce, receive, keep, look up, list, delete, and links to them.
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import { createRequestWindows } from "../../platform/limits/request-windows.ts";
import type { Records } from "../../platform/records/records.ts";
import { type FileRow, fileRows } from "./file-rows.ts";
import type { FileStore } from "./file-store.ts";
import { keep, receive } from "./intake.ts";
import {
  claim,
  discard,
  LINK_SECONDS,
  type LifecycleDeps,
  lookAgain,
  type NewFile,
  noSuchFile,
  QUOTA_BYTES_MAX,
  sweepFiles,
} from "./lifecycle.ts";
import { createQuota } from "./quota.ts";
import { signedPath } from "./signed-links.ts";

const SWEEP_MS = 60_000;
/** Pages of the store that one list looks through for what it was asked for. */
const PAGES_MAX = 20;
/** A list is free, and a store in a cloud takes money for each look: so many uploads that are awaited are looked for in a payer's lists. */
const LOOKS_PER_MINUTE_MAX = 600;

export interface FilesParts {
  readonly records: Records;
  readonly store: FileStore;
  readonly clock: Clock;
  /** Signs links to our own endpoints. */
  readonly secret: string;
  /** The address that callers know us by; asked at each link, since a free port is known only when it is open. */
  readonly baseUrl: () => string;
  /** Left out: any key is good. */
  readonly stampOf?: StampOf | undefined;
  /** False: another process forgets uploads that never came. Left out: this one does. */
  readonly sweeps?: boolean;
  readonly onBroken: (error: unknown) => void;
}

/** What the links of a payer's key are signed with, which changes with the key's secret; null: the key is not good. */
export type StampOf = (payer: string, keyId: string) => Promise<string | null>;

const NO_STAMP: StampOf = async () => "";

/** What callers see of a file (contract, 2.8). */
export type FileView = {
  readonly file_id: string;
  readonly filename: string;
  readonly size_bytes: number;
  readonly mime: string | null;
  readonly tags: readonly string[];
  readonly note: string | null;
  readonly source: string;
  readonly status: "pending" | "stored";
  readonly created_at: string;
};

export type LinkedView = FileView & { readonly get_url: string };

/** Bytes that are at hand, and where they come from. */
export type KeptBytes = Pick<NewFile, "filename" | "mime" | "source"> & { readonly bytes: Uint8Array };

type Keyed = Pick<Payer, "id"> & { readonly keyId?: string };

/** The key that a payer's links are good with; undefined: it pays without an account. */
export function keyOf({ keyId }: Keyed): string | undefined {
  return keyId;
}

export interface FileFilter {
  /** All of them must be on the file. */
  readonly tags: readonly string[];
  /** Part of the filename, in any case. */
  readonly query: string;
}

function view(row: FileRow): FileView {
  return {
    file_id: row.id,
    filename: row.filename,
    size_bytes: row.sizeBytes,
    mime: row.mime,
    tags: row.tags,
    note: row.note,
    source: row.source,
    status: row.state === "stored" ? "stored" : "pending",
    created_at: new Date(row.createdAtMs).toISOString(),
  };
}

function fits(row: FileRow, { tags, query }: FileFilter): boolean {
  return tags.every((tag) => row.tags.includes(tag)) && row.filename.toLowerCase().includes(query.toLowerCase());
}

/** Links for about an hour, good as long as the key `keyId` is: into the store where it has its own, else to our endpoints. */
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

async function own(deps: LifecycleDeps, payer: string, id: string): Promise<FileRow | null> {
  const row = await deps.rows.get(id);
  if (row === null || row.payer !== payer || row.state === "new") return null;
  return lookAgain(deps, row);
}

function lister(deps: LifecycleDeps) {
  const looks = createRequestWindows({ clock: deps.clock });

  /** The row as it is now, for a list; where the payer's lists have looked for too many uploads, as it was. */
  function lookForList(row: FileRow): Promise<FileRow | null> | FileRow {
    if (row.state === "pending" && !looks.take(row.payer, LOOKS_PER_MINUTE_MAX).allowed) return row;
    return lookAgain(deps, row);
  }

  /** A page of a payer's files that are there. It may be shorter than `limit`; `next` says whether there is more. */
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

/** What the holder of a link does with its file. */
function byLink(deps: LifecycleDeps, { store, stampOf = NO_STAMP }: FilesParts) {
  const { rows } = deps;
  return {
    /** The bytes of an announced upload. */
    receive: (id: string, body: AsyncIterable<Uint8Array>, contentLength: number | null) =>
      receive(deps, id, body, contentLength),

    /** Null: there is no such file, or not yet. */
    async stored(id: string): Promise<FileRow | null> {
      const row = await rows.get(id);
      return row?.state === "stored" ? row : null;
    },

    /** What the link was signed with beside the file; null: its key is not good any more. */
    async stamp(id: string, keyId: string): Promise<string | null | GatewayError> {
      const row = await rows.get(id);
      return row === null ? noSuchFile() : stampOf(row.payer, keyId);
    },

    read: store.read,
  };
}

/** Does so until the answered function is called. */
function everyMinute(sweep: () => Promise<unknown>, onBroken: FilesParts["onBroken"]): () => void {
  const timer = setInterval(() => void sweep().catch(onBroken), SWEEP_MS).unref();
  return () => clearInterval(timer);
}

export type Files = ReturnType<typeof createFiles>;

/** Opens the files of all payers. A payer sees its own alone: anybody else's id is 404. */
export function createFiles(parts: FilesParts) {
  const rows = fileRows(parts.records, parts.clock);
  const quota = createQuota(parts.records, rows, QUOTA_BYTES_MAX);
  const deps: LifecycleDeps = { rows, quota, store: parts.store, clock: parts.clock, busy: new Set() };
  const links = createLinks(parts);
  const { linked } = links;
  const list = lister(deps);
  const sweep = () => sweepFiles(deps, parts.onBroken);
  const close = parts.sweeps === false ? () => {} : everyMinute(sweep, parts.onBroken);

  return {
    /** Reserves quota for an upload, and says where its bytes go. */
    async announce(payer: string, file: NewFile, keyId?: string) {
      const row = await claim(deps, payer, file);
      return row instanceof GatewayError ? row : links.announced(row, keyId);
    },

    /** Keeps bytes that were fetched; `sizeBytes` null: it is not known how many. */
    async keep(payer: string, file: Parameters<typeof keep>[2], bytes: AsyncIterable<Uint8Array>, keyId?: string) {
      const row = await keep(deps, payer, file, bytes);
      return row instanceof GatewayError ? row : linked(row, keyId);
    },

    /** Keeps the answer of an action, too large for an envelope, as a file of its payer. */
    async keepBytes(payer: Keyed, { bytes, ...facts }: KeptBytes): Promise<LinkedView | GatewayError> {
      const file = { ...facts, tags: [], note: null, sizeBytes: bytes.length };
      const row = await keep(deps, payer.id, file, one(bytes));
      return row instanceof GatewayError ? row : linked(row, keyOf(payer));
    },

    async get(payer: string, id: string, keyId?: string): Promise<LinkedView | GatewayError> {
      const row = await own(deps, payer, id);
      return row === null ? noSuchFile() : linked(row, keyId);
    },

    /** A link to a file of the payer's whose bytes are there, for the one it is given to. */
    async link(payer: Keyed, id: string): Promise<string | GatewayError> {
      const row = await own(deps, payer.id, id);
      return row?.state === "stored" ? links.get(row, keyOf(payer)) : noSuchFile();
    },

    list,

    async delete(payer: string, id: string): Promise<FileView | GatewayError> {
      for (;;) {
        const row = await own(deps, payer, id);
        if (row === null) return noSuchFile();
        if (await discard(deps, row)) return view(row);
      }
    },

    ...byLink(deps, parts),

    /** Forgets uploads that never came; also does so every minute by itself. */
    sweep,

    close,
  };
}

async function* one(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}
