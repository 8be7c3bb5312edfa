// Tells a model what is left of its run's budget, at the end of the last user turn: so the cached prefix stays as it is.
import { isRecord, type Json } from "../../core/json.ts";
import { readJson } from "../../core/json-bytes.ts";
import { centsDown, type Nano } from "../../core/money.ts";
import { jsonText, parseRaw } from "../../core/raw-json.ts";
import type { OpenRun } from "../../money/runs/open-run.ts";
import type { Call } from "./call.ts";

/** The endpoints whose bodies have turns, in any format. */
const WITH_TURNS = /\/(?:chat\/completions|responses|messages)$|ontent$/;

/** How a format writes a user's text at the end of its turns. */
interface Form {
  readonly turns: "messages" | "input" | "contents";
  readonly parts: "content" | "parts";
  part(text: string): Json;
}

const FORMS: readonly Form[] = [
  { turns: "messages", parts: "content", part: (text) => ({ type: "text", text }) },
  { turns: "input", parts: "content", part: (text) => ({ type: "input_text", text }) },
  { turns: "contents", parts: "parts", part: (text) => ({ text }) },
];
/** Turns that a model wrote: a user's turn cannot follow a beginning that it is to continue. */
const OF_MODELS: readonly unknown[] = ["assistant", "model"];

const dollars = (nano: Nano): string => `$${(centsDown(nano) / 100).toFixed(2)}`;

/** A request that may be repeated under its Idempotency-Key must stay the same, so the next call gets the sentence. */
export function canTell({ endpoint, request }: Call): boolean {
  return WITH_TURNS.test(endpoint.path) && !request.headers.has("idempotency-key");
}

export function tellModel({ request }: Call, { leftNano, budgetNano }: OpenRun): void {
  const read = readJson(request.body, parseRaw);
  if ("wrong" in read || !isRecord(read.json)) return;
  const { json } = read;
  const form = FORMS.find(({ turns }) => json[turns] !== undefined);
  if (form === undefined) return;
  const sentence = `About ${dollars(leftNano)} of this run's ${dollars(budgetNano)} is left.`;
  const turns = withSentence(json[form.turns], sentence, form);
  if (turns !== null) request.body = Buffer.from(jsonText({ ...json, [form.turns]: turns }, json));
}

/** The turns with the sentence; null: they have no place for it. */
function withSentence(turns: unknown, sentence: string, { parts, part }: Form): unknown {
  if (typeof turns === "string") return `${turns}\n\n${sentence}`;
  const last: unknown = Array.isArray(turns) ? turns.at(-1) : null;
  if (!Array.isArray(turns) || !isRecord(last) || OF_MODELS.includes(last.role)) return null;
  const own = last[parts];
  const isUsers = last.role === "user" || (last.role === undefined && own !== undefined);
  // After the results of tools, the sentence becomes a new turn.
  if (!isUsers) return [...turns, { role: "user", [parts]: [part(sentence)] }];
  const said = typeof own === "string" ? `${own}\n\n${sentence}` : [...(Array.isArray(own) ? own : []), part(sentence)];
  return [...turns.slice(0, -1), { ...last, [parts]: said }];
}
