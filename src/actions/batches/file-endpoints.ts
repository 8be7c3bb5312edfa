// GET, POST and DELETE /v1/files: the inputs and outputs of batches.
import { tmpdir } from "node:os";
import { z } from "zod";
import type { Clock } from "../../core/clock.ts";
import type { Answer, Call, EndpointShape, EndpointSpec, StreamAnswer } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Caller } from "../../core/plan.ts";
import { readQuery } from "../../money/accounts/read-body.ts";
import { createBodyBytes } from "../../platform/limits/body-bytes.ts";
import type { Records } from "../../platform/records/records.ts";
import { spooledForm } from "../../platform/uploads/spooled-upload.ts";
import { BATCH_FILE_BYTES_MAX, type BatchFiles, isListed, type Purpose } from "../files/batch-files.ts";
import { attachment, CONTENT_HEADERS } from "../files/file-endpoints.ts";
import type { FileRow } from "../files/file-rows.ts";
import { noSuchFile } from "../files/lifecycle.ts";
import { findJob, isOver } from "../jobs/job-record.ts";
import { jobsReading } from "./batch-launch.ts";

const MIB = 1024 * 1024;
/** The most disk space for uploads that are still arriving. */
const SPOOLED_BYTES_MAX = 4_096 * MIB;
const SPOOLED_ACCOUNT_BYTES_MAX = 512 * MIB;
const NAME_CHARS_MAX = 255;

/** How long a file may live, in seconds. */
export const lifeSchema = z.coerce.number().int().min(3_600).max(2_592_000);
const LIFE = "expires_after[seconds]";

export interface FileEndpointParts {
  readonly files: BatchFiles;
  readonly records: Records;
  readonly clock: Clock;
}

/** A page of a list, in the wire's form. */
export const pageSchema = z.object({
  limit: z.coerce.number().int().min(1).max(1_000).default(20),
  after: z.string().max(100).optional(),
  purpose: z.string().max(100).optional(),
});

/** The rows after the one with the id `after`. */
export async function pageOf<Row extends { readonly id: string }>(
  rows: AsyncIterable<Row>,
  { limit, after }: { readonly limit: number; readonly after?: string | undefined },
): Promise<{ readonly rows: readonly Row[]; readonly hasMore: boolean }> {
  const page: Row[] = [];
  let isPast = after === undefined;
  for await (const row of rows) {
    if (isPast) page.push(row);
    if (page.length > limit) break;
    isPast ||= row.id === after;
  }
  return { rows: page.slice(0, limit), hasMore: page.length > limit };
}

function view({ id, sizeBytes, createdAtMs, expiresAtMs, filename, tags }: FileRow) {
  return {
    id,
    object: "file",
    bytes: sizeBytes,
    created_at: Math.floor(createdAtMs / 1_000),
    ...(expiresAtMs === undefined ? {} : { expires_at: Math.floor(expiresAtMs / 1_000) }),
    filename,
    purpose: tags[0] ?? "batch",
    status: "processed",
    status_details: null,
  };
}

function wrong(param: string, detail: string): GatewayError {
  return new GatewayError("bad_request", { param, detail: `${param}: ${detail}` });
}

/** The caller, where its key may write. */
export function writer({ caller }: Call): Caller {
  if (caller === null) throw new GatewayError("invalid_token");
  if (caller.frozen) throw new GatewayError("account_frozen");
  if (caller.paused) throw new GatewayError("key_paused");
  return caller;
}

export function payerIn({ caller }: Call): Caller["payer"] {
  if (caller === null) throw new GatewayError("invalid_token");
  return caller.payer;
}

export function answering(
  method: EndpointShape["method"],
  path: string,
  answer: (call: Call) => Promise<Answer>,
  bodyBytesMax = 0,
): EndpointSpec {
  return { method, path, auth: "key", bodyBytesMax, answer };
}

function uploading({ files, clock }: FileEndpointParts) {
  const disk = createBodyBytes({ bytesMax: SPOOLED_BYTES_MAX, accountBytesMax: SPOOLED_ACCOUNT_BYTES_MAX });
  const rules = {
    fileBytesMax: BATCH_FILE_BYTES_MAX,
    bodyBytesMax: BATCH_FILE_BYTES_MAX + MIB,
    filesMax: 1,
    folder: tmpdir(),
  };
  return async (call: Call): Promise<Answer> => {
    const { payer } = writer(call);
    const { incoming, headers } = call.request;
    const share = disk.open();
    const full = share.belongTo(payer.id);
    if (full !== null) throw full;
    const form = await spooledForm(incoming, headers.get("content-type") ?? "", rules, share);
    try {
      const [file] = form.files;
      if (file === undefined || file.field !== "file") throw wrong("file", "is missing, must be a file");
      if (form.fields.purpose !== "batch") throw wrong("purpose", "must be batch");
      const life = lifeSchema.optional().safeParse(form.fields[LIFE]);
      if (!life.success) throw wrong(LIFE, "must be a number of seconds from 3600 to 2592000");
      const kept = await files.keep(
        payer.id,
        {
          filename: file.filename.toWellFormed().slice(0, NAME_CHARS_MAX),
          purpose: "batch" satisfies Purpose,
          sizeBytes: file.size,
          expiresAtMs: life.data === undefined ? null : clock.epochMs() + life.data * 1_000,
        },
        file.bytes(Buffer.allocUnsafeSlow(MIB)),
      );
      return { status: 200, body: view(kept) };
    } finally {
      form.close();
    }
  };
}

/** Whether a batch that is not over reads the file. */
async function isRead(id: string, records: Records): Promise<boolean> {
  for await (const jobId of jobsReading(id, records)) {
    const found = await findJob(records, jobId);
    if (found !== null && !isOver(found.job)) return true;
  }
  return false;
}

/** Paths are below the language-model path. */
export function fileEndpoints(parts: FileEndpointParts): readonly EndpointSpec[] {
  const { files, records } = parts;
  const own = async (call: Call) => {
    const row = await files.find(payerIn(call).id, call.request.params.id ?? "");
    if (row === null || !isListed(row)) throw noSuchFile();
    return row;
  };
  const bodyBytesMax = BATCH_FILE_BYTES_MAX + MIB;
  return [
    { method: "POST", path: "/files", auth: "key", bodyBytesMax, stream: uploading(parts) },
    answering("GET", "/files", async (call) => {
      const query = readQuery(pageSchema, call.request.query);
      const wanted = async function* () {
        for await (const row of files.all(payerIn(call).id))
          if (isListed(row) && (query.purpose === undefined || row.tags.includes(query.purpose))) yield row;
      };
      const { rows, hasMore } = await pageOf(wanted(), query);
      return { status: 200, body: listed(rows.map(view), hasMore) };
    }),
    answering("GET", "/files/{id}", async (call) => ({ status: 200, body: view(await own(call)) })),
    {
      method: "GET",
      path: "/files/{id}/content",
      auth: "key",
      bodyBytesMax: 0,
      async stream(call): Promise<StreamAnswer> {
        const row = await own(call);
        const bytes = await files.read(row.id, null);
        if (bytes === null) throw noSuchFile();
        const disposition = attachment(row.filename);
        const headers = { ...CONTENT_HEADERS, "content-type": "application/jsonl", "content-disposition": disposition };
        return { status: 200, headers, bytesTotal: row.sizeBytes, bytes };
      },
    },
    answering("DELETE", "/files/{id}", async (call) => {
      writer(call);
      const row = await own(call);
      const detail = { detail: "A batch that is not over reads this file. Cancel the batch first." };
      if (await isRead(row.id, records)) throw new GatewayError("conflict", { detail });
      await files.delete(row);
      return { status: 200, body: { id: row.id, object: "file", deleted: true } };
    }),
  ];
}

export function listed(data: readonly { readonly id: unknown }[], hasMore: boolean) {
  return { object: "list", data, first_id: data[0]?.id ?? null, last_id: data.at(-1)?.id ?? null, has_more: hasMore };
}
