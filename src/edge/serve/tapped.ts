// A call that is listened to: for the request log of an account that has its calls kept, for the content of its span, or for both at once. Its
// body as it came and its answer as it went are copied once.
import type { GatewayRequest } from "../../core/endpoint.ts";
import type { GatewayError } from "../../core/errors.ts";
import { type Caller, idAfter } from "../../core/plan.ts";
import { LOGGED_BYTES_MAX, type RequestLog } from "../../platform/observe/request-log.ts";
import type { SpanContents } from "../../platform/observe/span-content.ts";
import type { Answering } from "./answering.ts";
import { Heard } from "./heard.ts";
import { TeeReply } from "./tee-reply.ts";

/** What listens; absent: it does not. */
export interface Taps {
  readonly log?: RequestLog | undefined;
  readonly contents?: SpanContents | undefined;
}

type Make = (to: Answering) => Promise<GatewayError | null>;

/** `make` makes the answer as always, into the reply that it is given. What is refused before it costs anything is neither kept nor told. */
export async function tapped(
  request: GatewayRequest,
  caller: Caller | null,
  answering: Answering,
  { log, contents, make }: Taps & { readonly make: Make },
): Promise<GatewayError | null> {
  const { record } = answering;
  const keep = caller === null ? null : (log?.begin() ?? null);
  const tell = contents?.begin(record) ?? null;
  if (keep === null && tell === null) return make(answering);
  // The body is let go as soon as it is planned, and its memory is used again.
  const isLong = request.body.length > LOGGED_BYTES_MAX;
  const body = keep === null || isLong ? null : request.body.toString("utf8");
  const heard = tell === null ? undefined : new Heard();
  const tee = new TeeReply(answering.reply, keep === null ? 0 : LOGGED_BYTES_MAX, heard);
  let refused: GatewayError | null = null;
  let isOver = false;
  try {
    refused = await make({ ...answering, reply: tee, heard });
    isOver = true;
    return refused;
  } finally {
    const wasRun = isOver && record.outcome !== null && record.outcome !== "refused";
    if (keep !== null && caller !== null) {
      const { accountId, keyId } = caller.payer;
      const { requestId, asked, status, code } = record;
      const ids = { transactionId: idAfter(request.id, "tx_"), requestId, accountId, keyId };
      const answer = tee.copied?.bytes.toString("utf8") ?? null;
      const said = { asked, status: refused?.status ?? status, code: refused?.code ?? code, body, answer };
      keep(wasRun ? { ...ids, path: request.path, ...said } : null);
    }
    tell?.(wasRun ? (heard?.said ?? null) : null);
  }
}
