// The body of an OpenAI chat request, as far as we have to know it.

/** Checked; unknown fields ride along. */
export type ChatBody = Record<string, unknown> & { readonly messages: readonly ChatMessage[] };

export interface ChatMessage extends Record<string, unknown> {
  readonly role: string;
  readonly content?: string | readonly ChatPart[] | null;
}

export interface ChatPart extends Record<string, unknown> {
  readonly type: string;
}
