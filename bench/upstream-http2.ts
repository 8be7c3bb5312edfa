// The fake OpenAI over TLS with HTTP/2: the same answers, up to 100 streams a connection, as vendors allow.
import { once } from "node:events";
import { readFileSync } from "node:fs";
import { createSecureServer, type ServerHttp2Stream } from "node:http2";
import type { AddressInfo } from "node:net";
import type { CertificateFiles } from "../test/support/certificates.ts";

const STREAMS_MAX = 100;

/** What the upstream answers with: uWebSockets' response has it, and a stream of HTTP/2 is made to have it. */
export interface Answer {
  cork(work: () => void): unknown;
  writeHeader(name: string, value: string): Answer;
  write(text: string): unknown;
  end(text?: string): unknown;
  onAborted(heard: () => void): unknown;
}

class Http2Answer implements Answer {
  readonly #stream: ServerHttp2Stream;
  readonly #headers: Record<string, string | number> = { ":status": 200 };

  constructor(stream: ServerHttp2Stream) {
    this.#stream = stream;
    stream.on("error", () => {});
  }

  cork(work: () => void): void {
    this.#stream.cork();
    work();
    this.#stream.uncork();
  }

  writeHeader(name: string, value: string): Answer {
    this.#headers[name] = value;
    return this;
  }

  write(text: string): void {
    this.#respond();
    if (!this.#stream.destroyed) this.#stream.write(text);
  }

  end(text?: string): void {
    this.#respond();
    if (!this.#stream.destroyed) this.#stream.end(text);
  }

  onAborted(heard: () => void): void {
    this.#stream.once("close", heard);
  }

  #respond(): void {
    if (!this.#stream.headersSent && !this.#stream.destroyed) this.#stream.respond(this.#headers);
  }
}

/** Answers its port. `serve` answers a body. */
export async function startHttp2(
  { keyFile, certificateFile }: CertificateFiles,
  serve: (answer: Answer, body: string) => void,
): Promise<number> {
  const settings = { maxConcurrentStreams: STREAMS_MAX };
  const server = createSecureServer({ key: readFileSync(keyFile), cert: readFileSync(certificateFile), settings });
  server.on("stream", (stream) => {
    const parts: Buffer[] = [];
    stream.on("data", (part: Buffer) => parts.push(part));
    stream.once("end", () => serve(new Http2Answer(stream), Buffer.concat(parts).toString("latin1")));
  });
  server.on("sessionError", () => {});
  server.listen(0, "127.0.0.1");
  await once(server, "listening");
  return (server.address() as AddressInfo).port;
}
