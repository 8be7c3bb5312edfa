// A call of an account that has its calls kept: its body as it came and its answer as it went are copied for the request log.
import type { GatewayRequest } from "../endpoint.ts";
import type { GatewayError } from "../errors.ts";
import { LOGGED_BYTES_MAX, type RequestLog } from "../observe/request-log.ts";
import type { Caller } from "../plan.ts";
import type { Answering } from "./answering.ts";
import { TeeReply } from "./tee-reply.ts";

/** `make` makes the answer as always, into the reply that it is given. What is refused before it costs anything is not kept. */
export async function logged(
  request: GatewayRequest,
  { payer }: Caller,
  answering: Answering,
  { log, make }: { readonly log: RequestLog; readonly make: (to: Answering) => Promise<GatewayError | null> },
): Promise<GatewayError | null> {
  const done = log.begin();
  if (done === null) return make(answering);
  // The body is let go as soon as it is planned, and its memory is used again.
  const body = request.body.length > LOGGED_BYTES_MAX ? null : request.body.toString("utf8");
  const tee = new TeeReply(answering.reply, LOGGED_BYTES_MAX);
  const { record } = answering;
  let refused: GatewayError | null = null;
  let isOver = false;
  try {
    refused = await make({ ...answering, reply: tee });
    isOver = true;
    return refused;
  } finally {
    const wasRun = isOver && record.outcome !== null && record.outcome !== "refused";
    const { accountId, keyId } = payer;
    const { requestId, asked, status, code } = record;
    const call = { transactionId: request.id.replace(/^req_/, "tx_"), requestId, accountId, keyId, path: request.path };
    const answer = tee.copied?.bytes.toString("utf8") ?? null;
    const said = { asked, status: refused?.status ?? status, code: refused?.code ?? code, body, answer };
    done(wasRun ? { ...call, ...said } : null);
  }
}
