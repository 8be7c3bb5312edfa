// The way between a caller's wire and a vendor's: bytes pass where both are the same by name, else all goes by neutral events.
import type { AnswerBlock, AnswerCodec, CallerRequest, NeutralAnswer } from "../neutral.ts";
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
}

export function passingLane(passing: Passing, body: CallerRequest["body"], context: ChatContext): Lane {
  return {
    request: () => passing.request(body, context),
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
  return {
    request: () => dialect.request(asked.neutral(), context),
    reader: (out) => dialect.reader(context, new EventWriter(out, answers.encoder())),
    answer(json) {
      const read = dialect.answer(json, context);
      if ("kind" in read) return read;
      const { answer, upstreamCostNano } = read;
      return { body: answers.whole(answer), usage: answer.usage, upstreamCostNano, text: textOf(answer) };
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
  const lane = passingLane(passing, asked.body, context);
  if (context.wire.answersInParts !== true) return lane;
  return { ...translatingLane(dialect, side, context), request: lane.request };
}
