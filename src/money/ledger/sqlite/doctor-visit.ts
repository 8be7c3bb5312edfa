// Runs the doctor on a file: first the storage thread's memory, then the books, a few steps at a time.
import type { DoctorReport } from "../model/ledger.ts";
import type { ExaminedBooks } from "./books-doctor.ts";
import type { ExaminedMemory } from "./doctor.ts";

export interface Visited<Seen> {
  readonly done: boolean;
  readonly seen: Seen;
}

/** Does a few steps; `begin` restarts. */
type Look<Seen> = (asked: { readonly begin: boolean }) => Visited<Seen> | Promise<Visited<Seen>>;

async function visited<Seen>(look: Look<Seen>): Promise<Seen> {
  for (let begin = true; ; begin = false) {
    const { done, seen } = await look({ begin });
    if (done) return seen;
  }
}

export async function visit(memory: Look<ExaminedMemory>, books: Look<ExaminedBooks>): Promise<DoctorReport> {
  const { holds, findings } = await visited(memory);
  const { accounts, postings, findings: more } = await visited(books);
  return { accounts, holds, postings, findings: [...findings, ...more] };
}
