// Logs internal faults of the gateway with the id of what they affected: a request, a transaction, a job.
/** The log field for an id, by its prefix. */
const FIELDS: readonly (readonly [prefix: string, field: string])[] = [
  ["req_", "request_id"],
  ["tx_", "transaction_id"],
  ["job_", "job_id"],
];

type TellBroken = (error: unknown, words: string, fields: Readonly<Record<string, unknown>>) => void;

export function logInternalErrors(broken: TellBroken): (error: unknown, id: string) => void {
  return (error, id) => {
    const field = FIELDS.find(([prefix]) => id.startsWith(prefix))?.[1];
    broken(error, "internal error", field === undefined ? {} : { [field]: id });
  };
}
