// The messages between the parent and its children. They run from the same installation, though a child's may be newer.

export interface ChildPart {
  readonly role: "both" | "serve" | "work";
  readonly serves: boolean;
}

/** What a child must know before it starts, besides the environment that it inherits. */
export interface WorkerStart {
  readonly kind: "start";
  /** Absent where a parent of a release before there were roles starts a child of this release at a reload. */
  readonly part?: ChildPart;
  readonly ownDir: string;
  /** The port that all processes share. */
  readonly port: number;
  /** The parent's sandbox upstream: a single process must remember its ids. */
  readonly sandboxUrl: string | null;
}

export type ToChild =
  | WorkerStart
  /** Other processes take new connections: finish open requests, then exit. */
  | { readonly kind: "retire" }
  /** All processes are leaving: refuse new requests, finish open ones, then exit. */
  | { readonly kind: "drain" }
  /** The answer contains the child's metrics; it also shows that its event loop runs. */
  | { readonly kind: "metrics"; readonly id: number };

export type FromChild =
  | { readonly kind: "ready" }
  | { readonly kind: "metrics"; readonly id: number; readonly text: string };
