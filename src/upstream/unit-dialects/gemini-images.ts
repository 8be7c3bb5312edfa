// Images from models that speak generateContent, which return them as parts of their answer.
import { isRecord } from "../../core/json.ts";
import type { Counts } from "../../core/route.ts";
import { generateContentError } from "../format-kit/error-body.ts";
import { atPointer, countOf } from "../json-pointer.ts";
import { malformed } from "../vendor-failure.ts";
import type { UnitDialect } from "./unit-dialect.ts";

function ofModality(details: unknown, modality: string): number {
  const rows = Array.isArray(details) ? details.filter(isRecord) : [];
  return countOf(rows.find((row) => row.modality === modality)?.tokenCount);
}

/** Thoughts are counted separately from candidates, so add them. */
function countsOf(usage: unknown): Counts | null {
  if (!isRecord(usage)) return null;
  const prompt = countOf(usage.promptTokenCount);
  const imageIn = Math.min(prompt, ofModality(usage.promptTokensDetails, "IMAGE"));
  const said = countOf(usage.candidatesTokenCount);
  const textOut = Math.min(said, ofModality(usage.candidatesTokensDetails, "TEXT"));
  const thought = countOf(usage.thoughtsTokenCount);
  return { textIn: prompt - imageIn, imageIn, textOut: textOut + thought, imageOut: said - textOut };
}

export const geminiImages: UnitDialect = {
  request({ body }, { upstreamModel, spec }) {
    const { prompt, aspectRatio } = body;
    const generationConfig = {
      responseModalities: ["TEXT", "IMAGE"],
      maxOutputTokens: spec.outputTokensMax,
      ...(aspectRatio === undefined ? {} : { imageConfig: { aspectRatio } }),
    };
    const contents = [{ role: "user", parts: [{ text: prompt }] }];
    return {
      path: `/models/${encodeURIComponent(upstreamModel)}:generateContent`,
      body: { contents, generationConfig },
    };
  },
  answer(json, _, { createdS }) {
    const blocked = atPointer(json, "/promptFeedback/blockReason") ?? atPointer(json, "/candidates/0/finishReason");
    const parts = atPointer(json, "/candidates/0/content/parts");
    const images = (Array.isArray(parts) ? parts : []).map((part) => atPointer(part, "/inlineData/data"));
    const data = images.filter((image) => typeof image === "string" && image !== "");
    if (data.length === 0) {
      const refused = /SAFETY|PROHIBITED|BLOCK|RECITATION/.test(String(blocked));
      const words = `no image came: ${String(blocked ?? "no reason was given")}`;
      return refused ? { ...malformed(words), kind: "policy_content" } : malformed(words);
    }
    const counts = countsOf(json.usageMetadata);
    const usage = counts === null ? {} : { usage: usageOf(counts) };
    return { body: { created: createdS, data: data.map((b64_json) => ({ b64_json })), ...usage }, counts };
  },
  told: (json) => countsOf(json.usageMetadata),
  error: generateContentError,
};

/** Counts in the fields of OpenAI's images wire. */
function usageOf({ textIn = 0, imageIn = 0, textOut = 0, imageOut = 0 }: Counts) {
  return {
    input_tokens: textIn + imageIn,
    input_tokens_details: { text_tokens: textIn, image_tokens: imageIn },
    output_tokens: textOut + imageOut,
    total_tokens: textIn + imageIn + textOut + imageOut,
  };
}
