// A model that is sold by units of its own, as an adapter says it: images, seconds of sound, searches, or tokens of several sorts.

import type { ModelEnd } from "./model-end.ts";

/** What a model does that is neither a chat nor an embedding model, and so at which endpoint it is asked. */
export type UnitKind = "images" | "transcription" | "speech" | "rerank" | "moderation" | "completion";

/** A format of requests to such a model: the name of a row of src/upstream/unit-dialects. */
export type UnitDialectName =
  | "openai-images"
  | "gemini-images"
  | "fal-images"
  | "openai-audio"
  | "openai-voice"
  | "cohere-rerank"
  | "data-rerank"
  | "openai-moderation"
  | "openai-completion";

/** A price by units from a day on, as decimal strings of USD. What has no price here is not sold; a price of nothing at all is free. */
export interface UnitPriceSpec {
  /** `YYYY-MM-DD`, UTC. */
  readonly since: string;
  /** As of a price by tokens. */
  readonly taken?: string;
  /** Each per million tokens. */
  readonly textIn?: string;
  readonly cachedIn?: string;
  readonly imageIn?: string;
  readonly audioIn?: string;
  readonly textOut?: string;
  readonly imageOut?: string;
  readonly audioOut?: string;
  /** Per million characters. */
  readonly characters?: string;
  /** Per hour of sound. */
  readonly hours?: string;
  /** Per thousand searches. */
  readonly searches?: string;
  /** Per million pixels begun, of each image. */
  readonly megapixels?: string;
  /** Per image, by `<size>` or `<size> <quality>`. */
  readonly images?: Readonly<Record<string, string>>;
}

/** A model that is sold by units of its own: images, seconds, searches, or tokens of several sorts. Bounds are what its holds are made of. */
export interface UnitModelSpec {
  readonly kind: UnitKind;
  readonly dialect: UnitDialectName;
  /** What we sell it as. Default: as a chat model's. */
  readonly slug?: string;
  /** Newest last. */
  readonly prices: readonly UnitPriceSpec[];
  /** When the vendor ends it, once that is known. It stays in its file after that, so that callers are told. */
  readonly retires?: ModelEnd;
  /** One of the adapter's `origins`, where its own is not asked. */
  readonly origin?: string;
  /** Where it is asked below the origin, where that is not the dialect's own path. */
  readonly path?: string;
  /** Fields added to every request. */
  readonly extraFields?: Readonly<Record<string, unknown>>;
  /** Its names for fields that it has under others. */
  readonly renamed?: Readonly<Record<string, string>>;
  /** Fields that it refuses, and that its answer does not depend on: they are left out. */
  readonly omits?: readonly string[];
  /** Fields of the caller's that it refuses; those who send them are told so. */
  readonly refuses?: readonly string[];
  /** The longest prompt, and the longest answer, in tokens. */
  readonly inputTokensMax?: number;
  readonly outputTokensMax?: number;
  /** The longest text, in characters. */
  readonly charactersMax?: number;
  /** Of images: the most in one request. */
  readonly imagesMax?: number;
  /** Of images: the most tokens that one comes out as, by size and quality; `auto` is the most of all. */
  readonly imageTokens?: Readonly<Record<string, Readonly<Record<string, number>>>>;
  /** Of images: the most tokens that one counts for which goes in. Without it, it edits none. */
  readonly imageInTokensMax?: number;
  /** Answers in events, where it is asked to. */
  readonly streams?: boolean;
  /** Of a transcription: it can translate into English as well. */
  readonly translates?: boolean;
  /** Forms of answer that it has, by their names in OpenAI's wire. */
  readonly formats?: readonly string[];
  /** Of sound: the longest that it takes, and the least that it charges for, in seconds. */
  readonly secondsMax?: number;
  readonly secondsMin?: number;
  /** Of sound: the most tokens that a second of it counts for. */
  readonly audioTokensPerSecond?: number;
  /** Of a completion: it fills in the middle. */
  readonly fillsIn?: boolean;
}
