// Makes the id by which a request is known in its answer, its log line and its posting.
import { randomFillSync } from "node:crypto";
import type { Clock } from "../../core/clock.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TIME_CHARS = 7;
const RANDOM_CHARS = 13;
const POOL_BYTES = 8_192;
const ID = /^(?:req|tx)_([0-9A-Za-z]{7})[0-9A-Za-z]{13}$/;

/**
 * Returns a function that makes ids: `req_`, 7 base62 characters of the time in milliseconds, and 13 random ones (77 bits). Ids that
 * grow with time keep the ledger's indexes, which are ordered by them, on few pages. Randomness is bought in bulk, since a
 * call into the system's generator costs more than all the rest of reading a small request.
 */
export function requestIds(clock: Clock): () => string {
  const bytes = Buffer.allocUnsafe(POOL_BYTES);
  let pool = "";
  let used = 0;
  let timeMs = 0;
  let time = "";
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
    const nowMs = clock.epochMs();
    if (nowMs !== timeMs) {
      timeMs = nowMs;
      time = timeText(nowMs);
    }
    if (used + RANDOM_CHARS > pool.length) refill();
    used += RANDOM_CHARS;
    return `req_${time}${pool.slice(used - RANDOM_CHARS, used)}`;
  };
}

/** The alphabet is in the order of its characters' codes, so later times sort behind earlier ones. */
function timeText(epochMs: number): string {
  let text = "";
  let rest = Math.floor(epochMs);
  for (let place = 0; place < TIME_CHARS; place++) {
    text = `${ALPHABET[rest % 62]}${text}`;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** When a request began, in epoch ms, by its id or that of its transaction; null: it is neither. */
export function requestTimeMs(id: string): number | null {
  const [, time] = ID.exec(id) ?? [];
  return time === undefined ? null : [...time].reduce((ms, letter) => ms * 62 + ALPHABET.indexOf(letter), 0);
}
