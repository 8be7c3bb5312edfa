// The dialects of models sold by units, by the names that adapters use.
import type { UnitDialectName } from "../catalog/unit-price.ts";
import { completions } from "./unit-dialects/completions.ts";
import { embeddings } from "./unit-dialects/embeddings.ts";
import { falImages } from "./unit-dialects/fal-images.ts";
import { geminiImages } from "./unit-dialects/gemini-images.ts";
import { openaiAudio } from "./unit-dialects/openai-audio.ts";
import { openaiImages } from "./unit-dialects/openai-images.ts";
import { openaiVoice } from "./unit-dialects/openai-voice.ts";
import { cohereRerank, dataRerank } from "./unit-dialects/rerank.ts";
import type { UnitDialect } from "./unit-dialects/unit-dialect.ts";
import { malformed } from "./vendor-failure.ts";

export type { UnitAsked } from "./unit-dialects/unit-dialect.ts";

/** Moderation: classifies texts and images, free of charge. */
const moderation: UnitDialect = {
  request: ({ body }, { upstreamModel, spec }) => ({
    path: spec.path ?? "/moderations",
    body: { ...body, model: upstreamModel },
  }),
  answer(json, _, { servedSlug }) {
    if (!Array.isArray(json.results) || json.results.length === 0) return malformed("the answer has no results");
    return { body: { ...json, model: servedSlug }, counts: {} };
  },
};

/** Realtime sessions: only the path of the socket, since its messages are relayed. */
const realtime: UnitDialect = {
  request: (_, { upstreamModel, spec }) => ({
    path: `${spec.path ?? "/realtime"}?model=${encodeURIComponent(upstreamModel)}`,
    body: {},
  }),
  answer: () => malformed("a realtime session has no whole answer"),
};

export const UNIT_DIALECTS: Readonly<Record<UnitDialectName, UnitDialect>> = {
  "openai-images": openaiImages,
  "gemini-images": geminiImages,
  "fal-images": falImages,
  "openai-audio": openaiAudio,
  "openai-voice": openaiVoice,
  "cohere-rerank": cohereRerank,
  "data-rerank": dataRerank,
  "openai-moderation": moderation,
  "openai-completion": completions,
  "openai-embeddings": embeddings,
  "openai-realtime": realtime,
};
