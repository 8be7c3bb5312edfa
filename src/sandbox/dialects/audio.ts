// Audio in the sandbox: transcribes to one word per half second, and speaks noise; counts and errors follow OpenAI's.
import { z } from "zod";
import { type DialectEvent, refuse } from "../dialect.ts";
import { inputAsk, unitDialect, unitReading } from "./unit-reading.ts";

const WORDS = ["the", "sea", "is", "calm", "and", "the", "boat", "comes", "home"];
const KNOWN = /\.(flac|mp3|mp4|mpeg|mpga|m4a|ogg|wav|webm)$/i;
/** Sixteen kilobytes count as one second, except in plain WAV, which states its length. */
const BYTES_PER_SECOND = 16_000;
/** A file may claim any length. */
const WORDS_MAX = 20_000;

const file = z
  .array(
    z.object({
      name: z.string().regex(KNOWN, "Invalid file format."),
      type: z.string(),
      bytes: z.int(),
      head: z.string(),
    }),
  )
  .length(1);
const transcription = z.strictObject({
  file,
  model: z.string().regex(/whisper|transcribe/),
  language: z
    .string()
    .regex(/^[a-z]{2,3}$/)
    .optional(),
  prompt: z.string().optional(),
  response_format: z.enum(["json", "text", "srt", "verbose_json", "vtt"]).optional(),
  temperature: z.coerce.number().min(0).max(1).optional(),
  timestamp_granularities: z.array(z.enum(["word", "segment"])).optional(),
  include: z.array(z.literal("logprobs")).optional(),
  chunking_strategy: z.string().optional(),
  stream: z.enum(["true", "false"]).optional(),
});
const translation = z.strictObject({
  file,
  model: z.string().regex(/whisper/),
  prompt: z.string().optional(),
  response_format: z.enum(["json", "text", "srt", "verbose_json", "vtt"]).optional(),
  temperature: z.coerce.number().min(0).max(1).optional(),
});

function secondsOf({ bytes, head }: { readonly bytes: number; readonly head: string }): number {
  const wav = Buffer.from(head, "latin1");
  const isWav = head.startsWith("RIFF") && wav.length >= 36;
  return isWav ? (bytes - 44) / wav.readUInt32LE(28) : bytes / BYTES_PER_SECOND;
}

function heardIn(seconds: number): readonly string[] {
  const count = Math.min(WORDS_MAX, Math.max(1, Math.round(seconds * 2)));
  return Array.from({ length: count }, (_, at) => WORDS[at % WORDS.length] ?? "");
}

function verbose(seconds: number, words: readonly string[], withUsage: boolean) {
  const text = words.join(" ");
  return {
    task: "transcribe",
    language: "english",
    duration: seconds,
    text,
    segments: [{ id: 0, seek: 0, start: 0, end: seconds, text: ` ${text}`, tokens: [], temperature: 0 }],
    ...(withUsage && { usage: { type: "duration", seconds: Math.ceil(seconds) } }),
  };
}

export const audioTranscription = unitDialect(/\/audio\/transcriptions$/, transcription, (asked, { url }) => {
  const { model, response_format = "json", stream, timestamp_granularities, prompt = "", file: files } = asked;
  const [sound] = files;
  if (sound === undefined || sound.bytes === 0) return refuse("file", "The audio file could not be decoded.");
  const isWhisper = /whisper/.test(model);
  if (!isWhisper && !["json", "text"].includes(response_format))
    return refuse("response_format", `response_format '${response_format}' is not compatible with model '${model}'.`);
  if (timestamp_granularities !== undefined && response_format !== "verbose_json")
    return refuse("timestamp_granularities", "only with response_format verbose_json");
  const seconds = secondsOf(sound);
  const words = heardIn(seconds);
  const isGroq = url.pathname.includes("/groq/");
  const audio_tokens = Math.ceil(seconds * 10);
  const text_tokens = prompt === "" ? 0 : prompt.split(/\s+/).length;
  const usage = {
    type: "tokens",
    input_tokens: audio_tokens + text_tokens,
    input_token_details: { text_tokens, audio_tokens },
    output_tokens: words.length,
    total_tokens: audio_tokens + text_tokens + words.length,
  };
  const event = (data: object, last: boolean): DialectEvent => {
    return { name: null, data: JSON.stringify(data), tokens: 1, kind: last ? "closing" : "content" };
  };
  return unitReading(
    inputAsk(model, [], !isWhisper && stream === "true"),
    () => {
      if (isWhisper && response_format === "verbose_json") return verbose(seconds, words, !isGroq);
      return { text: words.join(" "), ...(!isWhisper && { usage }) };
    },
    () => [
      ...words.map((word) => event({ type: "transcript.text.delta", delta: `${word} ` }, false)),
      event({ type: "transcript.text.done", text: words.join(" "), usage }, true),
    ],
  );
});

export const audioTranslation = unitDialect(/\/audio\/translations$/, translation, (asked) => {
  const { model, file: files } = asked;
  const [sound] = files;
  if (sound === undefined || sound.bytes === 0) return refuse("file", "The audio file could not be decoded.");
  if (/turbo/.test(model)) return refuse("model", "This model does not support translation.");
  const seconds = secondsOf(sound);
  return unitReading(inputAsk(model, []), () => ({ ...verbose(seconds, heardIn(seconds), true), task: "translate" }));
});

const VOICES = [
  "alloy",
  "ash",
  "ballad",
  "coral",
  "echo",
  "fable",
  "onyx",
  "nova",
  "sage",
  "shimmer",
  "verse",
  "marin",
  "cedar",
];
const speaking = z.strictObject({
  model: z.enum(["tts-1", "tts-1-hd", "gpt-4o-mini-tts", "gpt-4o-mini-tts-2025-12-15"]),
  input: z.string().min(1).max(4_096),
  voice: z.union([z.enum(VOICES), z.strictObject({ id: z.string() })]),
  instructions: z.string().max(4_096).optional(),
  response_format: z.enum(["mp3", "opus", "aac", "flac", "wav", "pcm"]).optional(),
  speed: z.number().min(0.25).max(4).optional(),
  stream_format: z.enum(["audio", "sse"]).optional(),
});
const PIECE = Buffer.from("a piece of sound");

export const audioVoice = unitDialect(/\/audio\/speech$/, speaking, (asked) => {
  const { model, input, instructions, stream_format = "audio" } = asked;
  const isOld = /^tts-1/.test(model);
  if (isOld && stream_format === "sse") return refuse("stream_format", "'sse' is not supported for this model.");
  if (isOld && instructions !== undefined) return refuse("instructions", "not supported for this model.");
  const words = input.split(/\s+/);
  const usage = { input_tokens: words.length + 8, output_tokens: words.length * 8, total_tokens: words.length * 9 + 8 };
  const event = (data: object, last: boolean): DialectEvent => {
    return { name: null, data: JSON.stringify(data), tokens: 1, kind: last ? "closing" : "content" };
  };
  return {
    ...unitReading(
      inputAsk(model, [input], stream_format === "sse"),
      () => ({}),
      () => [
        ...words.map(() => event({ type: "speech.audio.delta", audio: PIECE.toString("base64") }, false)),
        event({ type: "speech.audio.done", usage }, true),
      ],
    ),
    bytes: { contentType: "audio/mpeg", pieces: words.map(() => PIECE) },
  };
});
