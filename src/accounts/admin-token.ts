// The operator's token: made at the first start, kept in a file that only its owner can read, compared in constant time.
import { hash, randomBytes, timingSafeEqual } from "node:crypto";
import { mkdirSync, readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

/** Where the token lies, so that the command line finds it. */
export function adminTokenPath(dataDir: string): string {
  return join(dataDir, "admin.token");
}

/** The token of a data folder, or null where none has been made. */
export function readAdminToken(dataDir: string): string | null {
  try {
    return readFileSync(adminTokenPath(dataDir), "utf8").trim() || null;
  } catch (error) {
    if (error instanceof Error && "code" in error && error.code === "ENOENT") return null;
    throw error;
  }
}

/** The token of a data folder; the first start makes it (mode 0600). Throws where the folder cannot be written. */
export function ensureAdminToken(dataDir: string): string {
  const kept = readAdminToken(dataDir);
  if (kept !== null) return kept;
  mkdirSync(dataDir, { recursive: true, mode: 0o700 });
  const token = `tg_admin_${randomBytes(32).toString("base64url")}`;
  writeFileSync(adminTokenPath(dataDir), `${token}\n`, { mode: 0o600, flag: "wx" });
  return token;
}

/** Makes the check of an Authorization header against the token. Its time does not depend on what was sent. */
export function adminCheck(token: string): (authorization: string | undefined) => boolean {
  const wanted = hash("sha256", token, "buffer");
  return (authorization) => {
    const sent = /^bearer +(\S+)$/i.exec(authorization ?? "")?.[1] ?? "";
    return timingSafeEqual(hash("sha256", sent, "buffer"), wanted);
  };
}
