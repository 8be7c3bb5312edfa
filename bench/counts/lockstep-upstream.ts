// The upstream of a counted gateway: answers at once, and sends a stream's next chunk when the client has the last one, or all at once.
import { once } from "node:events";
import { createServer, type ServerResponse } from "node:http";
import type { AddressInfo } from "node:net";
import { text } from "node:stream/consumers";

/** A prompt holds `bench:<chunks>:<0 for all at once>`. */
const DIRECTIVE = /bench:(\d+):(\d)/;
const USAGE = { prompt_tokens: 212, completion_tokens: 48, total_tokens: 260 };
const ABOUT = { id: "chatcmpl-Counted", created: 1_790_000_000, model: "gpt-5.4-mini" };

function event(delta: object, finish: string | null): string {
  const choices = [{ index: 0, delta, finish_reason: finish }];
  return `data: ${JSON.stringify({ ...ABOUT, object: "chat.completion.chunk", choices })}\n\n`;
}

const ROLE = event({ role: "assistant", content: "" }, null);
const WORD = event({ content: " gateway" }, null);
const USED = `data: ${JSON.stringify({ ...ABOUT, object: "chat.completion.chunk", choices: [], usage: USAGE })}\n\n`;
const END = `${event({}, "stop")}${USED}data: [DONE]\n\n`;
const MESSAGE = { role: "assistant", content: "It streams, meters and charges." };
const ANSWER = JSON.stringify({
  ...ABOUT,
  object: "chat.completion",
  choices: [{ index: 0, message: MESSAGE, finish_reason: "stop" }],
  usage: USAGE,
});

/** One stream at a time, for the only client. */
export class LockstepUpstream {
  readonly #server = createServer((request, response) => {
    void text(request).then((body) => this.#answer(response, body));
  });
  #stream: ServerResponse | null = null;
  #left = 0;
  /** Events sent so far. */
  #sent = 0;

  async listen(): Promise<number> {
    // Never close the gateway's connection: a new one would be counted.
    this.#server.keepAliveTimeout = 0;
    this.#server.listen(0, "127.0.0.1");
    await once(this.#server, "listening");
    return (this.#server.address() as AddressInfo).port;
  }

  close(): void {
    this.#server.close();
    this.#server.closeAllConnections();
  }

  #answer(response: ServerResponse, body: string): void {
    if (!body.includes('"stream":true')) {
      response.writeHead(200, { "content-type": "application/json", "content-length": ANSWER.length }).end(ANSWER);
      return;
    }
    const [, chunks = "1", pace = "1"] = DIRECTIVE.exec(body) ?? [];
    this.#left = Number(chunks) - 1;
    response.writeHead(200, { "content-type": "text/event-stream" });
    if (pace === "0") {
      // The response's own cork would join the chunks.
      const { socket } = response;
      socket?.cork();
      response.write(ROLE);
      for (; this.#left >= 0; this.#left--) response.write(WORD);
      response.end(END);
      socket?.uncork();
      return;
    }
    this.#stream = response;
    this.#sent = 2;
    response.write(ROLE + WORD);
  }

  /** The client has received `events` of the stream. */
  heard(events: number): void {
    if (events < this.#sent || this.#stream === null) return;
    this.#sent += 1;
    if (this.#left > 0) {
      this.#left -= 1;
      this.#stream.write(WORD);
    } else {
      this.#stream.end(END);
      this.#stream = null;
    }
  }
}
