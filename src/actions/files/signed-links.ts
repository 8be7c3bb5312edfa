// Signed links to files: a link grants one method on one file until it expires.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { ensureSecret } from "../../platform/storage/kept-secret.ts";

export type LinkMethod = "GET" | "PUT";

export interface Linked {
  readonly method: LinkMethod;
  readonly id: string;
  /** Its expiry, in seconds since the epoch. */
  readonly expiresAt: number;
  /** The key that requested the link, with a stamp that changes with the key's secret; absent where its payer has no key. */
  readonly key?: { readonly id: string; readonly stamp: string } | undefined;
}

function signature(secret: string, { method, id, expiresAt, key }: Linked): string {
  const by = key === undefined ? "" : `\n${key.id}\n${key.stamp}`;
  return createHmac("sha256", secret).update(`${method}\n${id}\n${expiresAt}${by}`).digest("base64url");
}

export function signedPath(secret: string, linked: Linked): string {
  const by = linked.key === undefined ? "" : `&key=${linked.key.id}`;
  return `/files/${linked.id}?exp=${linked.expiresAt}${by}&sig=${signature(secret, linked)}`;
}

/** Whether one of our secrets signed this query for this method and file. The time is independent of the signature. */
export function checkLink(
  secrets: readonly string[],
  asked: Pick<Linked, "method" | "id" | "key"> & { readonly query: URLSearchParams },
  nowMs: number,
): "good" | "expired" | "wrong" {
  const exp = asked.query.get("exp") ?? "";
  const sent = Buffer.from(asked.query.get("sig") ?? "");
  if (!/^[1-9]\d{0,11}$/.test(exp)) return "wrong";
  // Compare the text: a decoder ignores unknown characters, so many texts would decode to the same signature.
  const linked = { ...asked, expiresAt: Number(exp) };
  const isSigned = secrets.map((secret) => {
    const wanted = Buffer.from(signature(secret, linked));
    return sent.length === wanted.length && timingSafeEqual(sent, wanted);
  });
  if (!isSigned.includes(true)) return "wrong";
  return Number(exp) * 1_000 > nowMs ? "good" : "expired";
}

/** The configured secrets or, without any, the data folder's, which the first start creates. Newest first. */
export function signingSecrets(setting: string | null, dataDir: string): readonly [newest: string, ...older: string[]] {
  const [newest = "", ...older] = (setting ?? ensureSigningSecret(dataDir)).split(",");
  return [newest, ...older];
}

function ensureSigningSecret(dataDir: string): string {
  return ensureSecret(join(dataDir, "signing.secret"), () => randomBytes(32).toString("base64url"));
}
