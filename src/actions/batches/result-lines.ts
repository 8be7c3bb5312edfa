// The lines of a batch's results, in the form of its wire.
import type { GatewayError } from "../../core/errors.ts";
import { idAfter } from "../../core/ids.ts";
import { errorObject } from "../../models/formats/error-object.ts";
import { errorJson } from "../../models/formats/messages/errors.ts";
import type { BatchStart, StopReason } from "./batch-record.ts";
import type { LineAnswer } from "./line-calls.ts";

export interface ResultLine {
  readonly isError: boolean;
  /** JSON without a line break. */
  readonly text: string;
}

type Wire = Pick<BatchStart, "wire">;

export function isGood({ status }: Pick<LineAnswer, "status">): boolean {
  return status >= 200 && status < 300;
}

/** Line breaks in JSON can only be blanks between values. */
function onOneLine(json: string): string {
  return /[\r\n]/.test(json) ? json.replace(/[\r\n]+/g, " ") : json;
}

function messagesLine(customId: string | null, result: string): string {
  return `{"custom_id":${JSON.stringify(customId)},"result":${result}}`;
}

function filesLine(id: string, customId: string | null, response: string, error: string): string {
  const head = `{"id":${JSON.stringify(id)},"custom_id":${JSON.stringify(customId)}`;
  return `${head},"response":${response},"error":${error}}`;
}

/** The result of a line that was called. */
export function answeredLine({ wire }: Wire, customId: string, answer: LineAnswer): ResultLine {
  const { requestId, status } = answer;
  const body = onOneLine(answer.text);
  const isError = !isGood(answer);
  if (wire === "messages") {
    const result = isError ? `{"type":"errored","error":${body}}` : `{"type":"succeeded","message":${body}}`;
    return { isError: false, text: messagesLine(customId, result) };
  }
  const response = `{"status_code":${status},"request_id":${JSON.stringify(requestId)},"body":${body}}`;
  return { isError, text: filesLine(idAfter(requestId, "batch_req_"), customId, response, "null") };
}

interface NotCalled {
  readonly customId: string | null;
  /** Identifies the result. */
  readonly id: string;
  readonly error: GatewayError;
  /** The line of the input; absent where the input has none. */
  readonly line?: number;
}

/** The result of a line that could not be called. */
export function badLine({ wire }: Wire, { customId, id, error, line }: NotCalled): ResultLine {
  if (wire === "messages") {
    const result = `{"type":"errored","error":${JSON.stringify(errorJson(error, id))}}`;
    return { isError: false, text: messagesLine(customId, result) };
  }
  const { code, message } = errorObject(error);
  const told = JSON.stringify({ code, message, ...(line === undefined ? {} : { line }) });
  return { isError: true, text: filesLine(id, customId, "null", told) };
}

/** The codes of lines that a cancelled or expired batch did not call. */
const CODES: Partial<Record<StopReason, string>> = { cancelled: "batch_cancelled", expired: "batch_expired" };

/** The result of a line that was left when the batch stopped. */
export function stoppedLine(
  { wire }: Wire,
  { customId, id, error }: NotCalled & { readonly customId: string },
  reason: StopReason,
): ResultLine {
  const code = CODES[reason] ?? error.code;
  if (wire === "messages") {
    if (reason === "cancelled") return { isError: false, text: messagesLine(customId, '{"type":"canceled"}') };
    if (reason === "expired") return { isError: false, text: messagesLine(customId, '{"type":"expired"}') };
    return badLine({ wire }, { customId, id, error });
  }
  const told = JSON.stringify({ code, message: error.message });
  return { isError: true, text: filesLine(id, customId, "null", told) };
}
