// Collects the events of an answer into a whole one.
import type { Nano } from "../core/money.ts";
import type { AnswerBlock, EventEncoder, NeutralAnswer, NeutralChoice, NeutralEvent } from "../core/neutral.ts";
import type { AttemptFailure, TokenUsage } from "../core/route.ts";
import { AnswerBlocks } from "./answer-blocks.ts";
import type { ChatContext, Dialect, EventOut } from "./format-kit/dialect.ts";
import { malformed } from "./vendor-failure.ts";

/** Never sent; a nonempty result only shows that something came. */
const SAID = Buffer.from(" ");

/** Collects events into a whole answer: those of a reader, or of a stream, through the interface of a wire's encoder. */
export class GatheredAnswer implements EventEncoder, EventOut {
  readonly #choices = new Map<number, { readonly said: AnswerBlocks } & Pick<NeutralChoice, "reason" | "native">>();
  #usage: TokenUsage | null = null;
  upstreamCostNano: Nano | null = null;
  failure: AttemptFailure | null = null;
  #empty: string | null = null;

  event(event: NeutralEvent): void {
    const { said } = this.#choices.get(event.choice) ?? { said: new AnswerBlocks() };
    const { reason = "stop", native = "" } = event.kind === "finish" ? event : {};
    this.#choices.set(event.choice, { said, reason, native });
    said.add(event);
  }

  encode(event: NeutralEvent): Buffer {
    this.event(event);
    return SAID;
  }

  usage(usage: TokenUsage): void {
    this.#usage = usage;
  }

  upstreamCost(nano: Nano): void {
    this.upstreamCostNano = nano;
  }

  empty(message: string | null): void {
    this.#empty = message;
  }

  fail(failure: AttemptFailure): void {
    this.failure ??= failure;
  }

  end(): void {}

  answer(): NeutralAnswer {
    const choices = [...this.#choices].toSorted(([a], [b]) => a - b);
    return {
      choices: choices.map(([index, { said, ...end }]) => ({ index, blocks: said.blocks, ...end })),
      usage: this.#usage,
    };
  }

  /** Why the answer is empty; null if it is not. One choice may be empty beside others. */
  emptiness({ choices }: NeutralAnswer): string | null {
    const gives = (block: AnswerBlock) => !("text" in block) || block.text !== "";
    return choices.some(({ blocks }) => blocks.some(gives)) ? null : this.#empty;
  }
}

/** Reads a whole answer with the reader of its vendor's streams. */
export function gathered(dialect: Pick<Dialect, "reader">, json: unknown, context: ChatContext): GatheredAnswer {
  const answer = new GatheredAnswer();
  try {
    dialect.reader(context, answer).whole(json);
  } catch (error) {
    // An answer nested deeper than the stack throws, but its usage counts.
    answer.fail(malformed(`the answer cannot be read: ${String(error)}`));
  }
  return answer;
}
