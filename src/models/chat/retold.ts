// Replays a stored answer in another form, whole or streamed: parses it as its caller would, and encodes it anew.
import type { Frame, KeptForm, PlanCall } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { AnswerCodec, FinishReason, NeutralAnswer, NeutralEvent } from "../../core/neutral.ts";
import type { Plan } from "../../core/plan.ts";
import { eventsOf } from "../formats/answer-events.ts";
import { withoutForm } from "../formats/fingerprint.ts";
import { idempotencyOf } from "../formats/idempotency-key.ts";
import type { ModelRequest } from "../formats/model-request.ts";
import { type RecordedChoice, ResponseRecorder } from "./response-recorder.ts";

type Ended = RecordedChoice & { readonly reason: FinishReason };

/** Features without a neutral form. An answer with any of them is replayed only in its original form. */
const LACKING = [
  /"stop_sequence":\s*"/,
  /"(?:annotations|audio|citations|logprobs|logprobsResult|groundingMetadata|citationMetadata)":\s*(?:\{|\[\s*[^\]\s])/,
  /"(?:server_tool_use|web_(?:search|fetch)_tool_result|custom_tool_call|executableCode|pause_turn)"/,
  /"(?:web_search|file_search|code_interpreter|computer|image_generation|local_shell|mcp)_call"/,
];

/** Returns the finish events apart, because the frame extends them. */
function streamOf(choices: NeutralAnswer["choices"], codec: AnswerCodec) {
  const encoder = codec.encoder();
  const events = eventsOf({ choices, usage: null });
  const bytes = (some: readonly NeutralEvent[]) => Buffer.concat(some.map((event) => encoder.encode(event)));
  const content = bytes(events.filter(({ kind }) => kind !== "finish"));
  return { content, tail: bytes(events.filter(({ kind }) => kind === "finish")) };
}

/** Re-encodes a stored answer; null where it is unreadable, broke off, or would lose content. */
export function retell(read: ModelRequest, frame: Frame, kept: KeptForm): Uint8Array | string | null {
  const { text, type, model, createdS, cost, charge, legs } = kept;
  if (LACKING.some((one) => one.test(text))) return null;
  const told = ResponseRecorder.of(read.asked.wire);
  told?.take(Buffer.from(text), type);
  const choices = told?.choices() ?? [];
  const ended = choices.filter((one): one is Ended => one.reason !== "error");
  if (ended.length === 0 || ended.length < choices.length) return null;
  const [, id = ""] = /"responseId":"([^"]+)"/.exec(text) ?? /"id":"([^"]+)"/.exec(text) ?? [];
  const codec = read.answers({ id, createdS, model });
  const whole = ended.map((one, index) => ({ ...one, index }));
  if (!read.stream)
    return frame.last({ kind: "body", body: codec.whole({ choices: whole, usage: null }) }, cost, charge, legs);
  const { content, tail } = streamOf(whole, codec);
  return Buffer.concat([content, Buffer.from(frame.last({ kind: "stream", tail }, cost, charge, legs) as string)]);
}

/** A call's Idempotency-Key. Streams are not stored, so a streamed call may have a key only if the same call was answered whole before. */
export function repeatingOf(
  { request, audience }: PlanCall,
  { sent, stream }: ModelRequest,
): Pick<Plan, "idempotency" | "onlyAgain"> {
  const { path, body } = withoutForm(request.path, sent);
  const idempotency = idempotencyOf({ headers: request.headers, path }, body, audience.payer === null);
  const param = "Idempotency-Key";
  if (!stream || !request.headers.has("idempotency-key")) return { idempotency };
  const detail = `${param}: not possible with stream, unless the same was answered whole under it before`;
  return { idempotency, onlyAgain: new GatewayError("bad_request", { param, detail }) };
}
