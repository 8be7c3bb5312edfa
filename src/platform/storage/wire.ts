// What a process and the storage thread say to each other, in one process or over a socket. Batches and answers are JSON text: the cheapest to pass.
import type { Sharing } from "./open-database.ts";

/** What the thread is started with. */
export interface ThreadStart {
  readonly file: string;
  readonly sharing: Sharing;
  /** Unit name to the URL of the file that exports `openUnit`. */
  readonly units: Readonly<Record<string, string>>;
  readonly disk: { readonly freeBytesMin: number; readonly ballastBytes: number };
  /** Where other processes of this machine are served; null: there are none. */
  readonly socket: string | null;
  readonly epochMs: number;
  readonly elapsedMs: number;
}

/** A batch: the gateway's clock, then operation number and argument by turns. */
export interface Batch {
  readonly epochMs: number;
  readonly elapsedMs: number;
  readonly calls: readonly unknown[];
}

/** What came of a batch's transaction: one value for each call that was carried out, and the errors of those that were refused. Those behind were not. */
export interface BatchDone {
  readonly values: readonly unknown[];
  readonly errors: Readonly<Record<number, string>> | null;
}

/** The same, before it is on disk. */
export interface BatchAnswer extends BatchDone {
  /** The commit with which all that the batch has written or read is on disk; the thread says so later. 0: it is. */
  readonly commit: number;
}

export type ToThread =
  | string
  | { readonly kind: "backup"; readonly path: string }
  | { readonly kind: "tell"; readonly text: string }
  /** What `long-log` has asked for is done, or could not be. From the thread's own process alone. */
  | { readonly kind: "log-written"; readonly fatal: string | null }
  | { readonly kind: "close" };

/** A number says that this commit, and all before it, are on disk. */
export type FromThread =
  | string
  | number
  | Ready
  | { readonly kind: "backup"; readonly error: string | null }
  /** The log is to be written into the database, whose file has this descriptor. To the thread's own process alone. */
  | { readonly kind: "long-log"; readonly descriptor: number }
  | { readonly kind: "fatal"; readonly error: string }
  | StoreNews;

export interface Ready {
  readonly kind: "ready";
  readonly operations: readonly OperationEntry[];
}

/** What processes that share a store hear beside their answers. */
export type StoreNews =
  /** What is remembered of these accounts no longer holds. */
  | { readonly kind: "changed"; readonly accountIds: readonly string[] }
  /** What a process has told all of them, itself among them. */
  | { readonly kind: "told"; readonly text: string }
  /** A process has ended, after everything that it had sent was done. Only the process that has the thread hears it. */
  | { readonly kind: "left"; readonly owner: string };

/** A process's first words on a socket. It is answered with `ready`, or with why not. */
export interface Hello {
  readonly kind: "hello";
  /** The process, as the owner of its holds. */
  readonly owner: string;
  /** The exact version: of another one, operations and their lists of values may mean something else. */
  readonly release: string;
}

export type Welcome = Ready | { readonly kind: "refused"; readonly error: string };

/** An operation's number is its place in the list. */
export interface OperationEntry {
  readonly unit: string;
  readonly name: string;
  readonly admission: boolean;
}
