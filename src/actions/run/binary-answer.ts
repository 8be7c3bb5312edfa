// An answer that is bytes: text as text, a small rest as base64, and a large one as the link to a file of the caller's own.
import { isUtf8 } from "node:buffer";
import { GatewayError } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import { isTextType } from "../../upstream/text-type.ts";

/** A vendor's bytes, as an attempt hands them over. */
export interface RawBytes {
  readonly contentType: string;
  readonly bytes: Buffer;
}

/** Stores bytes as a file of the payer's; what it answers becomes `file`. */
export type KeepBytes = (
  payer: Payer,
  file: { readonly filename: string; readonly mime: string; readonly bytes: Buffer; readonly source: string },
) => Promise<Record<string, unknown> | GatewayError>;

const INLINE_BYTES_MAX = 1024 * 1024;

function extensionOf(mime: string): string {
  return /\/([a-z0-9]{1,8})$/.exec(mime)?.[1] ?? "bin";
}

/** The `data` of an answer that is bytes. Where no file can be kept, all of it goes in as base64. */
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
    const filename = `${source.replace("/", "-")}.${extensionOf(mime)}`;
    const kept = await keepBytes(payer, { filename, mime, bytes, source });
    if (!(kept instanceof GatewayError)) return { ...common, file: kept };
  }
  return { ...common, base64: bytes.toString("base64") };
}
