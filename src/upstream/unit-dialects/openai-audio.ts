// Speech to text in OpenAI's wire; always requests the format that reports usage, whatever format the caller gets.
import { defined, isRecord, type Json } from "../../core/json.ts";
import type { Counts } from "../../core/route.ts";
import { FormBody } from "../../platform/uploads/form-body.ts";
import { atPointer, countOf } from "../json-pointer.ts";
import { malformed } from "../vendor-failure.ts";
import { eventBytes, formFields, type UnitContext, type UnitDialect } from "./unit-dialect.ts";

/** Tokens, or seconds: the reported usage, else the stated duration of the audio. */
function countsOf(json: Json, { spec }: UnitContext): Counts | null {
  const { usage, duration } = json;
  if (atPointer(usage, "/type") === "tokens" || (isRecord(usage) && usage.output_tokens !== undefined)) {
    const input = countOf(atPointer(usage, "/input_tokens"));
    const textIn = Math.min(input, countOf(atPointer(usage, "/input_token_details/text_tokens")));
    return { textIn, audioIn: input - textIn, textOut: countOf(atPointer(usage, "/output_tokens")) };
  }
  const seconds = Math.max(countOf(atPointer(usage, "/seconds")), countOf(duration));
  return seconds === 0 ? null : { seconds: Math.max(spec.secondsMin ?? 0, seconds) };
}

export const openaiAudio: UnitDialect = {
  request(asked, { upstreamModel }) {
    const body = defined({ ...asked.body, model: upstreamModel, ...(asked.stream ? { stream: true } : {}) });
    const path = asked.task === "translate" ? "/audio/translations" : "/audio/transcriptions";
    return { path, body: {}, form: new FormBody(formFields(body), asked.files) };
  },
  answer(json, _, context) {
    if (typeof json.text !== "string") return malformed("the answer has no text");
    return { body: json, counts: countsOf(json, context) };
  },
  event(json, _, context) {
    const isDone = json.type === "transcript.text.done";
    const counts = isDone ? countsOf(json, context) : null;
    // Silence transcribes to an empty text.
    const event = { kind: isDone ? "finish" : "content", bytes: eventBytes(json), bears: true } as const;
    return counts === null ? event : { ...event, counts };
  },
  told: (json, _, context) => countsOf(json, context),
};
