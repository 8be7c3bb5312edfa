// Creates request ids, which identify a request in its answer, its log line and its posting.
import { randomFillSync } from "node:crypto";
import type { Clock } from "../../core/clock.ts";

const ALPHABET = "0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
const TIME_CHARS = 7;
const RANDOM_CHARS = 13;
const POOL_BYTES = 8_192;
const ID = /^(?:req|tx)_([0-9A-Za-z]{7})[0-9A-Za-z]{13}$/;

/**
 * Returns a function that creates ids: `req_`, 7 base62 characters of the time in milliseconds, and 13 random ones (77 bits). Ids that
 * grow with time keep the ledger's indexes, which they order, on few pages. Random bytes are fetched in bulk, since a call to the system's
 * generator costs more than the rest of reading a small request.
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
      // 248 is the largest multiple of 62 in a byte; using larger values would favor the first characters.
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

/** The alphabet is in character code order, so later times sort after earlier ones. */
function timeText(epochMs: number): string {
  let text = "";
  let rest = Math.floor(epochMs);
  for (let place = 0; place < TIME_CHARS; place++) {
    text = `${ALPHABET[rest % 62]}${text}`;
    rest = Math.floor(rest / 62);
  }
  return text;
}

/** When a request began, in epoch ms, from its id or its transaction's; null: neither. */
export function requestTimeMs(id: string): number | null {
  const [, time] = ID.exec(id) ?? [];
  return time === undefined ? null : [...time].reduce((ms, letter) => ms * 62 + ALPHABET.indexOf(letter), 0);
}
