// Copies body and answer of a call once, for the request log of an account that enables it, for its span's content, or for both.
import { GatewayError } from "../../core/errors.ts";
import { transactionIdOf } from "../../core/ids.ts";
import { LOGGED_BYTES_MAX } from "../../platform/observe/request-log.ts";
import type { Call } from "./call.ts";
import { CallContent } from "./call-content.ts";
import type { ServeDeps } from "./deps.ts";
import { TeeReply } from "./tee-reply.ts";

/** Requests refused before they cost anything are neither logged nor traced. */
export function tap(call: Call, { requestLog, spanContents }: ServeDeps): void {
  const { request, record, caller } = call;
  const log = caller?.logsCalls === true ? (requestLog?.begin() ?? null) : null;
  const show = spanContents?.begin(record) ?? null;
  if (log === null && show === null) return;
  // The body's memory is reused once the call is planned.
  const body = log === null || request.body.length > LOGGED_BYTES_MAX ? null : request.body.toString("utf8");
  const content = show === null ? null : new CallContent();
  const tee = new TeeReply(call.reply, log === null ? 0 : LOGGED_BYTES_MAX, content);
  call.reply = tee;
  call.content = content;
  call.onEnd((error) => {
    const wasPlanned = error === null || error instanceof GatewayError;
    const hasRun = wasPlanned && record.outcome !== null && record.outcome !== "refused";
    show?.(hasRun ? (content?.neutral ?? null) : null);
    if (log === null || caller === null) return;
    if (!hasRun) return log(null);
    const { requestId, asked } = record;
    const { status, code } = error instanceof GatewayError ? error : record;
    const { accountId, keyId } = caller.payer;
    const answer = tee.copied?.bytes.toString("utf8") ?? null;
    const transactionId = transactionIdOf(requestId);
    log({ transactionId, requestId, accountId, keyId, path: request.path, asked, status, code, body, answer });
  });
}
