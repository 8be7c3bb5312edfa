// The messages between a process and the storage thread, local or over a socket. Batches and answers are JSON text, which is the cheapest
// to transfer.
import type { Sharing } from "./open-database.ts";
import type { StoreTime } from "./sqlite-unit.ts";

/** The start options of the thread. */
export interface ThreadStart extends StoreTime {
  readonly file: string;
  readonly sharing: Sharing;
  /** Unit name to the URL of the file that exports `openUnit`. */
  readonly units: Readonly<Record<string, string>>;
  readonly disk: { readonly freeBytesMin: number; readonly ballastBytes: number };
  /** The socket path for other processes of this machine; null: none. */
  readonly socket: string | null;
}

/** A batch: the gateway's clock, then alternating operation numbers and arguments. */
export interface Batch extends StoreTime {
  /** Answer only once it is on disk. A process has one such batch at a time, and may send others meanwhile. */
  readonly isLate?: boolean;
  readonly calls: readonly unknown[];
}

/** The result of a batch: one value per executed call, and the errors of refused ones. Later calls were not executed. */
export interface BatchDone {
  readonly values: readonly unknown[];
  readonly errors: Readonly<Record<number, string>> | null;
}

/** The same, before it is on disk. */
export interface BatchAnswer extends BatchDone {
  /** The commit with which everything that the batch wrote or read is on disk, reported later. 0: it already is. */
  readonly commit: number;
  /** Of the late batch. */
  readonly isLate: boolean;
  /** The disk is nearly full: no new work may be taken on. */
  readonly low?: true;
}

export type ToThread =
  | string
  | { readonly kind: "backup"; readonly path: string }
  | { readonly kind: "tell"; readonly text: string }
  /** The work that `long-log` requested has ended, successfully or not. Sent only by the thread's own process. */
  | { readonly kind: "log-written"; readonly fatal: string | null }
  | { readonly kind: "close" };

/** A number: this commit, and all before it, are on disk. */
export type FromThread =
  | string
  | number
  | Ready
  | { readonly kind: "backup"; readonly error: string | null }
  /** Requests a checkpoint of the log into the database, whose file has this descriptor. Sent only to the thread's own process. */
  | { readonly kind: "long-log"; readonly descriptor: number }
  | { readonly kind: "fatal"; readonly error: string }
  | StoreNews;

export interface Ready {
  readonly kind: "ready";
  readonly operations: readonly OperationEntry[];
}

/** Messages other than answers, for processes that share a store. */
export type StoreNews =
  /** Cached data of these accounts is outdated. */
  | { readonly kind: "changed"; readonly accountIds: readonly string[] }
  /** A text from one process to all, including itself. */
  | { readonly kind: "told"; readonly text: string }
  /** A process has ended, after everything it had sent was done. Sent only to the process with the thread. */
  | { readonly kind: "left"; readonly owner: string };

/** The first message of a process on a socket. The answer is `ready`, or the reason for a refusal. */
export interface Hello {
  readonly kind: "hello";
  /** The process's id as owner of its holds. */
  readonly owner: string;
  /** The exact version: operations and their values may differ in any other. */
  readonly release: string;
}

export type Welcome = Ready | { readonly kind: "refused"; readonly error: string };

/** An operation's number is its index in the list. */
export interface OperationEntry {
  readonly unit: string;
  readonly name: string;
  readonly admission: boolean;
  readonly isShort: boolean;
}
