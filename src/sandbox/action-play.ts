// Plays a vendor's words onto a line: whole, or broken as the fault says.
import type { VendorWords } from "./action-body.ts";
import type { ActionScene } from "./action-scene.ts";
import type { Account } from "./books.ts";
import type { Line } from "./line.ts";

const PIECE_BYTES = 64 * 1024;
const PROMISED_BYTES = 64;
const PAGE = "<!doctype html><html><head><title>Welcome</title></head><body><h1>It works</h1></body></html>\n";
const HTML = "text/html; charset=utf-8";

export interface ActionStage {
  readonly line: Line;
  readonly account: Account;
  /** Another name of this server, as `host:port`, and the address that was asked for. */
  readonly elsewhere: string;
  readonly address: string;
}

function textOf({ body, isText }: VendorWords): string {
  return isText ? String(body) : JSON.stringify(body);
}

function headersOf({ headers, isText }: VendorWords): Record<string, string> {
  return { "content-type": isText ? HTML : "application/json", ...headers };
}

/** The text in two halves between which any number of `x` can stand and the whole is still what it was: JSON, or text. */
function aroundPadding({ body, isText }: VendorWords, text: string): readonly [head: string, tail: string] {
  if (isText) return [text, ""];
  if (typeof body !== "object" || body === null) return ['"', '"'];
  const isFilled = Object.keys(body).length > 0;
  const name = Array.isArray(body) ? "" : '"padding":';
  return [`${text.slice(0, -1)}${isFilled ? "," : ""}${name}"`, `"${text.slice(-1)}`];
}

async function playPadded(
  { words }: ActionScene,
  stage: ActionStage,
  bytes: number,
  isEndless: boolean,
): Promise<void> {
  const { line } = stage;
  const [head, tail] = aroundPadding(words, textOf(words));
  const length = Buffer.byteLength(head) + bytes + Buffer.byteLength(tail);
  line.head(200, { ...headersOf(words), ...(isEndless ? {} : { "content-length": String(length) }) });
  await line.write(head);
  const piece = Buffer.alloc(PIECE_BYTES, "x");
  for (let left = bytes; left > 0 && !line.closed; left -= PIECE_BYTES) {
    await line.write(left < PIECE_BYTES ? piece.subarray(0, left) : piece);
  }
  await line.write(tail);
  line.end();
}

/** A body that is not what its frame says. */
async function playBroken(scene: ActionScene, { line, account }: ActionStage): Promise<void> {
  const { words, play } = scene;
  const text = textOf(words);
  const headers = headersOf(words);
  if (play.kind === "short") {
    line.head(words.status, { ...headers, "content-length": String(Buffer.byteLength(text) + PROMISED_BYTES) });
    await line.write(text);
  } else {
    line.head(words.status, headers);
    await line.write(text.slice(0, Math.ceil(text.length / 2)));
  }
  if (play.kind === "half" && play.end === "silence") return;
  account.end("cut");
  line.destroy();
}

/** Plays the scene. Returns when the answer has been written, the connection broken, or the client left waiting. */
export async function playAction(scene: ActionScene, stage: ActionStage): Promise<void> {
  const { words, play, delayMs } = scene;
  const { line, account } = stage;
  await line.sleep(delayMs);
  if (play.kind === "silent" || line.closed) return;
  if (play.kind === "reset") {
    account.end("cut", 0);
    return line.reset();
  }
  const text = textOf(words);
  switch (play.kind) {
    case "half":
    case "short":
      return playBroken(scene, stage);
    case "padded":
      return playPadded(scene, stage, play.bytes, false);
    case "endless":
      return playPadded(scene, stage, play.bytes, true);
    case "page":
      return line.send(200, { "content-type": HTML }, PAGE);
    case "empty":
      return line.send(200, headersOf(words), "");
    case "malformed":
      return line.send(200, headersOf(words), text.slice(0, Math.ceil(text.length / 2)));
    case "redirect": {
      account.end("refused", 302);
      const location = play.to === "itself" ? stage.address : stage.elsewhere;
      return line.send(302, { location }, "");
    }
    default: {
      if (words.status >= 400) account.end("refused", words.status);
      const retryAfter = play.kind === "refuse" ? play.retryAfterS : undefined;
      const headers = retryAfter === undefined ? {} : { "retry-after": String(retryAfter) };
      return line.send(words.status, { ...headersOf(words), ...headers }, text);
    }
  }
}
