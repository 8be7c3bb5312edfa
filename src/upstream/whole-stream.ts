// A whole answer told as a stream, and the events of a stream put together: for vendors that answer in the other form than they were asked for.
import type { AnswerBlock, EventEncoder, NeutralAnswer, NeutralChoice, NeutralEvent } from "../core/neutral.ts";
import { AnswerBlocks } from "./answer-blocks.ts";

/** `at` is the block's place among those of its kind. */
function eventsOfBlock(block: AnswerBlock, choice: number, at: number): readonly NeutralEvent[] {
  if (block.kind === "tool-call" || block.kind === "image") return [{ ...block, choice, at }];
  if (block.kind === "native") return [{ ...block, choice }];
  if (block.kind === "action") return [];
  const said: NeutralEvent[] = block.text === "" ? [] : [{ kind: block.kind, choice, text: block.text }];
  if (block.kind !== "reasoning") {
    return [...said, ...block.citations.map((citation) => ({ kind: "citation", choice, ...citation }) as const)];
  }
  const isSigned = block.signature !== null || block.sealed !== null;
  return isSigned ? [...said, { kind: "thought", choice, at, thought: block }] : said;
}

/** Each block is a piece of its own. */
export function eventsOf({ choices }: NeutralAnswer): readonly NeutralEvent[] {
  return choices.flatMap(({ index: choice, blocks, reason, native }) => {
    const placed = Object.values(Object.groupBy(blocks, ({ kind }) => kind)).flatMap((same) => [...same.entries()]);
    const places = new Map(placed.map(([at, block]) => [block, at]));
    const said = blocks.flatMap((block) => eventsOfBlock(block, choice, places.get(block) ?? 0));
    return [{ kind: "begin", choice }, ...said, { kind: "finish", choice, reason, native }] as const;
  });
}

/** Nothing of it goes out; a byte shows that something came. */
const SAID = Buffer.from(" ");

/** Takes the events of a stream as a wire's encoder does, and makes an answer of them. */
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
