// What the event loop and the storage thread say to each other. Batches and answers are JSON text: the cheapest to pass.
import type { Sharing } from "./open-database.ts";

/** What the thread is started with. */
export interface ThreadStart {
  readonly file: string;
  readonly sharing: Sharing;
  /** Unit name to the URL of the file that exports `openUnit`. */
  readonly units: Readonly<Record<string, string>>;
  readonly disk: { readonly freeBytesMin: number; readonly ballastBytes: number };
  readonly epochMs: number;
  readonly elapsedMs: number;
}

/** A batch: the gateway's clock, then operation number and argument by turns. */
export interface Batch {
  readonly epochMs: number;
  readonly elapsedMs: number;
  readonly calls: readonly unknown[];
}

/** What came of a batch that was committed: one value for each call, and the errors of those that were refused. */
export interface BatchAnswer {
  readonly values: readonly unknown[];
  readonly errors: Readonly<Record<number, string>> | null;
}

export type ToThread = string | { readonly kind: "backup"; readonly path: string } | { readonly kind: "close" };

export type FromThread =
  | string
  | { readonly kind: "ready"; readonly operations: readonly OperationEntry[] }
  | { readonly kind: "backup"; readonly error: string | null }
  | { readonly kind: "fatal"; readonly error: string };

/** An operation's number is its place in the list. */
export interface OperationEntry {
  readonly unit: string;
  readonly name: string;
  readonly admission: boolean;
}
