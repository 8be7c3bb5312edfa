// The stored part of a session besides its job: the vendor's box and how to reach it. Never shown to callers.
import type { JsonObject } from "../../catalog/said.ts";
import type { Records } from "../../platform/records/records.ts";

const KIND = "session";
/** Longer than any session lives. */
const KEPT_MS = 48 * 3_600_000;

export interface SessionRecord {
  readonly adapterId: string;
  readonly sandbox: boolean;
  readonly label: string;
  /** Null: the create has not answered, but may have made the box. */
  readonly box: JsonObject | null;
  readonly template: string | null;
  /** When metering began; null: the box was never up. */
  readonly openedAtMs: number | null;
}

/** A session has its own public id, with the random characters of its job's id. */
export function sessionIdOf(jobId: string): string {
  return jobId.replace(/^job_/, "ses_");
}

export function jobIdOfSession(sessionId: string): string {
  return sessionId.replace(/^ses_/, "job_");
}

export async function putSession(records: Records, jobId: string, session: SessionRecord): Promise<void> {
  const value = JSON.stringify(session);
  await records.put({ kind: KIND, id: jobId, payer: null, value, ttlMs: KEPT_MS, ifVersion: null });
}

export async function findSession(records: Records, jobId: string): Promise<SessionRecord | null> {
  const found = await records.get(KIND, jobId);
  return found === null ? null : (JSON.parse(found.value) as SessionRecord);
}

export async function dropSession(records: Records, jobId: string): Promise<void> {
  await records.delete(KIND, jobId);
}
