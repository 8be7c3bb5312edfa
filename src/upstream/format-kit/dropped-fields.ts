// Removes from a neutral request the fields that a model refuses. Adapters use the field names of OpenAI's chat wire.
import type { NeutralRequest } from "../../core/neutral.ts";
import type { ChatContext } from "./dialect.ts";

type Sampled = keyof NeutralRequest["sampling"];

const SAMPLED: Readonly<Record<string, Sampled>> = {
  temperature: "temperature",
  top_p: "topP",
  top_k: "topK",
  presence_penalty: "presencePenalty",
  frequency_penalty: "frequencyPenalty",
  seed: "seed",
};

const WITHOUT: Readonly<Record<string, Partial<NeutralRequest>>> = {
  n: { choices: 1 },
  stop: { stops: [] },
  tools: { tools: [] },
  tool_choice: { toolChoice: null },
  parallel_tool_calls: { parallelToolCalls: null },
  response_format: { format: null },
  reasoning: { reasoning: null },
  reasoning_effort: { reasoning: null },
  user: { user: null },
  cache_control: { cacheMark: false },
};

function without(request: NeutralRequest, field: string): NeutralRequest {
  const sampled = Object.hasOwn(SAMPLED, field) ? SAMPLED[field] : undefined;
  return {
    ...request,
    ...(Object.hasOwn(WITHOUT, field) ? WITHOUT[field] : {}),
    ...(sampled === undefined ? {} : { sampling: { ...request.sampling, [sampled]: null } }),
    extra: Object.fromEntries(Object.entries(request.extra).filter(([name]) => name !== field)),
    foreign: request.foreign.filter((one) => one.field !== field),
  };
}

export function withoutDropped(request: NeutralRequest, { wire }: ChatContext): NeutralRequest {
  return (wire.dropFields ?? []).reduce(without, request);
}
