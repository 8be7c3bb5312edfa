// The events of a whole answer, so that a format needs only the encoder of its streams.
import type { AnswerBlock, NeutralAnswer, NeutralEvent } from "../../core/neutral.ts";

/** `at` is the block's index among those of its kind. */
function eventsOfBlock(block: AnswerBlock, choice: number, at: number): readonly NeutralEvent[] {
  if (block.kind === "tool-call" || block.kind === "image") return [{ ...block, choice, at }];
  if (block.kind === "native") return [{ ...block, choice }];
  if (block.kind === "action")
    return [
      { kind: "action-begun", choice, action: block },
      { kind: "action-done", choice, action: block },
    ];
  const said: NeutralEvent[] = block.text === "" ? [] : [{ kind: block.kind, choice, text: block.text }];
  if (block.kind !== "reasoning")
    return [...said, ...block.citations.map((citation) => ({ kind: "citation", choice, ...citation }) as const)];
  const isSigned = block.signature !== null || block.sealed !== null;
  return isSigned ? [...said, { kind: "thought", choice, at, thought: block }] : said;
}

/** Each block becomes one piece. */
export function eventsOf({ choices }: NeutralAnswer): readonly NeutralEvent[] {
  return choices.flatMap(({ index: choice, blocks, reason, native }) => {
    const placed = Object.values(Object.groupBy(blocks, ({ kind }) => kind)).flatMap((same) => [...same.entries()]);
    const places = new Map(placed.map(([at, block]) => [block, at]));
    const said = blocks.flatMap((block) => eventsOfBlock(block, choice, places.get(block) ?? 0));
    return [{ kind: "begin", choice }, ...said, { kind: "finish", choice, reason, native }] as const;
  });
}
