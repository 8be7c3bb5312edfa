// Records uncharged calls of known keys in a file of bounded size, for the operator, so that no store has to keep them.
import { appendFile, open, rename, stat } from "node:fs/promises";
import type { Clock } from "../../core/clock.ts";
import type { FailedCall, FailedCallSearch, FailedCalls } from "../../core/usage-rows.ts";
import type { WrittenLine } from "./log-lines.ts";
import type { RequestRecord } from "./record.ts";
import { LogWriter } from "./request-log.ts";

const MIB = 1024 * 1024;
/** For both files together: when the newer is full, the older is deleted. */
const BYTES_MAX = 256 * MIB;
const WRITE_MS = 500;
/** The most that waits for a slow disk; beyond it, calls are not recorded. */
const WAITING_CHARACTERS_MAX = 4 * MIB;
/** Per key and minute, so that no key crowds out the others. */
const OF_KEY_MAX = 60;
const MINUTE_MS = 60_000;
const NAME_LENGTH_MAX = 200;
const MESSAGE_LENGTH_MAX = 400;
const CHUNK_BYTES = 64 * 1024;
const LINE_BREAK = 10;
/** The most that an account's search reads for a page and for one call: otherwise one without matches would read the whole file each time. */
const LIST_BYTES_MAX = 4 * MIB;
const ONE_BYTES_MAX = 64 * MIB;

const FAILED = new Set<string | null>(["failed", "broken", "left_before_content"]);

export interface FailedCallOptions {
  /** Processes of one machine may share it. */
  readonly file: string;
  readonly clock: Clock;
  readonly onBroken: (error: unknown) => void;
  readonly bytesMax?: number;
}

function statusOf({ outcome }: RequestRecord): FailedCall["status"] | null {
  if (outcome === "refused") return "refused";
  return FAILED.has(outcome) ? "failed" : null;
}

function callOf(record: RequestRecord, status: FailedCall["status"], createdAtMs: number): FailedCall | null {
  const { requestId, accountId, keyId, endpoint, asked, code, told } = record;
  if (accountId === null || keyId === null) return null;
  return {
    requestId,
    status,
    createdAtMs,
    accountId,
    keyId,
    endpoint,
    asked: asked?.slice(0, NAME_LENGTH_MAX) ?? null,
    httpStatus: record.status,
    code,
    message: told?.slice(0, MESSAGE_LENGTH_MAX) ?? null,
    ms: Math.round(record.durationMs),
    tags: record.tags,
    attempts: record.attempts.map(({ provider, model, status, failure, refusal, ms, upstreamNano }) => ({
      vendor: provider,
      model,
      status,
      reason: failure,
      // Sandbox refusals concern no real vendor key.
      ...(refusal === undefined || record.sandbox ? {} : { refusal }),
      ms: Math.round(ms),
      upstreamNano,
    })),
  };
}

function isAsked(call: FailedCall, search: FailedCallSearch): boolean {
  const { accountId, keyId, model, provider, tag, toMs } = search;
  return (
    (search.status === null || call.status === search.status) &&
    (search.requestId === undefined || call.requestId === search.requestId) &&
    (accountId === null || call.accountId === accountId) &&
    (keyId === null || call.keyId === keyId) &&
    (model === null || call.asked === model || call.attempts.some((attempt) => attempt.model === model)) &&
    (provider === null || call.attempts.some(({ vendor }) => vendor === provider)) &&
    (tag === null || call.tags.includes(tag)) &&
    (toMs === null || call.createdAtMs < toMs)
  );
}

function isMissing(error: unknown): boolean {
  return (error as { code?: unknown }).code === "ENOENT";
}

interface Line {
  readonly bytes: Buffer;
  /** Where the line starts, and in which file: file names change, inode numbers do not. */
  readonly file: number;
  readonly at: number;
}

/** The lines of a file, backward, from its end or from where an earlier page ended. */
async function* linesBackward(
  path: string,
  before: { readonly file: number; readonly at: number } | null,
): AsyncGenerator<Line> {
  const handle = await open(path, "r").catch((error: unknown) => {
    if (isMissing(error)) return null;
    throw error;
  });
  if (handle === null) return;
  try {
    const { ino, size } = await handle.stat();
    let end = before?.file === ino ? Math.min(before.at, size) : size;
    let rest = Buffer.alloc(0);
    while (end > 0) {
      const start = Math.max(0, end - CHUNK_BYTES);
      const chunk = Buffer.alloc(end - start);
      await handle.read(chunk, 0, chunk.length, start);
      let bytes = Buffer.concat([chunk, rest]);
      for (let at = bytes.lastIndexOf(LINE_BREAK, -2); at >= 0; at = bytes.lastIndexOf(LINE_BREAK, -2)) {
        yield { bytes: bytes.subarray(at + 1), file: ino, at: start + at + 1 };
        bytes = bytes.subarray(0, at + 1);
      }
      rest = Buffer.from(bytes);
      end = start;
    }
    if (rest.length > 0) yield { bytes: rest, file: ino, at: 0 };
  } finally {
    await handle.close();
  }
}

/** Parses where an earlier page ended. */
function placeIn(cursor: string | null) {
  if (cursor === null) return null;
  const [file, at] = cursor.split(".").map(Number);
  return { file: file ?? 0, at: at ?? 0 };
}

async function numberOf(path: string): Promise<number | null> {
  return stat(path).then(
    ({ ino }) => ino,
    () => null,
  );
}

/** Null for an incomplete line of a process that died while writing. */
function callIn({ bytes }: Line): FailedCall | null {
  try {
    return JSON.parse(bytes.toString()) as FailedCall;
  } catch {
    return null;
  }
}

/** `files`: the newer one first. */
async function findIn(files: readonly string[], search: FailedCallSearch): ReturnType<FailedCalls["find"]> {
  const before = placeIn(search.cursor);
  const rows: FailedCall[] = [];
  const nextAt = ({ file: number, at }: Line) => `${number}.${at}`;
  // Most lines belong to other calls; skip them without parsing.
  const wanted = search.requestId ?? search.accountId;
  const text = wanted === null ? null : Buffer.from(JSON.stringify(wanted));
  const bytesMax =
    search.accountId === null
      ? Number.POSITIVE_INFINITY
      : search.requestId === undefined
        ? LIST_BYTES_MAX
        : ONE_BYTES_MAX;
  let looked = 0;
  let seen: Line | null = null;
  let last: Line | null = null;
  let begun = before === null;
  for (const path of files) {
    // The file in which the earlier page ended may have become the older one, or be gone.
    begun ||= (await numberOf(path)) === before?.file;
    if (!begun) continue;
    for await (const line of linesBackward(path, before)) {
      if (seen !== null && looked > bytesMax) return { rows, next: nextAt(seen) };
      looked += line.bytes.length;
      seen = line;
      if (text !== null && !line.bytes.includes(text)) continue;
      const call = callIn(line);
      if (call === null || !isAsked(call, search)) continue;
      if (search.fromMs !== null && call.createdAtMs < search.fromMs) return { rows, next: null };
      if (rows.length === search.limit) return { rows, next: last === null ? null : nextAt(last) };
      rows.push(call);
      last = line;
    }
  }
  return { rows, next: null };
}

export function openFailedCalls({ file, clock, onBroken, bytesMax = BYTES_MAX }: FailedCallOptions) {
  const older = `${file}.1`;
  let minute = 0;
  const ofKeys = new Map<string, number>();

  /** True if this key may record another call in this minute. */
  function takes(keyId: string, nowMs: number): boolean {
    const now = Math.floor(nowMs / MINUTE_MS);
    if (now !== minute) ofKeys.clear();
    minute = now;
    const count = (ofKeys.get(keyId) ?? 0) + 1;
    ofKeys.set(keyId, count);
    return count <= OF_KEY_MAX;
  }

  async function append(lines: readonly WrittenLine[]): Promise<number> {
    const size = await stat(file).then(
      (found) => found.size,
      () => 0,
    );
    if (size >= bytesMax / 2) await rename(file, older);
    await appendFile(file, lines.map(({ text }) => text).join(""), { mode: 0o600 });
    return lines.length;
  }

  const store = { waitMs: WRITE_MS, append };
  const writer = new LogWriter({ store, charactersMax: WAITING_CHARACTERS_MAX, clock, onOutcome() {}, onBroken });

  return {
    note(record: RequestRecord) {
      const status = statusOf(record);
      if (status === null || record.keyId === null) return;
      const nowMs = clock.epochMs();
      if (writer.isFull || !takes(record.keyId, nowMs)) return;
      const call = callOf(record, status, Math.floor(nowMs));
      if (call !== null) writer.add({ accountId: call.accountId, text: `${JSON.stringify(call)}\n` });
    },
    async find(search: Parameters<FailedCalls["find"]>[0]): ReturnType<FailedCalls["find"]> {
      await writer.flushed(0);
      return findIn([file, older], search);
    },
    /** Writes what is queued. */
    flush: () => writer.flushed(0),
    close: () => writer.flushed(0),
  };
}
