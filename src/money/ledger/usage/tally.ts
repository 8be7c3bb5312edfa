// Daily sums for a SQLite store that writes many postings per transaction: added up in memory, written once before the commit.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import type { PostingRow } from "../../../core/account-rows.ts";
import { dayOf } from "../model/windows.ts";
import { type Counted, INPUT, OUTPUT, type SumTables, tallyStatement } from "./sums.ts";

/** What a posting is counted by and in, as in `postingExpressions` and `sumExpressions`. */
type Tallied = Pick<
  PostingRow,
  "createdAtMs" | "accountId" | "kind" | "keyId" | "served" | "asked" | "provider" | "amountNano" | "upstreamNano"
> &
  Pick<PostingRow, "absorbedNano" | "usage">;

interface Sum {
  readonly by: readonly (string | number)[];
  calls: number;
  amount: number;
  upstream: number;
  absorbed: number;
  input: number;
  output: number;
  /** The last posting's number. */
  last: number;
}

export class UsageTally {
  readonly #tables: readonly {
    readonly write: StatementSync;
    readonly table: Counted;
    readonly sums: Map<string, Sum>;
  }[];

  constructor(database: DatabaseSync, tables: SumTables) {
    this.#tables = (["usage_day", "usage_total"] as const).map((table) => ({
      table,
      write: database.prepare(tallyStatement(tables, table)),
      sums: new Map(),
    }));
  }

  add(posting: Tallied, number: number): void {
    const { createdAtMs, accountId, kind, keyId, served, asked, provider, usage } = posting;
    const day = dayOf(createdAtMs);
    const model = served ?? asked ?? "";
    for (const { table, sums } of this.#tables) {
      const by =
        table === "usage_day"
          ? [day, accountId, kind, keyId ?? "", model, provider ?? ""]
          : [day, kind, model, provider ?? ""];
      const name = by.join("\n");
      let sum = sums.get(name);
      if (sum === undefined) {
        sum = { by, calls: 0, amount: 0, upstream: 0, absorbed: 0, input: 0, output: 0, last: 0 };
        sums.set(name, sum);
      }
      sum.calls += 1;
      sum.amount += posting.amountNano;
      sum.upstream += posting.upstreamNano;
      sum.absorbed += posting.absorbedNano;
      sum.last = number;
      if (usage === null) continue;
      // Postings from another store may lack a count.
      for (const count of INPUT) sum.input += usage[count] ?? 0;
      for (const count of OUTPUT) sum.output += usage[count] ?? 0;
    }
  }

  flush(): void {
    for (const { write, table, sums } of this.#tables) {
      for (const { by, calls, amount, upstream, absorbed, input, output, last } of sums.values()) {
        const added = [calls, amount, upstream, absorbed, input, output];
        write.run(...by, ...added, ...(table === "usage_day" ? [last] : []));
      }
      sums.clear();
    }
  }

  /** Drops the sums of a rolled-back transaction. */
  forget(): void {
    for (const { sums } of this.#tables) sums.clear();
  }
}
