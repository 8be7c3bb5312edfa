// The body of a request in the messages wire, as far as we have to know it.

/** Checked; unknown fields ride along. */
export type MessagesBody = Record<string, unknown> & { readonly messages: readonly unknown[] };
