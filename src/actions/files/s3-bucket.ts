// One bucket of a store that speaks S3's protocol: signed requests, and whole objects by their names.
import type { IncomingMessage } from "node:http";
import { request as httpsRequest } from "node:https";
import { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AwsV4Signer } from "aws4fetch";
import type { Clock } from "../../core/clock.ts";
import { GatewayError } from "../../core/errors.ts";
import { request as httpRequest } from "../../core/node-http.ts";
import { NO_PROXIES, type Proxies } from "../../core/proxies.ts";
import { newAgent } from "../../upstream/tunnel.ts";

const SILENCE_MS_MAX = 30_000;
/** Those that write, and those that do anything else. */
const CONNECTIONS_MAX = 64;
/** As many names as a page has (ListObjectsV2), each of at most 1,024 bytes, with what is told beside each. */
const LIST_BYTES_MAX = 4 * 1024 * 1024;
const NAME = /<Key>([^<]*)<\/Key>/g;
/** Of a folder, and of what was asked for. */
const PREFIX = /<Prefix>([^<]*)<\/Prefix>/g;
const MORE = "<IsTruncated>true<";

export interface S3Address {
  /** `https://host[:port]`, with a path where the store has one. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  readonly clock: Clock;
  /** Default: none. */
  readonly proxies?: Proxies;
}

interface Asking {
  readonly method: "GET" | "HEAD" | "PUT" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly query?: Readonly<Record<string, string>>;
  readonly body?: Readable;
}

export function unavailable(what: string): GatewayError {
  const detail = { detail: "The store of files does not answer as it should." };
  return new GatewayError("storage_unavailable", { detail, retryAfterSeconds: 5, cause: new Error(what) });
}

export type S3Signer = ReturnType<typeof createSigner>;

/** Signs what is asked of one bucket. Addresses have the bucket in their path, as every such store understands them. */
export function createSigner({ endpoint, bucket, region, accessKeyId, secretAccessKey, clock }: S3Address) {
  const cache = new Map();
  return {
    /** Of the bucket itself: "". */
    urlOf: (id: string) => `${endpoint}/${encodeURIComponent(bucket)}${id === "" ? "" : `/${id}`}`,
    sign: (request: { method: string; url: string; headers?: Record<string, string>; signQuery?: boolean }) =>
      new AwsV4Signer({
        ...request,
        accessKeyId,
        secretAccessKey,
        region,
        service: "s3",
        cache,
        // A link must bind the length of what is sent, which the signer would leave out.
        allHeaders: request.signQuery === true,
        datetime: new Date(clock.epochMs()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
      }).sign(),
  };
}

/** Makes the requests. Answers of 404 are answers; any other that is not good is our trouble. */
export function createAsking({ endpoint, proxies = NO_PROXIES }: S3Address, signer: S3Signer) {
  const secure = endpoint.startsWith("https:");
  const pool = { keepAlive: true, maxSockets: CONNECTIONS_MAX };
  // Many who read keep none waiting who writes.
  const [reading, writing] = [newAgent(proxies, secure, pool), newAgent(proxies, secure, pool)];
  return async (id: string, { method, headers = {}, query, body }: Asking): Promise<IncomingMessage> => {
    const url = query === undefined ? signer.urlOf(id) : `${signer.urlOf(id)}?${new URLSearchParams(query)}`;
    const signed = await signer.sign({ method, url, headers: { ...headers } });
    const request = (secure ? httpsRequest : httpRequest)(signed.url, {
      method,
      agent: method === "PUT" ? writing : reading,
      headers: Object.fromEntries(signed.headers),
    });
    const answered = Promise.withResolvers<IncomingMessage>();
    request.once("response", answered.resolve);
    request.once("error", (error) => answered.reject(unavailable(`${method}: ${error.message}`)));
    request.setTimeout(SILENCE_MS_MAX, () => request.destroy(new Error("it was silent for too long")));
    if (body === undefined) request.end();
    else {
      body.once("error", answered.reject);
      // Its error is either that of the body or that of the request, and both are told above.
      pipeline(body, request).catch(() => {});
    }
    const response = await answered.promise;
    const status = response.statusCode ?? 0;
    if (status === 404 || (status >= 200 && status < 300)) return response;
    request.destroy();
    throw unavailable(`${method} was answered ${status}`);
  };
}

/** Reads an answer that has nothing to say to its end, so that its connection is free again. */
export async function readPast(response: IncomingMessage): Promise<void> {
  for await (const _ of response);
}

export function noBucket(): GatewayError {
  return unavailable("there is no such bucket");
}

/** What of a bucket is listed: names that begin with `prefix` and come behind `after`. */
export interface S3Listing {
  readonly prefix: string;
  readonly after: string;
  /** Of names that go on with a folder only the folder is told, once. */
  readonly folders?: true;
}

export interface S3Page {
  readonly names: readonly string[];
  readonly folders: readonly string[];
  /** There are more behind the last of them. */
  readonly hasMore: boolean;
}

/** Whole objects. All of it rejects with `storage_unavailable` where the store does not answer as it should. */
export interface S3Objects {
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Null: there is none of that name, or it is longer. */
  get(name: string, bytesMax: number): Promise<Buffer | null>;
  delete(name: string): Promise<void>;
  /** A page in the order of the names (ListObjectsV2). */
  list(listing: S3Listing): Promise<S3Page>;
}

/** Names are made of letters, digits and `_ - . /` alone, so that no answer writes them in another way. */
export function openS3Objects(address: S3Address): S3Objects {
  const ask = createAsking(address, createSigner(address));

  async function bytesOf(response: IncomingMessage, bytesMax: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const part of response as AsyncIterable<Buffer>) {
        bytes += part.length;
        // Leaving the loop ends the connection.
        if (bytes > bytesMax) return null;
        parts.push(part);
      }
    } catch (error) {
      throw unavailable(`GET broke off: ${error instanceof Error ? error.message : error}`);
    }
    return Buffer.concat(parts);
  }

  return {
    async put(name, bytes) {
      const headers = { "content-length": String(bytes.length) };
      const response = await ask(name, { method: "PUT", headers, body: Readable.from([bytes]) });
      await readPast(response);
      if (response.statusCode === 404) throw noBucket();
    },

    async get(name, bytesMax) {
      const response = await ask(name, { method: "GET" });
      if (response.statusCode !== 404) return bytesOf(response, bytesMax);
      await readPast(response);
      return null;
    },

    async delete(name) {
      await readPast(await ask(name, { method: "DELETE" }));
    },

    async list({ prefix, after, folders }) {
      const query = { "list-type": "2", prefix, "start-after": after, ...(folders === true ? { delimiter: "/" } : {}) };
      const response = await ask("", { method: "GET", query });
      const bytes = await bytesOf(response, LIST_BYTES_MAX);
      if (response.statusCode === 404) throw noBucket();
      const text = bytes?.toString("utf8") ?? "";
      const all = (found: RegExp) => [...text.matchAll(found)].map(([, name = ""]) => name).toSorted();
      const inside = all(PREFIX).filter((folder) => folder !== prefix);
      return { names: all(NAME), folders: inside, hasMore: text.includes(MORE) };
    },
  };
}
