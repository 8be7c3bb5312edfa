// Decides where a search with nothing but a query looks: a small model chooses, or rules where no model does.
import { z } from "zod";
import type { FacetsSpec } from "../../catalog/facets.ts";
import type { LocalCall } from "../../catalog/local-action.ts";
import type { JsonObject } from "../../catalog/said.ts";
import { SEARCH_FACETS, type SearchFacet } from "./search-params.ts";

export interface Intent {
  readonly facets: readonly SearchFacet[];
  readonly timeCritical: boolean;
  readonly fidelityRequired: boolean;
  readonly by: "model" | "rules";
}

const MODEL = "core/cheap";
const MS_MAX = 2_000;
const OUTPUT_TOKENS_MAX = 200;
const FACETS_MAX = 3;

const SCHEMA: JsonObject = {
  type: "object",
  properties: {
    facets: { type: "array", items: { type: "string", enum: SEARCH_FACETS }, minItems: 1, maxItems: FACETS_MAX },
    timeCritical: { type: "boolean" },
    fidelityRequired: { type: "boolean" },
  },
  required: ["facets", "timeCritical", "fidelityRequired"],
  additionalProperties: false,
};
const said = z.strictObject({
  facets: z.array(z.enum(SEARCH_FACETS)).min(1).max(FACETS_MAX),
  timeCritical: z.boolean(),
  fidelityRequired: z.boolean(),
});

function taskOf({ facets }: FacetsSpec): string {
  const kinds = SEARCH_FACETS.map((name) => `${name}: ${facets[name]?.about ?? name}`).join("\n");
  return [
    "You choose where a search looks. Name the one to three kinds of sources that fit the query best, fewest first choice.",
    "timeCritical: an answer is of use only at once. fidelityRequired: the exact and whole wording of pages is needed.",
    "",
    kinds,
  ].join("\n");
}

function byRules(query: string, { facets }: FacetsSpec): Intent {
  const meant = SEARCH_FACETS.filter((name) => facets[name]?.words?.test(query) === true).slice(0, FACETS_MAX - 1);
  const isUrgent = /\b(right now|urgent(ly)?|asap|immediately)\b/i.test(query);
  const isExact = /\b(full text|verbatim|exact wording|whole page|complete text)\b/i.test(query);
  return {
    // The words may mislead, so the web is searched as well.
    facets: meant.includes("docs") ? meant : ["web", ...meant],
    timeCritical: isUrgent,
    fidelityRequired: isExact,
    by: "rules",
  };
}

/** Falls back to rules where the model is late, refuses or answers in another form, and in the sandbox, whose models are simulated. */
export async function classify(
  query: string,
  spec: FacetsSpec,
  { chat, payer }: Pick<LocalCall, "chat" | "payer">,
): Promise<Intent> {
  if (payer.sandbox) return byRules(query, spec);
  const answer = await chat({
    model: MODEL,
    task: taskOf(spec),
    given: { query },
    schema: SCHEMA,
    outputTokensMax: OUTPUT_TOKENS_MAX,
    msMax: MS_MAX,
  });
  const read = answer.ok ? said.safeParse(answer.json) : null;
  if (read?.success !== true) return byRules(query, spec);
  return { ...read.data, facets: [...new Set(read.data.facets)], by: "model" };
}
