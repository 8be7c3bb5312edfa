// The way between a caller's wire and a vendor's: bytes pass where both are the same by name, else all goes by neutral events.
import type { AnswerBlock, AnswerCodec, CallerRequest, NeutralAnswer, ThoughtSeal } from "../neutral.ts";
import type {
  ChatContext,
  Dialect,
  Passing,
  StreamReader,
  UnaryAnswer,
  UpstreamBody,
  VendorError,
} from "./dialects/dialect.ts";
import { EventWriter } from "./event-writer.ts";
import type { HeldStream } from "./held-stream.ts";
import { openedRequest, sealedAnswer } from "./sealed-thoughts.ts";

/** All that an attempt asks of a vendor's wire. */
export interface Lane {
  request(): UpstreamBody;
  reader(out: HeldStream): StreamReader;
  answer(json: unknown): UnaryAnswer;
  error(body: unknown): VendorError;
  /** An answer that is neither JSON nor events is passed on as it comes. */
  readonly passesBytes?: boolean;
}

/** The caller's side of a call. */
export interface CallerSide {
  readonly asked: CallerRequest;
  readonly answers: AnswerCodec;
  /** Thoughts go to the caller sealed, and come back so; absent: as the vendor gives them. */
  readonly seal?: ThoughtSeal | undefined;
}

export function passingLane(
  passing: Passing,
  { body, sent }: Pick<CallerRequest, "body" | "sent">,
  context: ChatContext,
): Lane {
  return {
    request: () => passing.request(body, context, sent),
    reader: (out) => passing.reader(context, out),
    answer: (json) => passing.answer(json, context),
    error: (json) => passing.error(json),
  };
}

function blockText(block: AnswerBlock): string {
  if (block.kind === "tool-call") return block.name + block.arguments;
  return "text" in block ? block.text : "";
}

const COUNTED: readonly AnswerBlock["kind"][] = ["reasoning", "text", "refusal", "tool-call"];

/** The text of an answer that a token count needs. */
function textOf({ choices }: NeutralAnswer): string {
  const blocks = choices.flatMap((choice) =>
    COUNTED.flatMap((kind) => choice.blocks.filter((block) => block.kind === kind)),
  );
  return blocks.map(blockText).join("");
}

function translatingLane(dialect: Dialect, { asked, answers }: CallerSide, context: ChatContext): Lane {
  const { seal } = context;
  return {
    request: () =>
      dialect.request(seal === undefined ? asked.neutral() : openedRequest(asked.neutral(), seal), context),
    reader: (out) => dialect.reader(context, new EventWriter(out, answers.encoder(), seal)),
    answer(json) {
      const read = dialect.answer(json, context);
      if ("kind" in read) return read;
      const { answer, upstreamCostNano } = read;
      const told = seal === undefined ? answer : sealedAnswer(answer, seal);
      return { body: answers.whole(told), usage: answer.usage, upstreamCostNano, text: textOf(answer) };
    },
    error: (body) => dialect.error(body),
  };
}

/** The lane of a call, or why the dialect cannot take it. */
export function laneOf(dialect: Dialect, side: CallerSide, context: ChatContext): Lane | string {
  const { asked } = side;
  const { passing } = dialect;
  if (passing === null || dialect.wire !== asked.wire)
    return dialect.unsupported(asked.neutral(), context) ?? translatingLane(dialect, side, context);
  const lane = passingLane(passing, asked, context);
  if (context.wire.answersInParts !== true) return lane;
  return { ...translatingLane(dialect, side, context), request: lane.request };
}
