// The dialects of models that are sold by units, by the names that adapters have for them.
import type { UnitDialectName } from "../catalog/adapter.ts";
import { completions } from "./unit-dialects/completions.ts";
import { embeddings } from "./unit-dialects/embeddings.ts";
import { falImages } from "./unit-dialects/fal-images.ts";
import { geminiImages } from "./unit-dialects/gemini-images.ts";
import { moderation } from "./unit-dialects/moderation.ts";
import { openaiAudio } from "./unit-dialects/openai-audio.ts";
import { openaiImages } from "./unit-dialects/openai-images.ts";
import { openaiVoice } from "./unit-dialects/openai-voice.ts";
import { cohereRerank, dataRerank } from "./unit-dialects/rerank.ts";
import type { UnitDialect } from "./unit-dialects/unit-dialect.ts";

export type { UnitAsked } from "./unit-dialects/unit-dialect.ts";

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
};
