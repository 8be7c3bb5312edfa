// Links to files that are their own permission: the method, the file and the hour are signed, and nothing else opens them.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { ensureSecret } from "../../platform/storage/kept-secret.ts";

export type LinkMethod = "GET" | "PUT";

/** What a link is for. */
export interface Linked {
  readonly method: LinkMethod;
  readonly id: string;
  /** When it ends, in seconds since the epoch. */
  readonly expiresAt: number;
  /** The key that it was asked for by, with what changes when its secret does; absent: its payer has no key. */
  readonly key?: { readonly id: string; readonly stamp: string } | undefined;
}

function signature(secret: string, { method, id, expiresAt, key }: Linked): string {
  const by = key === undefined ? "" : `\n${key.id}\n${key.stamp}`;
  return createHmac("sha256", secret).update(`${method}\n${id}\n${expiresAt}${by}`).digest("base64url");
}

/** The path and query of a link. */
export function signedPath(secret: string, linked: Linked): string {
  const by = linked.key === undefined ? "" : `&key=${linked.key.id}`;
  return `/files/${linked.id}?exp=${linked.expiresAt}${by}&sig=${signature(secret, linked)}`;
}

/** Whether a query is that of a link we signed for just this, by any of our secrets. Takes as long whatever the signature is. */
export function checkLink(
  secrets: readonly string[],
  asked: Pick<Linked, "method" | "id" | "key"> & { readonly query: URLSearchParams },
  nowMs: number,
): "good" | "expired" | "wrong" {
  const exp = asked.query.get("exp") ?? "";
  const sent = Buffer.from(asked.query.get("sig") ?? "");
  if (!/^[1-9]\d{0,11}$/.test(exp)) return "wrong";
  // Compared as it is written: a decoder passes over what it does not know, so that many texts would be one signature.
  const linked = { ...asked, expiresAt: Number(exp) };
  const isSigned = secrets.map((secret) => {
    const wanted = Buffer.from(signature(secret, linked));
    return sent.length === wanted.length && timingSafeEqual(sent, wanted);
  });
  if (!isSigned.includes(true)) return "wrong";
  return Number(exp) * 1_000 > nowMs ? "good" : "expired";
}

/** The secrets of a setting or, without one, of a data folder, for which the first start makes one. The newest is first. */
export function signingSecrets(setting: string | null, dataDir: string): readonly [newest: string, ...older: string[]] {
  const [newest = "", ...older] = (setting ?? ensureSigningSecret(dataDir)).split(",");
  return [newest, ...older];
}

function ensureSigningSecret(dataDir: string): string {
  return ensureSecret(join(dataDir, "signing.secret"), () => randomBytes(32).toString("base64url"));
}
