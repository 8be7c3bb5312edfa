// The reading thread: runs long queries on its own connection, parallel to the one that writes.
import type { DatabaseSync, StatementSync } from "node:sqlite";
import { parentPort, workerData } from "node:worker_threads";
import { giveWay } from "../../core/give-way.ts";
import { openReading } from "./open-database.ts";
import type { GoOn, OpenInquiry, Question, Reply } from "./reading-thread.ts";

/** Queries differ in their filters and groups; beyond this many, statements are prepared again. */
const STATEMENTS_MAX = 64;
/** Rows per message, which take the receiver some hundred microseconds. */
const ROWS_AT_ONCE = 64;

const port = parentPort;
if (port === null) throw new Error("this file is the reading thread's; open it with openReadingThread");
const { file } = workerData as { readonly file: string };
const statements = new Map<string, StatementSync>();
const inquiries = new Map<string, (argument: never) => unknown>();
let database: DatabaseSync | null = null;
/** The chain of answers, which are sent in the order of their questions. */
let answered: Promise<void> = Promise.resolve();
let goOn = (): void => {};
giveWay();

function opened(): DatabaseSync {
  database ??= openReading(file);
  return database;
}

function statement(text: string): StatementSync {
  let known = statements.get(text);
  if (known === undefined) {
    if (statements.size >= STATEMENTS_MAX) statements.clear();
    known = opened().prepare(text);
    statements.set(text, known);
  }
  return known;
}

async function inquiryOf(url: string): Promise<(argument: never) => unknown> {
  let known = inquiries.get(url);
  if (known === undefined) {
    const { openInquiry } = (await import(url)) as { readonly openInquiry: OpenInquiry };
    known = openInquiry(opened());
    inquiries.set(url, known);
  }
  return known;
}

async function answerTo(question: Question): Promise<unknown> {
  if ("text" in question) return statement(question.text).all(...question.values);
  const answer = await inquiryOf(question.inquiry);
  return answer(question.argument as never);
}

async function reply(question: Question): Promise<void> {
  const part = (value: unknown, more: boolean) => port?.postMessage({ value, error: null, more } satisfies Reply);
  const value = await answerTo(question);
  if (!("text" in question)) return part(value, false);
  const rows = value as readonly unknown[];
  let at = 0;
  for (; at + ROWS_AT_ONCE < rows.length; at += ROWS_AT_ONCE) {
    const goneOn = new Promise<void>((resolve) => {
      goOn = resolve;
    });
    part(rows.slice(at, at + ROWS_AT_ONCE), true);
    await goneOn;
  }
  part(rows.slice(at), false);
}

port.on("message", (asked: Question | GoOn) => {
  if (asked === "go on") return goOn();
  answered = answered
    .then(() => reply(asked))
    .catch((error: unknown) => port.postMessage({ value: null, error: String(error), more: false } satisfies Reply));
});
