// Binary answers: text stays text, small ones become base64, large ones a link to one of the caller's files.
import { isUtf8 } from "node:buffer";
import { GatewayError, refusalIn } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import { isTextType } from "../../upstream/answer-body.ts";

/** A vendor's bytes, as an attempt returns them. */
export interface RawBytes {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** Stores bytes as one of the payer's files; the answer's `file` is what it returns. */
export type KeepBytes = (
  payer: Payer,
  file: { readonly filename: string; readonly mime: string; readonly bytes: Buffer; readonly source: string },
) => Promise<Record<string, unknown>>;

const INLINE_BYTES_MAX = 1024 * 1024;

/** The `data` of a binary answer. Falls back to base64 where no file can be stored. */
export async function binaryAnswer(
  { contentType, bytes }: RawBytes,
  {
    payer,
    source,
    keepBytes,
  }: { readonly payer: Payer; readonly source: string; readonly keepBytes: KeepBytes | null },
): Promise<Record<string, unknown>> {
  const common = { content_type: contentType, size_bytes: bytes.length };
  if (isTextType(contentType) && isUtf8(bytes)) return { ...common, text: bytes.toString("utf8") };
  if (bytes.length > INLINE_BYTES_MAX && keepBytes !== null) {
    const mime = (contentType.split(";")[0] ?? "").trim().toLowerCase() || "application/octet-stream";
    const filename = `${source.replace("/", "-")}.${/\/([a-z0-9]{1,8})$/.exec(mime)?.[1] ?? "bin"}`;
    const kept = await keepBytes(payer, { filename, mime, bytes, source }).catch(refusalIn);
    if (!(kept instanceof GatewayError)) return { ...common, file: kept };
  }
  return { ...common, base64: bytes.toString("base64") };
}
