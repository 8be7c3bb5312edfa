// When a vendor ends a model, as an adapter says it.

/** The end of a model at a vendor. From a month before it is no longer listed; what it is asked for after it names the successor. */
export interface ModelEnd {
  /** The first day (`YYYY-MM-DD`, UTC) on which it is not served. */
  readonly on: string;
  /** The slug to ask for instead. */
  readonly successor?: string;
}
