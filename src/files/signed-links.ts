// Links to files that are their own permission: the method, the file and the hour are signed, and nothing else opens them.
import { createHmac, randomBytes, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { ensureSecret } from "../storage/kept-secret.ts";

export type LinkMethod = "GET" | "PUT";

/** What a link is for. */
export interface Linked {
  readonly method: LinkMethod;
  readonly id: string;
  /** When it ends, in seconds since the epoch. */
  readonly expiresAt: number;
}

function signature(secret: string, { method, id, expiresAt }: Linked): string {
  return createHmac("sha256", secret).update(`${method}\n${id}\n${expiresAt}`).digest("base64url");
}

/** The path and query of a link. */
export function signedPath(secret: string, linked: Linked): string {
  return `/files/${linked.id}?exp=${linked.expiresAt}&sig=${signature(secret, linked)}`;
}

/** Whether a query is that of a link we signed for just this. Takes as long whatever the signature is. */
export function checkLink(
  secret: string,
  asked: { readonly method: LinkMethod; readonly id: string; readonly query: URLSearchParams },
  nowMs: number,
): "good" | "expired" | "wrong" {
  const exp = asked.query.get("exp") ?? "";
  const sent = Buffer.from(asked.query.get("sig") ?? "");
  if (!/^[1-9]\d{0,11}$/.test(exp)) return "wrong";
  // Compared as it is written: a decoder passes over what it does not know, so that many texts would be one signature.
  const wanted = Buffer.from(signature(secret, { method: asked.method, id: asked.id, expiresAt: Number(exp) }));
  if (sent.length !== wanted.length || !timingSafeEqual(sent, wanted)) return "wrong";
  return Number(exp) * 1_000 > nowMs ? "good" : "expired";
}

/** What signs the links of a data folder; the first start makes it. */
export function ensureSigningSecret(dataDir: string): string {
  return ensureSecret(join(dataDir, "signing.secret"), () => randomBytes(32).toString("base64url"));
}
