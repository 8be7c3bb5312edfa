// The realtime stand-in's own schema of what clients may send, as strict as OpenAI's.
import { z } from "zod";
import { isRecord, type Json } from "../../../core/json.ts";

const id = z.string().min(1).max(512);
const modalities = z.tuple([z.enum(["text", "audio"])]);
const limit = z.union([z.number().int().min(1).max(32_000), z.literal("inf")]);
const tools = z.array(
  z.strictObject({
    type: z.literal("function"),
    name: z.string(),
    description: z.string().optional(),
    parameters: z.record(z.string(), z.unknown()).optional(),
  }),
);
const choice = z.union([
  z.enum(["auto", "none", "required"]),
  z.strictObject({ type: z.literal("function"), name: z.string() }),
]);
const format = z.union([
  z.strictObject({ type: z.literal("audio/pcm"), rate: z.literal(24_000).optional() }),
  z.strictObject({ type: z.enum(["audio/pcmu", "audio/pcma"]) }),
]);
const turns = z.strictObject({
  type: z.enum(["server_vad", "semantic_vad"]),
  threshold: z.number().min(0).max(1).optional(),
  prefix_padding_ms: z.number().int().optional(),
  silence_duration_ms: z.number().int().optional(),
  idle_timeout_ms: z.number().int().nullish(),
  eagerness: z.enum(["low", "medium", "high", "auto"]).optional(),
  create_response: z.boolean().optional(),
  interrupt_response: z.boolean().optional(),
});
const output = z.strictObject({
  format: format.optional(),
  voice: z.union([z.string(), z.strictObject({ id: z.string() })]).optional(),
  speed: z.number().optional(),
});
const session = z.strictObject({
  type: z.literal("realtime"),
  model: z.string().optional(),
  output_modalities: modalities.optional(),
  instructions: z.string().optional(),
  audio: z
    .strictObject({
      input: z
        .strictObject({
          format: format.optional(),
          transcription: z
            .strictObject({ model: z.string(), language: z.string().optional(), prompt: z.string().optional() })
            .nullish(),
          noise_reduction: z.strictObject({ type: z.enum(["near_field", "far_field"]) }).nullish(),
          turn_detection: turns.nullish(),
        })
        .optional(),
      output: output.optional(),
    })
    .optional(),
  include: z.array(z.string()).nullish(),
  tools: tools.optional(),
  tool_choice: choice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning: z.record(z.string(), z.unknown()).optional(),
  max_output_tokens: limit.optional(),
  truncation: z.union([z.enum(["auto", "disabled"]), z.record(z.string(), z.unknown())]).optional(),
});
const part = z.union([
  z.strictObject({ type: z.enum(["input_text", "output_text"]), text: z.string() }),
  z.strictObject({ type: z.literal("input_audio"), audio: z.string(), transcript: z.string().optional() }),
  z.strictObject({ type: z.literal("input_image"), image_url: z.string(), detail: z.string().optional() }),
]);
const item = z.discriminatedUnion("type", [
  z.strictObject({
    type: z.literal("message"),
    id: id.optional(),
    object: z.literal("realtime.item").optional(),
    status: z.string().optional(),
    role: z.enum(["user", "assistant", "system"]),
    content: z.array(part),
  }),
  z.strictObject({
    type: z.literal("function_call_output"),
    id: id.optional(),
    object: z.literal("realtime.item").optional(),
    status: z.string().optional(),
    call_id: z.string(),
    output: z.string(),
  }),
  z.strictObject({
    type: z.literal("function_call"),
    id: id.optional(),
    call_id: z.string().optional(),
    name: z.string(),
    arguments: z.string(),
  }),
]);
const reference = z.strictObject({ type: z.literal("item_reference"), id });
const response = z.strictObject({
  output_modalities: modalities.optional(),
  instructions: z.string().optional(),
  audio: z.strictObject({ output: output.optional() }).optional(),
  tools: tools.optional(),
  tool_choice: choice.optional(),
  parallel_tool_calls: z.boolean().optional(),
  reasoning: z.record(z.string(), z.unknown()).optional(),
  max_output_tokens: limit.optional(),
  conversation: z.enum(["auto", "none"]).optional(),
  metadata: z.record(z.string(), z.string()).nullish(),
  input: z.array(z.union([item, reference])).optional(),
});
const event = <T extends string, S extends z.ZodRawShape>(type: T, fields: S) =>
  z.strictObject({ type: z.literal(type), event_id: id.optional(), ...fields });

export const clientEvent = z.discriminatedUnion("type", [
  event("session.update", { session }),
  event("input_audio_buffer.append", { audio: z.base64() }),
  event("input_audio_buffer.commit", {}),
  event("input_audio_buffer.clear", {}),
  event("output_audio_buffer.clear", {}),
  event("conversation.item.create", { item, previous_item_id: z.string().nullish() }),
  event("conversation.item.retrieve", { item_id: id }),
  event("conversation.item.delete", { item_id: id }),
  event("conversation.item.truncate", { item_id: id, content_index: z.number(), audio_end_ms: z.number() }),
  event("response.create", { response: response.optional() }),
  event("response.cancel", { response_id: id.optional() }),
]);

const PCM = { type: "audio/pcm", rate: 24_000 };
export const DEFAULT_SESSION: Json = {
  type: "realtime",
  object: "realtime.session",
  output_modalities: ["audio"],
  instructions: "Be kind.",
  tools: [],
  tool_choice: "auto",
  max_output_tokens: "inf",
  tracing: null,
  truncation: "auto",
  prompt: null,
  expires_at: 0,
  audio: {
    input: {
      format: PCM,
      transcription: null,
      noise_reduction: null,
      turn_detection: {
        type: "server_vad",
        threshold: 0.5,
        prefix_padding_ms: 300,
        silence_duration_ms: 200,
        idle_timeout_ms: null,
        create_response: true,
        interrupt_response: true,
      },
    },
    output: { format: PCM, voice: "alloy", speed: 1 },
  },
  include: null,
};

/** A session with the fields of an update; objects within `audio` are merged, everything else is replaced. */
export function merged(before: Json, update: unknown): Json {
  if (!isRecord(update)) return before;
  const all = Object.entries(update).map(([name, value]) => {
    const old = before[name];
    const isMerged = ["audio", "input", "output"].includes(name) && isRecord(value) && isRecord(old);
    return [name, isMerged ? merged(old, value) : value] as const;
  });
  return { ...before, ...Object.fromEntries(all) };
}
