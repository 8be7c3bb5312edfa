// Instructions that replace a response format for which a vendor's wire has no field.

export const JSON_ONLY = "Answer with one JSON object and nothing else: no words around it and no code fence.";

export function jsonBySchema(schema: unknown): string {
  return `Answer with one JSON object that fits this JSON Schema: ${JSON.stringify(schema)}`;
}
