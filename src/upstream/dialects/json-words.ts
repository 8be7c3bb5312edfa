// Instructions that replace a response format where the vendor's format has no field for one.

/** Any JSON object. */
export const JSON_ONLY = "Answer with one JSON object and nothing else: no words around it and no code fence.";

/** One that fits a schema. */
export function jsonBySchema(schema: unknown): string {
  return `Answer with one JSON object that fits this JSON Schema: ${JSON.stringify(schema)}`;
}
