// Pages through a list of records.
import type { Records, StoredRecord } from "./records.ts";

const PAGE_ROWS = 200;

export async function* walk(records: Pick<Records, "list">, kind: string, payer: string): AsyncGenerator<StoredRecord> {
  let cursor: string | null = null;
  do {
    const page = await records.list(kind, payer, PAGE_ROWS, cursor);
    yield* page.rows;
    cursor = page.next;
  } while (cursor !== null);
}
