// The dialects of models that are sold by units, by the names that adapters have for them.
import type { UnitDialectName } from "../catalog/adapter.ts";
import { moderation } from "./unit-dialects/moderation.ts";
import { cohereRerank, dataRerank } from "./unit-dialects/rerank.ts";
import type { UnitDialect } from "./unit-dialects/unit-dialect.ts";

export type { UnitAsked } from "./unit-dialects/unit-dialect.ts";

export const UNIT_DIALECTS: Readonly<Record<UnitDialectName, UnitDialect>> = {
  "cohere-rerank": cohereRerank,
  "data-rerank": dataRerank,
  "openai-moderation": moderation,
};
