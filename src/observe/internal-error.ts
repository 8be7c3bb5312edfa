// The log line of what is broken in the gateway itself, named by what it happened to: a request, a transaction, a job.
import type { Log } from "./log.ts";

/** Which field tells an id, by how the id begins. */
const FIELDS: readonly (readonly [prefix: string, field: string])[] = [
  ["req_", "request_id"],
  ["tx_", "transaction_id"],
  ["job_", "job_id"],
];

/** Logs such errors. Work that is nobody's in particular has no id: "". */
export function logInternalErrors({ logger }: Log): (error: unknown, id: string) => void {
  return (err, id) => {
    const field = FIELDS.find(([prefix]) => id.startsWith(prefix))?.[1];
    logger.error(field === undefined ? { err } : { err, [field]: id }, "internal error");
  };
}
