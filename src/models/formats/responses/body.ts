// The body of a request in OpenAI's responses wire, as far as we have to know it.
import type { Json } from "../../../core/json.ts";

/** Checked; what is not named here rides along. Items without a type are messages, and say so. */
export type ResponsesBody = Json & {
  readonly input: string | readonly ResponsesItem[];
};

/** An input item: a message, a call, its output, a thought, or tools that come with the conversation. */
export type ResponsesItem = Json & { readonly type: string };
