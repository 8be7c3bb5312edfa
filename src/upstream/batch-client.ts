// Requests to a vendor's batch API: long bodies are streamed both ways, and all requests of a batch use the same key.
import { hash } from "node:crypto";
import { Readable } from "node:stream";
import type { Adapter } from "../catalog/catalog.ts";
import { wholeWithin } from "../core/chunk-list.ts";
import { isRecord, type Json, parsedJson } from "../core/json.ts";
import { classify } from "./classify.ts";
import { Exchange, type ExchangeRequest } from "./exchange.ts";
import { readError } from "./format-kit/error-body.ts";
import type { ModelCandidateParts } from "./model-candidate.ts";
import { malformed, readableFailure, VendorFailure } from "./vendor-failure.ts";

/** An upload of 200 MB takes a while, and so does the vendor's check of it. */
const HEAD_MS_MAX = 600_000;
const GAP_MS_MAX = 60_000;
const JSON_BYTES_MAX = 4 * 1024 * 1024;

export interface BatchCall {
  readonly method: "GET" | "POST" | "DELETE";
  /** Below the vendor's origin. */
  readonly path: string;
  readonly headers?: Readonly<Record<string, string>>;
  /** Exactly `bytes` long. */
  readonly body?: AsyncIterable<Uint8Array>;
  readonly bytes?: number;
}

type BatchClientParts = Pick<ModelCandidateParts, "dispatcher" | "clock" | "vendorOf" | "loginOf">;

export interface BatchClientOrder {
  /** The key that the batch was created with, as `keyName`; null: any. */
  readonly keyName: string | null;
  readonly requestId: string;
  /** The fault that a sandbox account wants simulated. */
  readonly sandboxFault: string | null;
}

/** Identifies a key without containing it. */
function nameOf(key: string): string {
  return hash("sha256", key).slice(0, 16);
}

export class BatchClient {
  /** Of the key that it uses. */
  readonly keyName: string;
  readonly #adapter: Adapter;
  readonly #key: string;
  readonly #headers: Readonly<Record<string, string>>;
  readonly #parts: BatchClientParts;

  constructor(adapter: Adapter, { keyName, requestId, sandboxFault }: BatchClientOrder, parts: BatchClientParts) {
    const { ring, headers } = parts.vendorOf(adapter);
    this.#adapter = adapter;
    this.#key = adapter.keys.find((key) => nameOf(key) === keyName) ?? ring.take();
    this.keyName = nameOf(this.#key);
    const fault = adapter.isSandbox === true && sandboxFault !== null;
    this.#headers = {
      ...headers,
      "x-request-id": requestId,
      ...(fault ? { "x-tollgate-sandbox-fault": sandboxFault } : {}),
    };
    this.#parts = parts;
  }

  /** The body of a good answer. Throws VendorFailure, here or while it is read. */
  async stream({ method, path, headers = {}, body, bytes = 0 }: BatchCall): Promise<Readable> {
    const { origin, basePath } = this.#parts.vendorOf(this.#adapter);
    const request: ExchangeRequest = {
      method,
      origin,
      path: basePath + path,
      headers: { ...this.#headers, ...headers, ...(body === undefined ? {} : { "content-length": String(bytes) }) },
      body: body === undefined ? null : Readable.from(body, { objectMode: false }),
      ownConnection: true,
    };
    const { status, answer } = await this.#exchange(
      await this.#parts.loginOf(this.#adapter, this.#key).authorize(request),
    );
    if (status < 300) return answer;
    const text = await wholeWithin(answer, JSON_BYTES_MAX);
    throw new VendorFailure(
      readableFailure(classify(status, readError(parsedJson(text?.toString() ?? "")), null), this.#key),
    );
  }

  async json(call: BatchCall): Promise<Json> {
    const bytes = await wholeWithin(await this.stream(call), JSON_BYTES_MAX);
    const json = bytes === null ? null : parsedJson(bytes.toString());
    if (!isRecord(json)) throw new VendorFailure(malformed("the batch API did not answer with an object"));
    return json;
  }

  #exchange(request: ExchangeRequest): Promise<{ readonly status: number; readonly answer: Readable }> {
    const { promise, resolve, reject } = Promise.withResolvers<{ status: number; answer: Readable }>();
    const answer = new Readable({
      read: () => exchange.resume(),
      destroy(error, done) {
        exchange.abort();
        done(error);
      },
    });
    // Its reader gets the failure when it reads.
    answer.on("error", () => {});
    const listener = {
      head(status: number) {
        exchange.answering();
        resolve({ status, answer });
      },
      data(chunk: Buffer) {
        if (!answer.push(chunk)) exchange.pause();
      },
      end: () => void answer.push(null),
      failed: (failure: VendorFailure["failure"]) => {
        const error = new VendorFailure(readableFailure(failure, this.#key));
        reject(error);
        answer.destroy(error);
      },
    };
    const { dispatcher, clock } = this.#parts;
    // Until the answer begins, only the first limit counts.
    const clocks = { firstMsMax: HEAD_MS_MAX, gapMsMax: () => GAP_MS_MAX, quiet: () => false };
    const exchange = new Exchange(listener, clocks, clock);
    exchange.send(dispatcher, request);
    return promise;
  }
}
