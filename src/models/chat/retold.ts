// An answer that was kept in another form than is asked for now, whole or streamed, told again in this one: read back as its caller read it,
// and written as a new one would be.
import type { Frame, KeptForm, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerBlock, AnswerCodec, FinishReason, NeutralEvent } from "../../core/neutral.ts";
import type { Plan } from "../../core/plan.ts";
import { ToldAnswer, type ToldChoice } from "../../upstream/told-answer.ts";
import { withoutForm } from "../formats/fingerprint.ts";
import { idempotencyOf } from "../formats/idempotency-key.ts";
import type { ModelRequest } from "../formats/model-request.ts";

type Ended = ToldChoice & { readonly reason: FinishReason };

function eventsOf(block: AnswerBlock, choice: number, at: number): readonly NeutralEvent[] {
  switch (block.kind) {
    case "text":
    case "refusal": {
      const citations = block.citations.map((one) => ({ kind: "citation", choice, ...one }) as const);
      return [{ kind: block.kind, choice, text: block.text }, ...citations];
    }
    case "reasoning": {
      const thought = { kind: "thought", choice, at, thought: block } as const;
      return block.text === "" ? [thought] : [{ kind: "reasoning", choice, text: block.text }, thought];
    }
    case "action":
      return [
        { kind: "action-begun", choice, action: block },
        { kind: "action-done", choice, action: block },
      ];
    case "native":
      return [{ ...block, choice }];
    default:
      return [{ ...block, choice, at }];
  }
}

/** The finish of the last choice stays apart: the frame writes on behind it. */
function streamOf(choices: readonly Ended[], codec: AnswerCodec) {
  const encoder = codec.encoder();
  const said = choices.flatMap(({ blocks }, choice) => [
    { kind: "begin", choice } as const,
    ...blocks.flatMap((block, at) => eventsOf(block, choice, at)),
  ]);
  const ends = choices.map(({ reason }, choice) => ({ kind: "finish", choice, reason, native: reason }) as const);
  const bytes = (events: readonly NeutralEvent[]) => Buffer.concat(events.map((event) => encoder.encode(event)));
  return { content: bytes(said), tail: bytes(ends) };
}

/** What tells it; null is answered where it cannot be read, or broke off. */
export function retelling(read: ModelRequest, frame: Frame): (kept: KeptForm) => Uint8Array | string | null {
  return ({ text, type, model, createdS, cost, charge, legs }) => {
    const told = ToldAnswer.of(read.asked.wire);
    told?.take(Buffer.from(text), type);
    const choices = told?.choices() ?? [];
    const ended = choices.filter((one): one is Ended => one.reason !== "error");
    if (ended.length === 0 || ended.length < choices.length) return null;
    const [, id = ""] = /"responseId":"([^"]+)"/.exec(text) ?? /"id":"([^"]+)"/.exec(text) ?? [];
    const codec = read.answers({ id, createdS, model });
    if (!read.stream) {
      const whole = ended.map((one, index) => ({ ...one, index, native: one.reason }));
      return frame.last({ kind: "body", body: codec.whole({ choices: whole, usage: null }) }, cost, charge, legs);
    }
    const { content, tail } = streamOf(ended, codec);
    return Buffer.concat([content, Buffer.from(frame.last({ kind: "stream", tail }, cost, charge, legs) as string)]);
  };
}

/** The Idempotency-Key of a call. A stream is not kept, so a key goes with one only where the same was answered whole before. */
export function repeatingOf(
  { request, audience }: PlanCall,
  { sent, stream }: ModelRequest,
): Pick<Plan, "idempotency" | "onlyAgain"> | GatewayError {
  const { path, body } = withoutForm(request.path, sent);
  const idempotency = idempotencyOf({ headers: request.headers, path }, body, audience.payer === null);
  if (idempotency instanceof GatewayError) return idempotency;
  const param = "Idempotency-Key";
  if (!stream || !request.headers.has("idempotency-key")) return { idempotency };
  const detail = { detail: `${param}: not possible with stream, unless the same was answered whole under it before` };
  return { idempotency, onlyAgain: new GatewayError("bad_request", { param, detail }) };
}
