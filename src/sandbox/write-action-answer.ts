// Writes an action's answer to a connection: whole, or broken as the fault's script demands.
import type { VendorWords } from "./action-body.ts";
import type { ActionScenario } from "./action-scenario.ts";
import type { LoggedCall } from "./call-log.ts";
import type { Connection } from "./connection.ts";

const PIECE_BYTES = 64 * 1024;
const PROMISED_BYTES = 64;
const PAGE = "<!doctype html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>\n";
const HTML = "text/html; charset=utf-8";

export interface ActionContext {
  readonly connection: Connection;
  readonly loggedCall: LoggedCall;
  /** This server under another name, as `host:port`, and the requested address. */
  readonly elsewhere: string;
  readonly address: string;
}

function textOf({ body, isText }: VendorWords): string {
  return isText ? String(body) : JSON.stringify(body);
}

function headersOf({ headers, isText }: VendorWords): Record<string, string> {
  return { "content-type": isText ? HTML : "application/json", ...headers };
}

/** Splits the text where any number of `x` can be inserted and it remains valid JSON, or plain text. */
function aroundPadding({ body, isText }: VendorWords, text: string): readonly [head: string, tail: string] {
  if (isText) return [text, ""];
  if (typeof body !== "object" || body === null) return ['"', '"'];
  const isFilled = Object.keys(body).length > 0;
  const name = Array.isArray(body) ? "" : '"padding":';
  return [`${text.slice(0, -1)}${isFilled ? "," : ""}${name}"`, `"${text.slice(-1)}`];
}

async function writePadded(
  { words }: ActionScenario,
  context: ActionContext,
  bytes: number,
  isEndless: boolean,
): Promise<void> {
  const { connection } = context;
  const [head, tail] = aroundPadding(words, textOf(words));
  const length = Buffer.byteLength(head) + bytes + Buffer.byteLength(tail);
  connection.head(200, { ...headersOf(words), ...(isEndless ? {} : { "content-length": String(length) }) });
  await connection.write(head);
  const piece = Buffer.alloc(PIECE_BYTES, "x");
  for (let left = bytes; left > 0 && !connection.closed; left -= PIECE_BYTES)
    await connection.write(left < PIECE_BYTES ? piece.subarray(0, left) : piece);
  await connection.write(tail);
  connection.end();
}

async function writeBroken(scenario: ActionScenario, { connection, loggedCall }: ActionContext): Promise<void> {
  const { words, script } = scenario;
  const text = textOf(words);
  const headers = headersOf(words);
  if (script.kind === "short") {
    connection.head(words.status, { ...headers, "content-length": String(Buffer.byteLength(text) + PROMISED_BYTES) });
    await connection.write(text);
  } else {
    connection.head(words.status, headers);
    await connection.write(text.slice(0, Math.ceil(text.length / 2)));
  }
  if (script.kind === "half" && script.end === "silence") return;
  loggedCall.end("cut");
  connection.destroy();
}

/** Writes the answer of a scenario. Returns when it is written, the connection is broken, or the client has left. */
export async function writeActionAnswer(scenario: ActionScenario, context: ActionContext): Promise<void> {
  const { words, script, delayMs } = scenario;
  const { connection, loggedCall } = context;
  await connection.sleep(delayMs);
  if (script.kind === "silent" || connection.closed) return;
  if (script.kind === "reset") {
    loggedCall.end("cut", 0);
    return connection.reset();
  }
  const text = textOf(words);
  switch (script.kind) {
    case "half":
    case "short":
      return writeBroken(scenario, context);
    case "padded":
      return writePadded(scenario, context, script.bytes, false);
    case "endless":
      return writePadded(scenario, context, script.bytes, true);
    case "page":
      return connection.send(200, { "content-type": HTML }, PAGE);
    case "empty":
      return connection.send(200, headersOf(words), "");
    case "malformed":
      return connection.send(200, headersOf(words), text.slice(0, Math.ceil(text.length / 2)));
    case "redirect": {
      loggedCall.end("refused", 302);
      const location = script.to === "itself" ? context.address : context.elsewhere;
      return connection.send(302, { location }, "");
    }
    default: {
      if (words.status >= 400) loggedCall.end("refused", words.status);
      const retryAfter = script.kind === "refuse" ? script.retryAfterS : undefined;
      const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
      return connection.send(words.status, { ...headersOf(words), ...headers }, words.bytes ?? text);
    }
  }
}
