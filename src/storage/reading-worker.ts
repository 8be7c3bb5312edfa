// The reading thread: answers questions that take long from a connection of its own, beside the one that writes.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { openReading } from "./open-database.ts";
import type { Question, Reply } from "./reading-thread.ts";

/** Questions differ in what they filter and group by: more kinds of them than this are prepared anew. */
const STATEMENTS_MAX = 64;

const port = parentPort;
if (port === null) throw new Error("this file is the reading thread's; open it with openReadingThread");
const { file } = workerData as { readonly file: string };
const statements = new Map<string, StatementSync>();
let database: DatabaseSync | null = null;

function statement(text: string): StatementSync {
  let known = statements.get(text);
  if (known === undefined) {
    if (statements.size >= STATEMENTS_MAX) statements.clear();
    database ??= openReading(file);
    known = database.prepare(text);
    statements.set(text, known);
  }
  return known;
}

port.on("message", ({ text, values }: Question) => {
  let reply: Reply;
  try {
    reply = { rows: statement(text).all(...values) as Record<string, string | number | null>[], error: null };
  } catch (error) {
    reply = { rows: [], error: String(error) };
  }
  port.postMessage(reply);
});
