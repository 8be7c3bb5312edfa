// Encrypts stored text against readers of the store: AES-256-GCM (NIST SP 800-38D) under keys derived by HKDF-SHA256 (RFC 5869) from the
// gateway's secret, with a new key and nonce per seal.
import { createCipheriv, createDecipheriv, hkdfSync, randomBytes } from "node:crypto";

const CIPHER = "aes-256-gcm";
const SALT_BYTES = 16;
const KEY_BYTES = 32;
const NONCE_BYTES = 12;
const TAG_BYTES = 16;

/** `purpose` identifies the owner and the use: a seal opens only for the same purpose. */
function keyOf(secret: string, salt: Buffer, purpose: string) {
  const made = Buffer.from(hkdfSync("sha256", secret, salt, purpose, KEY_BYTES + NONCE_BYTES));
  return { key: made.subarray(0, KEY_BYTES), nonce: made.subarray(KEY_BYTES) };
}

export function sealText(secret: string, purpose: string, text: string): string {
  const salt = randomBytes(SALT_BYTES);
  const { key, nonce } = keyOf(secret, salt, purpose);
  const cipher = createCipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES });
  return Buffer.concat([salt, cipher.update(text, "utf8"), cipher.final(), cipher.getAuthTag()]).toString("base64url");
}

/** Tries all secrets; null: none opens it, or it was altered. */
export function openText(secrets: readonly string[], purpose: string, sealed: string): string | null {
  const bytes = Buffer.from(sealed, "base64url");
  const tagAt = bytes.length - TAG_BYTES;
  if (tagAt < SALT_BYTES) return null;
  for (const secret of secrets) {
    const { key, nonce } = keyOf(secret, bytes.subarray(0, SALT_BYTES), purpose);
    try {
      const decipher = createDecipheriv(CIPHER, key, nonce, { authTagLength: TAG_BYTES }).setAuthTag(
        bytes.subarray(tagAt),
      );
      return decipher.update(bytes.subarray(SALT_BYTES, tagAt), undefined, "utf8") + decipher.final("utf8");
    } catch {
      // Another secret may open it.
    }
  }
  return null;
}
