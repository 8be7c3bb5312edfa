// Parses the Range header of a download.
import type { ByteRange } from "./file-store.ts";

/** Null: the whole file, also where the header is malformed or names several ranges (RFC 9110, 14.2). */
export function byteRange(header: string | undefined, sizeBytes: number): ByteRange | null | "unsatisfiable" {
  const found = /^bytes=\s*(\d{0,15})-(\d{0,15})\s*$/i.exec(header ?? "");
  if (found === null) return null;
  const [, first = "", last = ""] = found;
  if (first === "") return last === "" ? null : lastBytes(Number(last), sizeBytes);
  if (last !== "" && Number(last) < Number(first)) return null;
  if (Number(first) >= sizeBytes) return "unsatisfiable";
  return { from: Number(first), to: last === "" ? sizeBytes - 1 : Math.min(Number(last), sizeBytes - 1) };
}

function lastBytes(count: number, sizeBytes: number): ByteRange | "unsatisfiable" {
  if (count === 0 || sizeBytes === 0) return "unsatisfiable";
  return { from: Math.max(0, sizeBytes - count), to: sizeBytes - 1 };
}
