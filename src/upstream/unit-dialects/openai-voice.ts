// Text to speech in OpenAI's wire: as bytes, or as events. Only events report usage; callers that want bytes get the events' content.
import { isRecord } from "../../core/json.ts";
import type { Counts } from "../../core/route.ts";
import { countOf } from "../json-pointer.ts";
import { malformed } from "../vendor-failure.ts";
import { eventBytes, type UnitDialect } from "./unit-dialect.ts";

function countsOf(usage: unknown): Counts | null {
  if (!isRecord(usage)) return null;
  return { textIn: countOf(usage.input_tokens), audioOut: countOf(usage.output_tokens) };
}

export const openaiVoice: UnitDialect = {
  passesBytes: true,
  request({ body, stream }, { upstreamModel }) {
    const { stream_format: _, ...fields } = body;
    const format = stream ? { stream_format: "sse" } : {};
    return { path: "/audio/speech", body: { ...fields, model: upstreamModel, ...format } };
  },
  answer: () => malformed("the answer is no sound"),
  event(json, { body }) {
    const asEvents = body.stream_format === "sse";
    if (json.type === "speech.audio.delta") {
      const sound = Buffer.from(String(json.audio ?? ""), "base64");
      return { kind: sound.length > 0 ? "content" : "preamble", bytes: asEvents ? eventBytes(json) : sound };
    }
    if (json.type !== "speech.audio.done") return null;
    const bytes = asEvents ? eventBytes(json) : Buffer.alloc(0);
    const counts = countsOf(json.usage);
    return counts === null ? { kind: "finish", bytes } : { kind: "finish", bytes, counts };
  },
  told: (json) => countsOf(json.usage),
};
