// A model's inputs and outputs, in the terms that other model lists use, derived from the wires of its vendors.

import type { Catalog, Offer, SoldEmbedding, SoldModel } from "./catalog.ts";
import type { DialectName } from "./chat-wire.ts";
import type { PartBounds } from "./model-spec.ts";
import type { UnitKind } from "./unit-price.ts";

const EVERY_WIRE = [
  "max_tokens",
  "temperature",
  "top_p",
  "tools",
  "tool_choice",
  "response_format",
  "structured_outputs",
];
const PENALTIES = ["frequency_penalty", "presence_penalty"];
const LOGITS = ["logprobs", "top_logprobs", "logit_bias"];
/** The request fields that each wire supports. */
const WIRE_TAKES: Readonly<Record<DialectName, readonly string[]>> = {
  "chat-completions": [...EVERY_WIRE, "stop", "seed", "n", "parallel_tool_calls", ...PENALTIES, ...LOGITS],
  responses: [...EVERY_WIRE, "parallel_tool_calls"],
  messages: [...EVERY_WIRE, "stop", "top_k", "parallel_tool_calls"],
  "generate-content": [...EVERY_WIRE, "stop", "top_k", "seed", ...PENALTIES],
  converse: [...EVERY_WIRE, "stop"],
};
const REASONING = ["reasoning", "reasoning_effort", "include_reasoning"];

const UNIT_MODALITIES: Readonly<Record<UnitKind, readonly [input: readonly string[], output: string]>> = {
  images: [["text", "image"], "image"],
  transcription: [["audio"], "text"],
  speech: [["text"], "audio"],
  rerank: [["text"], "scores"],
  moderation: [["text", "image"], "scores"],
  completion: [["text"], "text"],
  realtime: [["text", "image", "audio"], "audio"],
  embeddings: [["text"], "embeddings"],
};

/** Content types besides text, by their names in requests and lists. */
export const CONTENT_KINDS = [
  ["image", "imageTokensMax"],
  ["audio", "audioTokensMax"],
  ["file", "fileTokensMax"],
] as const satisfies readonly (readonly [string, keyof PartBounds])[];

/** `tokenizer`: the encoding, if we have it; otherwise null. */
function architecture(input: readonly string[], output: string, tokenizer: string | null) {
  return { modality: `${input.join("+")}->${output}`, input_modalities: input, output_modalities: [output], tokenizer };
}

export function nameOf(slug: string): string {
  const [maker = "", ...rest] = slug.split("/");
  return rest.length === 0 ? slug : `${maker}: ${rest.join("/")}`;
}

function reasons({ chat, wire }: Offer): boolean {
  if (chat.dialect === "messages" || chat.dialect === "generate-content") return wire.reasoning !== "none";
  if (chat.dialect === "converse") return wire.takes?.effortField !== undefined;
  return wire.takes?.efforts?.length !== 0;
}

function parametersOf(offer: Offer): readonly string[] {
  const { chat, wire } = offer;
  const all = [...WIRE_TAKES[chat.dialect], ...(reasons(offer) ? REASONING : [])];
  const dropped = new Set(wire.dropFields);
  const noTools = wire.takes?.refuses?.includes("tools") === true;
  const noChoices = wire.takes?.refuses?.includes("n") === true;
  return all.filter((name) => !dropped.has(name) && !(noTools && /tool/.test(name)) && !(noChoices && name === "n"));
}

/** The facts do not depend on which keys are set, so they come from the sandbox view, which has every vendor. */
function offersOf({ slug, offers }: SoldModel, catalog: Catalog): readonly Offer[] {
  const all = catalog.model(slug, { sandbox: true })?.offers ?? [];
  return all.length > 0 ? all : offers;
}

export function modelFacts(model: SoldModel | SoldEmbedding, catalog: Catalog) {
  const { slug, kind, parts, tokenizer } = model;
  const input = ["text", ...CONTENT_KINDS.flatMap(([name, bound]) => (parts[bound] === undefined ? [] : [name]))];
  const known = tokenizer === "unknown" ? null : tokenizer;
  return {
    name: nameOf(slug),
    architecture: architecture(input, kind === "chat" ? "text" : "embeddings", known),
    /** Request fields that affect an answer and that the first vendor in order supports. */
    supported_parameters:
      model.kind === "chat" ? offersOf(model, catalog).slice(0, 1).flatMap(parametersOf) : ["dimensions"],
  };
}

export function unitFacts(slug: string, kind: UnitKind) {
  const [input, output] = UNIT_MODALITIES[kind];
  return { name: nameOf(slug), architecture: architecture(input, output, null), supported_parameters: [] };
}
