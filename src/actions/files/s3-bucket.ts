// A bucket of an S3-compatible store: signed requests, and whole objects by name.
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
/** Per pool: one for writes, one for all else. */
const CONNECTIONS_MAX = 64;
/** A page of ListObjectsV2: at most 1,000 names of up to 1,024 bytes, each with its metadata. */
const LIST_BYTES_MAX = 4 * 1024 * 1024;
const NAME = /<Key>([^<]*)<\/Key>/g;
/** The prefix of a folder, and that of the request. */
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
  const detail = "The store of files does not answer as it should.";
  return new GatewayError("storage_unavailable", {
    detail,
    retryAfterSeconds: 5,
    cause: new Error(what),
    nothingDone: true,
  });
}

export type S3Signer = ReturnType<typeof createSigner>;

/** Signs requests to one bucket. The bucket goes into the path, which all such stores support. */
export function createSigner({ endpoint, bucket, region, accessKeyId, secretAccessKey, clock }: S3Address) {
  const cache = new Map();
  return {
    /** For the bucket itself, pass "". */
    urlOf: (id: string) => `${endpoint}/${encodeURIComponent(bucket)}${id === "" ? "" : `/${id}`}`,
    sign: (request: { method: string; url: string; headers?: Record<string, string>; signQuery?: boolean }) =>
      new AwsV4Signer({
        ...request,
        accessKeyId,
        secretAccessKey,
        region,
        service: "s3",
        cache,
        // A link must bind the length of the upload, which the signer would leave out.
        allHeaders: request.signQuery === true,
        datetime: new Date(clock.epochMs()).toISOString().replace(/[:-]|\.\d{3}/g, ""),
      }).sign(),
  };
}

/** Makes requests. Returns 404 like a success; throws on any other error status. */
export function createAsking({ endpoint, proxies = NO_PROXIES }: S3Address, signer: S3Signer) {
  const secure = endpoint.startsWith("https:");
  const pool = { keepAlive: true, maxSockets: CONNECTIONS_MAX };
  // Separate pools, so that many reads do not delay a write.
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
      // Its error is either the body's or the request's; both are handled above.
      pipeline(body, request).catch(() => {});
    }
    const response = await answered.promise;
    const status = response.statusCode ?? 0;
    if (status === 404 || (status >= 200 && status < 300)) return response;
    request.destroy();
    throw unavailable(`${method} was answered ${status}`);
  };
}

/** Reads an answer without content to its end, which frees its connection. */
export async function readPast(response: IncomingMessage): Promise<void> {
  for await (const _ of response);
}

export function noBucket(): GatewayError {
  return unavailable("there is no such bucket");
}

/** Lists names that begin with `prefix` and come after `after`. */
export interface S3Listing {
  readonly prefix: string;
  readonly after: string;
  /** Groups names below a folder into the folder, listed once. */
  readonly folders?: true;
}

export interface S3Page {
  readonly names: readonly string[];
  readonly folders: readonly string[];
  /** There are more after the last one. */
  readonly hasMore: boolean;
}

/** Whole objects. Every method rejects with `storage_unavailable` where the store fails. */
export interface S3Objects {
  put(name: string, bytes: Uint8Array): Promise<void>;
  /** Null where there is no such object, or it is longer. */
  get(name: string, bytesMax: number): Promise<Buffer | null>;
  delete(name: string): Promise<void>;
  /** A page in the order of names (ListObjectsV2). */
  list(listing: S3Listing): Promise<S3Page>;
}

/** Names consist of letters, digits and `_ - . /`, so that XML answers need no unescaping. */
export function openS3Objects(address: S3Address): S3Objects {
  const ask = createAsking(address, createSigner(address));

  async function bytesOf(response: IncomingMessage, bytesMax: number): Promise<Buffer | null> {
    const parts: Buffer[] = [];
    let bytes = 0;
    try {
      for await (const part of response as AsyncIterable<Buffer>) {
        bytes += part.length;
        // Leaving the loop closes the connection.
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
