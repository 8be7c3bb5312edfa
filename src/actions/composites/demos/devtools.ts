// What is said to a browser in the protocol of its developer tools, over whatever line there is to it: a pipe, or a vendor's WebSocket.
import { isRecord } from "../../../core/json.ts";

/** A line of texts, each one message. */
export interface Line {
  send(text: string): void;
  /** Set once, before the first message can come. */
  listen(onText: (text: string) => void, onClosed: () => void): void;
  close(): void;
}

type Fields = Readonly<Record<string, unknown>>;

/** A recording cannot be made, for a reason that its payer is told. */
export class RecordingFault extends Error {}

const ANSWER_MS_MAX = 30_000;

interface Waiting {
  resolve(result: Fields): void;
  reject(fault: RecordingFault): void;
}

/** One browser. Its answers are read as what they should be where they are used. */
export class Devtools {
  readonly #line: Line;
  readonly #waiting = new Map<number, Waiting>();
  readonly #heard = new Map<string, (params: Fields) => void>();
  #lastId = 0;
  readonly #gone = new AbortController();

  constructor(line: Line) {
    this.#line = line;
    line.listen(
      (text) => this.#read(text),
      () => this.#end(),
    );
  }

  /** Aborted once nothing is to be asked of it any more, with a RecordingFault that says why. */
  get gone(): AbortSignal {
    return this.#gone.signal;
  }

  /** Rejects with a RecordingFault. `session`: of the page that is meant; null: the browser itself. */
  async ask(
    method: string,
    params: Fields = {},
    session: string | null = null,
    msMax = ANSWER_MS_MAX,
  ): Promise<Fields> {
    this.gone.throwIfAborted();
    this.#lastId += 1;
    const id = this.#lastId;
    const { promise, resolve, reject } = Promise.withResolvers<Fields>();
    this.#waiting.set(id, { resolve, reject });
    const late = setTimeout(() => reject(new RecordingFault(`${method} was not answered`)), msMax);
    this.#line.send(JSON.stringify({ id, method, params, ...(session === null ? {} : { sessionId: session }) }));
    try {
      return await promise;
    } finally {
      clearTimeout(late);
      this.#waiting.delete(id);
    }
  }

  /** What is done whenever the page tells of this. The one that is set last counts. */
  on(event: string, act: (params: Fields) => void): void {
    this.#heard.set(event, act);
  }

  /** `why`: what all that waits, and all that is asked from now on, rejects with. */
  close(why?: RecordingFault): void {
    this.#line.close();
    this.#end(why);
  }

  #read(text: string): void {
    let told: unknown;
    try {
      told = JSON.parse(text);
    } catch {
      return this.close();
    }
    if (!isRecord(told)) return;
    const { id, method, params, result, error } = told;
    if (typeof id === "number") {
      const waiting = this.#waiting.get(id);
      if (isRecord(error)) waiting?.reject(new RecordingFault(String(error.message).slice(0, 200)));
      else waiting?.resolve(isRecord(result) ? result : {});
    } else if (typeof method === "string") {
      this.#heard.get(method)?.(isRecord(params) ? params : {});
    }
  }

  #end(why = new RecordingFault("the browser has gone")): void {
    this.#gone.abort(why);
    for (const { reject } of this.#waiting.values()) reject(this.gone.reason);
    this.#waiting.clear();
  }
}

const CONNECT_MS_MAX = 30_000;

/** A vendor's browser at its address. Rejects with a RecordingFault. */
export async function lineTo(address: string): Promise<Line> {
  if (!/^wss?:\/\//.test(address)) throw new RecordingFault("the browser has no address");
  const socket = new WebSocket(address);
  const late = setTimeout(() => socket.close(), CONNECT_MS_MAX);
  try {
    await new Promise<void>((resolve, reject) => {
      socket.addEventListener("open", () => resolve(), { once: true });
      socket.addEventListener("error", () => reject(new RecordingFault("the browser could not be reached")), {
        once: true,
      });
      socket.addEventListener("close", () => reject(new RecordingFault("the browser could not be reached")), {
        once: true,
      });
    });
  } finally {
    clearTimeout(late);
  }
  return {
    send: (text) => socket.send(text),
    listen(onText, onClosed) {
      socket.addEventListener("message", ({ data }) => {
        if (typeof data === "string") onText(data);
      });
      socket.addEventListener("close", onClosed, { once: true });
    },
    close: () => socket.close(),
  };
}
