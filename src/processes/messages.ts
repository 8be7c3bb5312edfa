// What the parent and its children say to each other; both run from one tree, though a child's may be newer.

/** What one child does of what all do together. */
export interface ChildPart {
  readonly role: "both" | "serve" | "work";
  /** Callers come to it. */
  readonly serves: boolean;
}

/** What a child must know before it starts, beside the environment that it shares with the parent. */
export interface WorkerStart {
  readonly kind: "start";
  /** Left out by a parent of a release before there were parts, which starts children of this one when it is reloaded. */
  readonly part?: ChildPart;
  /** What this process alone keeps lies here. */
  readonly ownDir: string;
  /** The port that all share. */
  readonly port: number;
  /** The parent's stand-in for vendors: made-up ids must be remembered in one place. */
  readonly sandboxUrl: string | null;
}

export type ToChild =
  | WorkerStart
  /** Others are there for new connections: answer what is open, then leave. */
  | { readonly kind: "retire" }
  /** All are leaving: turn away what is new, answer what is open, then leave. */
  | { readonly kind: "drain" }
  /** Answered with everything that it has counted; an answer also shows that its event loop turns. */
  | { readonly kind: "metrics"; readonly id: number };

export type FromChild =
  | { readonly kind: "ready" }
  | { readonly kind: "metrics"; readonly id: number; readonly text: string };
