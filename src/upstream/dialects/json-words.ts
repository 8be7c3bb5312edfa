// What a model is told in words, where its vendor's wire has no field that says what form its answer must have.

/** Any JSON object. */
export const JSON_ONLY = "Answer with one JSON object and nothing else: no words around it and no code fence.";

/** One that fits a schema. */
export function jsonBySchema(schema: unknown): string {
  return `Answer with one JSON object that fits this JSON Schema: ${JSON.stringify(schema)}`;
}
