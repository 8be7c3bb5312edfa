// Estimates the tokens of a prompt for free, from a sample; for a given model it rather overestimates.

import { type SoldModel, seenBy } from "../../catalog/catalog.ts";
import type { Answer, Call } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import { modelsRefusal } from "../../money/accounts/allowed.ts";
import type { PromptShape } from "../formats/prompt-text.ts";
import type { WireCount } from "../formats/wire.ts";
import type { ChatDeps } from "./deps.ts";
import type { FreeCounts } from "./free-counts.ts";
import { partTokensMax } from "./prompt-bounds.ts";
import { resolveModels } from "./resolve-models.ts";

/** Safety factors: an agent that believes it has room would send a prompt that is refused. Other tokenizers make more tokens than ours. */
const MARGIN: Readonly<Record<SoldModel["tokenizer"], number>> = { o200k: 1.05, unknown: 1.3 };
const TOKENS_PER_MESSAGE = 8;
const TOKENS_OF_TOOLS = 350;
/** For a part that the model does not accept and whose size is unknown. */
const TOKENS_PER_PART = 1_600;

function besideText(shape: PromptShape, { parts, contextTokens }: SoldModel): number {
  const media = Object.values(shape.parts).reduce((sum, count) => sum + count, 0);
  const ofMedia = partTokensMax({ ...shape, parts: { ...shape.parts, anything: 0 } }, parts, contextTokens);
  const around = TOKENS_PER_MESSAGE * shape.messages + (shape.hasSchemas ? TOKENS_OF_TOOLS : 0);
  return around + Math.min(contextTokens, ofMedia ?? media * TOKENS_PER_PART);
}

/** Overhead that vendors add per message; the only surcharge where the count names no model. */
const TOKENS_AROUND_MESSAGE = 4;

/** The answer of a count endpoint. A tier is counted for its first model. */
export function countTokens(count: WireCount, deps: ChatDeps, counts: FreeCounts): (call: Call) => Promise<Answer> {
  const answer = (tokens: number) => ({ status: 200, body: count.answer(tokens) });
  return async ({ request, caller }) => {
    count.check?.(request);
    if (caller === null) throw new GatewayError("invalid_token", { detail: { detail: "a key is needed" } });
    const { payer, allows } = caller;
    const read = await counts(count, request, payer);
    if (read.model === null) return answer(read.tokens + TOKENS_AROUND_MESSAGE * read.shape.messages);
    const wanted = [{ name: read.model, param: "model" }];
    const resolved = resolveModels(wanted, deps.catalog(), { sandbox: seenBy(caller).sandbox, ...deps.settings });
    const refused = modelsRefusal(allows, resolved.asked);
    const [first] = resolved.models;
    if (refused !== null || first === undefined) throw refused ?? new GatewayError("upstream_not_configured");
    const text = Math.ceil(read.tokens * MARGIN[first.model.tokenizer]);
    return answer(text + besideText(read.shape, first.model));
  };
}
