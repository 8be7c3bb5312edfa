// The log line of what is broken in the gateway itself, named by what it happened to: a request, a transaction, a job.
/** Which field tells an id, by how the id begins. */
const FIELDS: readonly (readonly [prefix: string, field: string])[] = [
  ["req_", "request_id"],
  ["tx_", "transaction_id"],
  ["job_", "job_id"],
];

type TellBroken = (error: unknown, words: string, fields: Readonly<Record<string, unknown>>) => void;

/** Logs such errors. Work of no call in particular has no id: "". */
export function logInternalErrors(broken: TellBroken): (error: unknown, id: string) => void {
  return (error, id) => {
    const field = FIELDS.find(([prefix]) => id.startsWith(prefix))?.[1];
    broken(error, "internal error", field === undefined ? {} : { [field]: id });
  };
}
