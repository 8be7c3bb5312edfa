// Transcription and translation in OpenAI's format: holds the longest possible file, charges what the vendor reports.
import { z } from "zod";
import type { UnitOffer } from "../../../catalog/catalog.ts";
import { isRecord } from "../../../core/json.ts";
import type { Counts } from "../../../core/route.ts";
import { refused, setting, tableOf, text } from "../../formats/field-table.ts";
import { invalid } from "../../formats/parse-json.ts";
import type { AnswerForm, UnitAsk, UnitEndpoint } from "../unit-endpoint.ts";

/** The fastest speech in tokens per second, and the minimum for a short answer. */
const TEXT_TOKENS_PER_SECOND = 8;
const TEXT_TOKENS_MIN = 500;
/** The overhead that a vendor adds around a prompt. */
const TOKENS_AROUND = 64;

const flag = z.union([z.boolean(), z.enum(["true", "false"]).transform((text) => text === "true")]);
const one = <T extends z.ZodType>(item: T) => z.union([z.array(item).max(8), item.transform((value) => [value])]);
const body = z.object({
  model: z.string().min(1).max(200),
  language: z.string().max(40).nullish(),
  prompt: z.string().max(8_000).nullish(),
  response_format: z.enum(["json", "text", "srt", "verbose_json", "vtt", "diarized_json"]).nullish(),
  temperature: z.coerce.number().min(0).max(1).nullish(),
  timestamp_granularities: one(z.enum(["word", "segment"])).nullish(),
  include: one(z.enum(["logprobs"])).nullish(),
  chunking_strategy: z.string().max(2_000).nullish(),
  stream: flag.nullish(),
});
type Body = z.infer<typeof body>;

const fields = tableOf(body, {
  prompt: text,
  timestamp_granularities: { items: setting },
  include: { items: setting },
  known_speaker_references: refused("it is sound of its own."),
  known_speaker_names: refused("it goes with sound of its own."),
});

function countsMax({ body: asked, secondsMax = 0 }: UnitAsk<Body>, { spec, cost }: UnitOffer): Counts {
  const seconds = Math.max(spec.secondsMin ?? 1, Math.min(secondsMax, spec.secondsMax ?? secondsMax));
  if (cost.rates.has("seconds")) return { seconds };
  return {
    textIn: Buffer.byteLength(asked.prompt ?? "") + TOKENS_AROUND,
    audioIn: Math.ceil(seconds * (spec.audioTokensPerSecond ?? 0)),
    textOut: Math.ceil(seconds * TEXT_TOKENS_PER_SECOND) + TEXT_TOKENS_MIN,
  };
}

/** `00:01:02,345`. */
function stamp(seconds: unknown, mark: "," | "."): string {
  const ms = Math.round(Number(seconds) * 1_000) || 0;
  const two = (value: number) => String(Math.floor(value)).padStart(2, "0");
  const clock = `${two(ms / 3_600_000)}:${two((ms / 60_000) % 60)}:${two((ms / 1_000) % 60)}`;
  return `${clock}${mark}${String(ms % 1_000).padStart(3, "0")}`;
}

function cues(answer: Record<string, unknown>, mark: "," | ".", numbered: boolean): string {
  const segments = Array.isArray(answer.segments) ? answer.segments.filter(isRecord) : [];
  return segments
    .map(({ start, end, text }, at) => {
      const times = `${stamp(start, mark)} --> ${stamp(end, mark)}\n${String(text).trim()}\n\n`;
      return numbered ? `${at + 1}\n${times}` : times;
    })
    .join("");
}

const TEXTS: Readonly<Record<string, Extract<AnswerForm, { kind: "text" }>>> = {
  text: { kind: "text", contentType: "text/plain; charset=utf-8", render: ({ text }) => `${String(text)}\n` },
  srt: { kind: "text", contentType: "application/x-subrip", render: (answer) => cues(answer, ",", true) },
  vtt: { kind: "text", contentType: "text/vtt", render: (answer) => `WEBVTT\n\n${cues(answer, ".", false)}` },
};

const PLAIN: AnswerForm = { kind: "json", only: ["text", "usage", "logprobs"] };

function endpoint(operation: string, task: "transcribe" | "translate"): UnitEndpoint<Body> {
  return {
    operation,
    kind: "transcription",
    task,
    schema: body,
    fields,
    fit(ask, offer) {
      const { body: asked, files } = ask;
      const { spec, cost } = offer;
      const [file, ...more] = files;
      if (file?.field !== "file" || more.length > 0) return invalid("file", "is missing, must be one file");
      if (file.size === 0) return invalid("file", "is empty");
      if (task === "translate" && spec.translates !== true) return invalid("model", "this model does not translate");
      if (asked.stream === true && spec.streams !== true) return invalid("stream", "this model does not stream");
      const format = asked.response_format ?? "json";
      if (!(spec.formats ?? []).includes(format))
        return invalid("response_format", `this model answers in ${(spec.formats ?? []).join(", ")}`);
      // Models sold by the hour report seconds only in the verbose form.
      const isVerbose = cost.rates.has("seconds") && (spec.formats ?? []).includes("verbose_json");
      const reporting = isVerbose ? "verbose_json" : "json";
      const { model: _, stream: __, ...sent } = asked;
      const response_format = format === "diarized_json" ? format : reporting;
      return { countsMax: countsMax(ask, offer), body: { ...sent, response_format }, stream: asked.stream === true };
    },
    answerForm({ body: { stream, response_format } }) {
      if (stream === true) return { kind: "events" };
      const format = response_format ?? "json";
      return TEXTS[format] ?? (format === "json" ? PLAIN : { kind: "json" });
    },
    answerMsMax: 600_000,
    whenCallerLeaves: "finish",
  };
}

export const transcriptions = endpoint("transcription", "transcribe");
export const translations = endpoint("translation", "translate");
