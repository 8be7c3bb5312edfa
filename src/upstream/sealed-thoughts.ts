// Converts thoughts between callers who carry them sealed and the vendors that made them.
import {
  type AnswerBlock,
  type NeutralAnswer,
  type NeutralBlock,
  type NeutralRequest,
  type ReasoningBlock,
  thought,
} from "../core/neutral.ts";
import type { OwnSeal } from "./format-kit/dialect.ts";

/** A thought in the form for the caller; null if nothing is left to carry. */
export function sealedThought(open: ReasoningBlock, seal: OwnSeal): ReasoningBlock | null {
  if (open.signature === null && open.sealed === null) return open;
  const sealed = seal.seal(open);
  if (sealed === null && open.text === "") return null;
  return thought({ text: open.text, sealed, callId: open.callId });
}

export function sealedAnswer(answer: NeutralAnswer, seal: OwnSeal): NeutralAnswer {
  const told = (block: AnswerBlock): readonly AnswerBlock[] => {
    if (block.kind !== "reasoning") return [block];
    const sealed = sealedThought(block, seal);
    return sealed === null ? [] : [sealed];
  };
  return { ...answer, choices: answer.choices.map((choice) => ({ ...choice, blocks: choice.blocks.flatMap(told) })) };
}

/** Whether a block is a thought that only the gateway can read. */
function isSealed(block: NeutralBlock): block is ReasoningBlock & { readonly sealed: string } {
  return block.kind === "reasoning" && block.format === null && block.sealed !== null;
}

/** Opens a request's thoughts for its vendor; drops those of other vendors. */
export function openedRequest(request: NeutralRequest, seal: OwnSeal): NeutralRequest {
  if (!request.turns.some(({ blocks }) => blocks.some(isSealed))) return request;
  const opened = (block: NeutralBlock): readonly NeutralBlock[] => {
    if (!isSealed(block)) return [block];
    const thought = seal.open(block.sealed);
    return thought === null ? [] : [thought];
  };
  const turns = request.turns.map((turn) => ({ ...turn, blocks: turn.blocks.flatMap(opened) }));
  return { ...request, turns: turns.filter(({ blocks }) => blocks.length > 0) };
}
