// Compacts a conversation: a model writes a summary, which replaces the conversation as a sealed item.
import { GatewayError } from "../../../core/errors.ts";
import { isRecord, type Json, stringOf } from "../../../core/json.ts";
import { type ThoughtSeal, thought } from "../../../core/neutral.ts";

/** Any model may read a summary. */
const MAKER = "compaction";

const WANTED =
  "Sum up the conversation up to here, so that you could go on with it from your summary alone: what was asked for, what was decided and why, " +
  "what has been done and found out (with names, paths, numbers and code where they matter), and what is left to do. Write nothing but the summary.";

const TAKEN_UP = "This is a summary of the conversation so far:\n\n";

/** Short enough to seal, in any script. */
const SUMMARY_TOKENS_MAX = 16_384;

export function summarizing(sent: Json): Json {
  const { model, models, input, instructions, previous_response_id, max_cost_cents, provider } = sent;
  const items = typeof input === "string" ? [{ type: "message", role: "user", content: input }] : (input ?? []);
  const asked = { type: "message", role: "user", content: WANTED };
  const body = { model, models, instructions, previous_response_id, max_cost_cents, provider };
  const fields = Object.fromEntries(Object.entries(body).filter(([, value]) => value !== undefined && value !== null));
  return { ...fields, max_output_tokens: SUMMARY_TOKENS_MAX, input: Array.isArray(items) ? [...items, asked] : items };
}

function textOf(response: Json): string {
  const output = Array.isArray(response.output) ? response.output.filter(isRecord) : [];
  const parts = output.flatMap(({ content }) => (Array.isArray(content) ? content.filter(isRecord) : []));
  return parts.map(({ text }) => stringOf(text) ?? "").join("");
}

function noSummary(detail: string): GatewayError {
  return new GatewayError("no_summary", { detail });
}

/** The answer as a compaction; an error if there is no summary or it is too long to seal. */
export function compacted(response: Json, seal: ThoughtSeal): Json | GatewayError {
  const text = textOf(response);
  if (text === "") return noSummary("it refused, or said nothing");
  const sealed = seal.seal(thought({ text }), MAKER);
  if (sealed === null) return noSummary("what it said is too long to be carried");
  const { id, created_at, model } = response;
  const item = { type: "compaction", id: String(id).replace(/^resp_/, "cmp_"), encrypted_content: sealed };
  return { id, object: "response.compaction", created_at, model, output: [item] };
}

/** The summary in an item, as a message; null if it was not sealed here for this payer. */
export function summaryMessage({ encrypted_content }: Json, seal: ThoughtSeal): Json | null {
  const opened = seal.open(stringOf(encrypted_content) ?? "", MAKER);
  return opened === null ? null : { type: "message", role: "system", content: `${TAKEN_UP}${opened.text}` };
}
