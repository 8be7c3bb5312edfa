// One chat call as bytes on the wire, read to its end or left on purpose: what the client saw.

export interface SeenUsage {
  readonly prompt_tokens: number;
  readonly completion_tokens: number;
  readonly prompt_tokens_details: { readonly cached_tokens: number };
  readonly cost: number;
}

export interface SeenError {
  readonly code: string;
  readonly message: string;
  readonly param?: string | null;
  readonly metadata?: Readonly<Record<string, unknown>>;
}

export interface SeenCall {
  /** 0 where no answer came. */
  readonly status: number;
  readonly headers: Headers;
  readonly requestId: string | null;
  /** The body of an answer that was not a stream. */
  readonly body: string;
  /** Received content chunks, and their text. */
  readonly chunks: number;
  readonly text: string;
  readonly usage: SeenUsage | null;
  readonly error: SeenError | null;
  /** The answer ended as a good one does: a whole body, or `[DONE]`. That acknowledges the charge. */
  readonly acknowledged: boolean;
  /** The connection failed, or the client left on purpose. */
  readonly broken: boolean;
}

export interface CallOptions {
  readonly url: string;
  readonly key: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Leaves after this many content chunks; 0 leaves at the answer's head. */
  readonly leaveAfter?: number;
  /** Leaves before an answer. */
  readonly signal?: AbortSignal;
  /** Called once, when the first content has come. */
  readonly onContent?: () => void;
}

interface Seen {
  chunks: number;
  text: string;
  usage: SeenUsage | null;
  error: SeenError | null;
  done: boolean;
}

function readEvent(data: string, seen: Seen): void {
  if (data === "[DONE]") {
    seen.done = true;
    return;
  }
  const chunk = JSON.parse(data) as {
    choices?: { delta?: { content?: string; tool_calls?: unknown[] } }[];
    usage?: SeenUsage;
    error?: SeenError;
  };
  seen.usage = chunk.usage ?? seen.usage;
  seen.error = chunk.error ?? seen.error;
  for (const { delta } of chunk.choices ?? []) {
    if (!delta?.content && !delta?.tool_calls) continue;
    seen.chunks += 1;
    seen.text += delta.content ?? "";
  }
}

/** Reads events until the stream's end; false where the client left before it. */
async function readStream(
  body: ReadableStream<Uint8Array>,
  seen: Seen,
  { leaveAfter = Number.POSITIVE_INFINITY, onContent }: CallOptions,
): Promise<boolean> {
  const decoder = new TextDecoder();
  let rest = "";
  for await (const bytes of body) {
    rest += decoder.decode(bytes, { stream: true });
    const events = rest.split("\n\n");
    rest = events.pop() ?? "";
    const before = seen.chunks;
    for (const event of events) if (event.startsWith("data: ")) readEvent(event.slice(6), seen);
    if (before === 0 && seen.chunks > 0) onContent?.();
    if (seen.chunks >= leaveAfter) return false;
  }
  return true;
}

/** Sends a chat request and reads the answer. Never rejects because of the gateway. */
export async function callChat(request: Readonly<Record<string, unknown>>, options: CallOptions): Promise<SeenCall> {
  const { url, key } = options;
  const seen: Seen = { chunks: 0, text: "", usage: null, error: null, done: false };
  let status = 0;
  let headers = new Headers();
  let body = "";
  let whole = false;
  const leaving = new AbortController();
  const signals = [leaving.signal, ...(options.signal === undefined ? [] : [options.signal])];
  try {
    const response = await fetch(`${url}/api/llm/v1/chat/completions`, {
      method: "POST",
      headers: { authorization: `Bearer ${key}`, "content-type": "application/json", ...options.headers },
      body: JSON.stringify(request),
      signal: AbortSignal.any(signals),
    });
    ({ status, headers } = response);
    if (headers.get("content-type") === "text/event-stream" && response.body !== null) {
      whole = options.leaveAfter !== 0 && (await readStream(response.body, seen, options));
      if (!whole) leaving.abort();
    } else {
      body = await response.text();
      whole = true;
      const json = JSON.parse(body) as { usage?: SeenUsage; error?: SeenError };
      seen.usage = json.usage ?? null;
      seen.error = json.error ?? null;
      seen.done = status === 200;
    }
  } catch {
    // Refused, reset, cut or left: the answer so far shows how far it came.
    whole = false;
  }
  const { chunks, text, usage, error, done } = seen;
  const requestId = headers.get("x-request-id");
  const acknowledged = whole && done && error === null;
  return { status, headers, requestId, body, chunks, text, usage, error, acknowledged, broken: !whole };
}
