// What is kept of a session beside its job: which vendor's box it is, and how to speak to it. It is ours alone to read.
import type { JsonObject } from "../../catalog/said.ts";
import type { Records } from "../../platform/records/records.ts";

const KIND = "session";
/** Longer than any session lives. */
const KEPT_MS = 48 * 3_600_000;

export interface SessionRecord {
  readonly adapterId: string;
  readonly sandbox: boolean;
  /** What the vendor was told to call it. */
  readonly label: string;
  /** Null: its create has not answered, and may have made it. */
  readonly box: JsonObject | null;
  readonly template: string | null;
  /** Since when it is metered; null: it was never up. */
  readonly openedAtMs: number | null;
}

/** Callers know a session by an id of its own; its job has the same random characters. */
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
