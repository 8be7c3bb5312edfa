// The client side of records in the storage thread. Open the thread with `RECORDS_UNIT` among its units.
import type { SqliteThread } from "../storage/thread-client.ts";
import type { Records } from "./records.ts";
import type { RecordsOperations } from "./sqlite-unit.ts";

export const RECORDS_UNIT = new URL("./sqlite-unit.ts", import.meta.url);

const PATIENT = { isPatient: true } as const;

/** The records in `thread`, whose units must have `records: RECORDS_UNIT`. Every call resolves after its commit. */
export function sqliteRecords(thread: SqliteThread): Records {
  const call = thread.unit<RecordsOperations>("records");
  return {
    get: (kind, id) => call("get", { kind, id }),
    sizes: (kind, ids) => call("sizes", { kind, ids }),
    put: ({ isPatient, ...record }) => call("put", record, isPatient === true ? PATIENT : undefined),
    delete: (kind, id) => call("delete", { kind, id }),
    list: (kind, payer, limit, cursor) => call("list", { kind, payer, limit, cursor }),
    sweep: (countMax) => call("sweep", countMax),
  };
}
