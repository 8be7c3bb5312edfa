// The two formats of batch APIs: a batch of an uploaded file, and a batch of the requests in one body.
import { isRecord, type Json, listOf, numberOf, stringOf, wordOf } from "../core/json.ts";
import type { BatchClient } from "./batch-client.ts";
import { malformed, VendorFailure } from "./vendor-failure.ts";

/** Requests that the vendor runs as one batch. */
export interface VendorInput {
  /** Our name for it, which all its custom ids begin with. */
  readonly tag: string;
  /** What its lines call, below the origin. */
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly lines: number;
  readonly bytes: number;
  /** Its lines, as `line` writes them. */
  read(): AsyncIterable<Uint8Array>;
}

/** How far the vendor has come with a batch. */
export interface VendorState {
  readonly status: "running" | "completed" | "cancelled" | "expired" | "failed";
  readonly message: string | null;
  /** Where its answers are, below the origin. */
  readonly outputs: readonly string[];
  /** How many answers there must be at least. */
  readonly answers: number;
}

export interface VendorLine {
  readonly status: number;
  readonly body: unknown;
}

/** When a batch may have been created, and the batches that were taken for it. */
interface Made {
  readonly sinceMs: number;
  readonly foreign: readonly string[];
}

type Found = { readonly id: string; readonly isSure: boolean } | null;

export interface BatchFormat {
  /** A line of the input, with its line break. */
  line(customId: string, path: string, body: string): string;
  /** Uploads the input; null: it goes with the batch itself. */
  upload(client: BatchClient, input: VendorInput): Promise<string | null>;
  create(client: BatchClient, input: VendorInput, fileId: string | null): Promise<string>;
  /** A batch whose creation got no answer; null: there is none. Where it is not sure to be ours, its answers show it. */
  find(client: BatchClient, input: VendorInput, made: Made): Promise<Found>;
  state(client: BatchClient, id: string): Promise<VendorState>;
  cancel(client: BatchClient, id: string): Promise<void>;
  /** What a line of the answers says; null: the request was not run. */
  answer(line: Json): VendorLine | null;
}

const BOUNDARY = "tollgate-batch-3f1c9d7e5b2a4860";
const PAGE = 100;
const PAGES_MAX = 100;
/** The vendor's clock may differ from ours. */
const SKEW_MS = 600_000;

function idIn({ id }: Json): string {
  if (typeof id !== "string" || !/^[\w-]{1,200}$/.test(id))
    throw new VendorFailure(malformed("the batch API answered without an id"));
  return id;
}

function jsonCall(path: string, body: Json) {
  const bytes = Buffer.from(JSON.stringify(body));
  return { method: "POST", path, body: piece(bytes), bytes: bytes.length } as const;
}

async function* piece(bytes: Uint8Array): AsyncGenerator<Uint8Array> {
  yield bytes;
}

/** `bytes` between two texts, without the first `skipped` bytes. */
async function* between(head: string, bytes: AsyncIterable<Uint8Array>, tail: string, skipped = 0) {
  yield Buffer.from(head);
  let left = skipped;
  for await (const part of bytes) {
    const cut = Math.min(left, part.length);
    left -= cut;
    if (cut < part.length) yield part.subarray(cut);
  }
  yield Buffer.from(tail);
}

interface Listing {
  readonly path: string;
  /** The parameter with the last id of the page before. */
  readonly after: string;
  readonly isSure: boolean;
  isOurs(batch: Json): boolean;
}

/** Looks through the vendor's list, newest first, as far back as the batch may have been created. */
async function findIn(client: BatchClient, { path, after, isSure, isOurs }: Listing, made: Made): Promise<Found> {
  let from = "";
  for (let page = 0; page < PAGES_MAX; page++) {
    const { data, has_more: hasMore } = await client.json({ method: "GET", path: `${path}?limit=${PAGE}${from}` });
    let last: string | null = null;
    for (const batch of listOf(data).filter(isRecord)) {
      const { created_at: at } = batch;
      const atMs = typeof at === "number" ? 1_000 * at : Date.parse(wordOf(at));
      if (atMs < made.sinceMs - SKEW_MS) return null;
      last = idIn(batch);
      if (!made.foreign.includes(last) && isOurs(batch)) return { id: last, isSure };
    }
    if (hasMore !== true || last === null) return null;
    from = `&${after}=${last}`;
  }
  return null;
}

const countsOf = ({ request_counts: counts }: Json): Json => (isRecord(counts) ? counts : {});
const sumOf = (counts: Json, names: readonly string[]): number =>
  names.reduce((sum, name) => sum + (numberOf(counts[name]) ?? 0), 0);

const FILES_ENDED: Readonly<Record<string, VendorState["status"]>> = {
  completed: "completed",
  expired: "expired",
  cancelled: "cancelled",
  failed: "failed",
};

const files: BatchFormat = {
  line: (customId, path, body) =>
    `{"custom_id":${JSON.stringify(customId)},"method":"POST","url":${JSON.stringify(`/v1${path}`)},"body":${body}}\n`,
  async upload(client, input) {
    const part = `--${BOUNDARY}\r\nContent-Disposition: form-data; name=`;
    const head = `${part}"purpose"\r\n\r\nbatch\r\n${part}"file"; filename="${input.tag}.jsonl"\r\nContent-Type: application/jsonl\r\n\r\n`;
    const tail = `\r\n--${BOUNDARY}--\r\n`;
    const file = await client.json({
      method: "POST",
      path: "/files",
      headers: { "content-type": `multipart/form-data; boundary=${BOUNDARY}` },
      body: between(head, input.read(), tail),
      bytes: head.length + input.bytes + tail.length,
    });
    return idIn(file);
  },
  async create(client, { tag, path }, fileId) {
    const wanted = {
      input_file_id: fileId,
      endpoint: `/v1${path}`,
      completion_window: "24h",
      metadata: { tollgate_batch: tag },
    };
    return idIn(await client.json(jsonCall("/batches", wanted)));
  },
  find(client, { tag }, made) {
    const isOurs = ({ metadata }: Json) => isRecord(metadata) && metadata.tollgate_batch === tag;
    return findIn(client, { path: "/batches", after: "after", isSure: true, isOurs }, made);
  },
  async state(client, id) {
    const batch = await client.json({ method: "GET", path: `/batches/${id}` });
    const { data } = isRecord(batch.errors) ? batch.errors : {};
    const [error] = listOf(data).filter(isRecord);
    const outputs = [batch.output_file_id, batch.error_file_id].filter((file) => typeof file === "string");
    return {
      status: FILES_ENDED[wordOf(batch.status)] ?? "running",
      message: stringOf(error?.message) ?? null,
      outputs: outputs.map((file) => `/files/${encodeURIComponent(file)}/content`),
      answers: sumOf(countsOf(batch), ["completed", "failed"]),
    };
  },
  async cancel(client, id) {
    await client.json({ method: "POST", path: `/batches/${id}/cancel` });
  },
  answer({ response }) {
    if (!isRecord(response)) return null;
    return { status: numberOf(response.status_code) ?? 500, body: response.body };
  },
};

const MESSAGE_COUNTS = ["processing", "succeeded", "errored", "canceled", "expired"];

const messages: BatchFormat = {
  // A comma before each: the first one is cut off.
  line: (customId, _, body) => `,{"custom_id":${JSON.stringify(customId)},"params":${body}}\n`,
  upload: async () => null,
  async create(client, { headers, bytes, read }) {
    const [head, tail] = ['{"requests":[', "]}"];
    const call = { method: "POST", path: "/messages/batches", headers } as const;
    const body = between(head, read(), tail, 1);
    return idIn(await client.json({ ...call, body, bytes: head.length + bytes - 1 + tail.length }));
  },
  find(client, { lines }, made) {
    const isOurs = (batch: Json) => sumOf(countsOf(batch), MESSAGE_COUNTS) === lines;
    return findIn(client, { path: "/messages/batches", after: "after_id", isSure: false, isOurs }, made);
  },
  async state(client, id) {
    const batch = await client.json({ method: "GET", path: `/messages/batches/${id}` });
    const counts = countsOf(batch);
    const isOver = batch.processing_status === "ended";
    const isCut = (name: string) => sumOf(counts, [name]) > 0;
    const how = isCut("canceled") ? "cancelled" : isCut("expired") ? "expired" : "completed";
    return {
      status: isOver ? how : "running",
      message: null,
      outputs: isOver ? [`/messages/batches/${id}/results`] : [],
      answers: sumOf(counts, MESSAGE_COUNTS),
    };
  },
  async cancel(client, id) {
    await client.json({ method: "POST", path: `/messages/batches/${id}/cancel` });
  },
  answer({ result }) {
    if (!isRecord(result)) return null;
    if (result.type === "succeeded") return { status: 200, body: result.message };
    if (result.type !== "errored") return null;
    const { error } = isRecord(result.error) ? result.error : {};
    const isInvalid = isRecord(error) && error.type === "invalid_request_error";
    return { status: isInvalid ? 400 : 500, body: result.error };
  },
};

export const BATCH_FORMATS: Readonly<Record<"files" | "messages", BatchFormat>> = { files, messages };
