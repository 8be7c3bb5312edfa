// Makes the id by which a request is known in its answer, its log line and its posting.
import { randomFillSync } from "node:crypto";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const ID_CHARS = 20;
const POOL_BYTES = 8_192;

/**
 * Returns a function that makes ids: `req_` and 20 base62 characters (119 random bits). Randomness is bought in bulk,
 * since a call into the system's generator costs more than all the rest of reading a small request.
 */
export function requestIds(): () => string {
  const bytes = Buffer.allocUnsafe(POOL_BYTES);
  let pool = "";
  let used = 0;
  const refill = () => {
    randomFillSync(bytes);
    let kept = 0;
    for (const byte of bytes) {
      // 248 is the largest multiple of 62 in a byte; taking the rest in would favour the first characters.
      if (byte < 248) bytes[kept++] = ALPHABET.charCodeAt(byte % 62);
    }
    pool = bytes.toString("latin1", 0, kept);
    used = 0;
  };
  return () => {
    if (used + ID_CHARS > pool.length) refill();
    used += ID_CHARS;
    return `req_${pool.slice(used - ID_CHARS, used)}`;
  };
}
