// Converts whole answers to streams and back, for vendors that answer in the form that was not requested.
import type { AnswerBlock, EventEncoder, NeutralAnswer, NeutralChoice, NeutralEvent } from "../core/neutral.ts";
import { AnswerBlocks } from "./answer-blocks.ts";

/** `at` is the block's index among those of its kind. */
function eventsOfBlock(block: AnswerBlock, choice: number, at: number): readonly NeutralEvent[] {
  if (block.kind === "tool-call" || block.kind === "image") return [{ ...block, choice, at }];
  if (block.kind === "native") return [{ ...block, choice }];
  if (block.kind === "action") return [];
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

/** Never sent; a nonempty result only shows that something came. */
const SAID = Buffer.from(" ");

/** Collects a stream's events into a whole answer, through the interface of a wire's encoder. */
export class GatheredAnswer implements EventEncoder {
  readonly #choices = new Map<number, { readonly said: AnswerBlocks } & Pick<NeutralChoice, "reason" | "native">>();

  encode(event: NeutralEvent): Buffer {
    const { said } = this.#choices.get(event.choice) ?? { said: new AnswerBlocks() };
    const { reason = "stop", native = "" } = event.kind === "finish" ? event : {};
    this.#choices.set(event.choice, { said, reason, native });
    said.add(event);
    return SAID;
  }

  answer(): NeutralAnswer {
    const choices = [...this.#choices].toSorted(([a], [b]) => a - b);
    return {
      choices: choices.map(([index, { said, ...end }]) => ({ index, blocks: said.blocks, ...end })),
      usage: null,
    };
  }
}
