// The operator's token: made at the first start, kept in a file that only its owner can read, compared in constant time.
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { ensureSecret, readSecret } from "../../platform/storage/kept-secret.ts";

/** Where the token lies, so that the command line finds it. */
export function adminTokenPath(dataDir: string): string {
  return join(dataDir, "admin.token");
}

/** The token of a data folder, or null where none has been made. */
export function readAdminToken(dataDir: string): string | null {
  return readSecret(adminTokenPath(dataDir));
}

/** The token of a data folder; the first start makes it (mode 0600). Throws where the folder cannot be written. */
export function ensureAdminToken(dataDir: string): string {
  return ensureSecret(adminTokenPath(dataDir), () => `tg_admin_${randomBytes(32).toString("base64url")}`);
}

/** Makes the check of an Authorization header against the token. Its time does not depend on what was sent. */
export function adminCheck(token: string): (authorization: string | undefined) => boolean {
  const wanted = hash("sha256", token, "buffer");
  return (authorization) => {
    const sent = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
    return timingSafeEqual(hash("sha256", sent, "buffer"), wanted);
  };
}
