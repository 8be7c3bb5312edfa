// Seals a model's reasoning while the caller carries it: what a vendor has signed or encrypted leaves as text that only this gateway can
// read, and returns only to the account, adapter and model family that it came from.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";
import { isRecord, stringOf } from "../../core/json.ts";
import type { ReasoningBlock, ThoughtSeal } from "../../core/neutral.ts";

/** The most characters of sealed reasoning; longer reasoning is neither sealed nor opened. */
export const SEAL_CHARS_MAX = 256 * 1024;

const MARK = "tgs1_";
const CIPHER = "aes-256-gcm";
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** A fresh key and nonce per seal, so that no key is overused (NIST SP 800-38D, 8.3). */
function keyOf(secret: string, salt: Buffer, payer: string): { key: Buffer; nonce: Buffer } {
  const made = Buffer.from(hkdfSync("sha256", secret, salt, `tollgate thought\n${payer}`, KEY_BYTES + NONCE_BYTES));
  return { key: made.subarray(0, KEY_BYTES), nonce: made.subarray(KEY_BYTES) };
}

function encrypted(text: string, secret: string, { payer, maker }: { payer: string; maker: string }): string {
  const salt = randomBytes(SALT_BYTES);
  const { key, nonce } = keyOf(secret, salt, payer);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAAD(Buffer.from(maker));
  const parts = [salt, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()];
  return `${MARK}${Buffer.concat(parts).toString("base64url")}`;
}

function decrypted(bytes: Buffer, secret: string, { payer, maker }: { payer: string; maker: string }): string | null {
  const { key, nonce } = keyOf(secret, bytes.subarray(0, SALT_BYTES), payer);
  const tagAt = bytes.length - TAG_BYTES;
  try {
    const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES })
      .setAAD(Buffer.from(maker))
      .setAuthTag(bytes.subarray(tagAt));
    return decipher.update(bytes.subarray(SALT_BYTES, tagAt), undefined, "utf8") + decipher.final("utf8");
  } catch {
    // From another payer, or altered. The caller could not fix it, so it gets no error.
    return null;
  }
}

/** Uses one-letter field names, because every later turn carries the reasoning. */
function packed({ text, format, signature, sealed, callId }: ReasoningBlock): string {
  return JSON.stringify({ t: text, f: format, s: signature, e: sealed, c: callId });
}

function unpacked(text: string): ReasoningBlock | null {
  const told: unknown = JSON.parse(text);
  if (!isRecord(told)) return null;
  return {
    kind: "reasoning",
    text: stringOf(told.t) ?? "",
    format: stringOf(told.f) ?? null,
    signature: stringOf(told.s) ?? null,
    sealed: stringOf(told.e) ?? null,
    callId: stringOf(told.c) ?? null,
  };
}

function openedBy(
  secrets: readonly string[],
  text: string,
  whose: { readonly payer: string; readonly maker: string },
): ReasoningBlock | null {
  const bytes = Buffer.from(text.slice(MARK.length), "base64url");
  if (bytes.length <= SALT_BYTES + TAG_BYTES) return null;
  for (const secret of secrets) {
    const opened = decrypted(bytes, secret, whose);
    if (opened !== null) return unpacked(opened);
  }
  return null;
}

/** While the payer is unknown, nothing is sealed or opened: all anonymous callers would share one seal. */
export const NO_SEAL: ThoughtSeal = { seal: () => null, open: () => null };

/**
 * The seal for one payer's reasoning: AES-256-GCM (NIST SP 800-38D) under keys derived by HKDF-SHA256 (RFC 5869) from the first secret;
 * the other secrets only open older seals. The key depends on the payer, and the maker is authenticated data. Calls `onUnopened` for each
 * seal that looks like ours and does not open.
 */
export function thoughtSeal(secrets: readonly string[], payer: string, onUnopened: () => void = () => {}): ThoughtSeal {
  const [newest] = secrets;
  if (newest === undefined) throw new Error("a seal needs a secret");
  return {
    seal(thought, maker) {
      const text = encrypted(packed(thought), newest, { payer, maker });
      return text.length > SEAL_CHARS_MAX ? null : text;
    },
    open(text, maker) {
      if (!text.startsWith(MARK)) return null;
      const opened = text.length > SEAL_CHARS_MAX ? null : openedBy(secrets, text, { payer, maker });
      if (opened === null) onUnopened();
      return opened;
    },
  };
}
