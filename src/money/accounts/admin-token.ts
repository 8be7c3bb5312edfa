// The operator's token: created at the first start, stored in a file that only its owner can read, compared in constant time.
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { join } from "node:path";
import { ensureSecret, readSecret } from "../../platform/storage/kept-secret.ts";

/** The file of the token, which the command line reads too. */
export function adminTokenPath(dataDir: string): string {
  return join(dataDir, "admin.token");
}

/** The token of a data folder; null where none was created. */
export function readAdminToken(dataDir: string): string | null {
  return readSecret(adminTokenPath(dataDir));
}

/** The token of a data folder; the first start creates it (mode 0600). Throws where the folder is not writable. */
export function ensureAdminToken(dataDir: string): string {
  return ensureSecret(adminTokenPath(dataDir), () => `tg_admin_${randomBytes(32).toString("base64url")}`);
}

/** Returns a function that checks an Authorization header against the token, in time independent of the input. */
export function adminCheck(token: string): (authorization: string | undefined) => boolean {
  const wanted = hash("sha256", token, "buffer");
  return (authorization) => {
    const sent = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
    return timingSafeEqual(hash("sha256", sent, "buffer"), wanted);
  };
}
