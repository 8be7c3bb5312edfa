// Text to speech in OpenAI's format: charged per character where the vendor bills so, else by reported tokens.
import { z } from "zod";
import { fields, setting, tableOf, text } from "../../formats/field-table.ts";
import { invalid } from "../../formats/parse-json.ts";
import type { UnitEndpoint } from "../unit-endpoint.ts";

/** A digit takes one byte and a third of a second to say: seven audio tokens, plus a margin. */
const AUDIO_TOKENS_PER_BYTE = 9;

const TYPES = {
  mp3: "audio/mpeg",
  opus: "audio/opus",
  aac: "audio/aac",
  flac: "audio/flac",
  wav: "audio/wav",
  pcm: "audio/pcm",
} as const;

const body = z.object({
  model: z.string().min(1).max(200),
  input: z.string().min(1),
  voice: z.union([z.string().min(1).max(100), z.object({ id: z.string().min(1).max(100) })], "must be a name or {id}"),
  instructions: z.string().max(4_096).nullish(),
  response_format: z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"]).nullish(),
  speed: z.number().min(0.25).max(4).nullish(),
  stream_format: z.enum(["audio", "sse"]).nullish(),
});
type Body = z.infer<typeof body>;

export const spoken: UnitEndpoint<Body> = {
  operation: "speech",
  kind: "speech",
  task: "speak",
  schema: body,
  fields: tableOf(body, { input: text, voice: fields({ id: setting }), instructions: text }),
  fit({ body: asked }, { spec, cost }) {
    const characters = [...asked.input].length;
    if (characters > (spec.charactersMax ?? Number.POSITIVE_INFINITY))
      return invalid("input", `must have at most ${spec.charactersMax} characters`);
    if (asked.stream_format === "sse" && spec.streams !== true)
      return invalid("stream_format", "this model answers with bytes alone");
    const { model: _, ...sent } = asked;
    if (cost.rates.has("characters")) return { countsMax: { characters }, body: sent, stream: false };
    const bytes = Buffer.byteLength(asked.input);
    const slower = 1 / Math.min(1, asked.speed ?? 1);
    const textIn = bytes + Buffer.byteLength(asked.instructions ?? "") + 64;
    const audioOut = Math.ceil(bytes * AUDIO_TOKENS_PER_BYTE * slower);
    return { countsMax: { textIn, audioOut }, body: sent, stream: true };
  },
  answerForm: ({ body: { stream_format, response_format } }) =>
    stream_format === "sse" ? { kind: "events" } : { kind: "bytes", contentType: TYPES[response_format ?? "mp3"] },
  answerMsMax: 120_000,
  whenCallerLeaves: "finish",
};
