// Files in any store that speaks S3's protocol: signed requests, and signed links with which bytes come and go without us.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import type { IncomingMessage } from "node:http";
import { Agent as HttpsAgent, request as httpsRequest } from "node:https";
import { join } from "node:path";
import type { Readable } from "node:stream";
import { pipeline } from "node:stream/promises";
import { AwsV4Signer } from "aws4fetch";
import type { Clock } from "../clock.ts";
import { GatewayError } from "../errors.ts";
import { Agent as HttpAgent, request as httpRequest } from "../node-http.ts";
import { attachment, safeMime } from "./content-headers.ts";
import { openIncoming, writeWhole } from "./disk-store.ts";
import type { FileStore, StoreLinks } from "./file-store.ts";

const SILENCE_MS_MAX = 30_000;
const CONNECTIONS_MAX = 64;
/** The store looks at a link's age when an upload begins, not when it ends. */
const LATE_MS_MAX = 15 * 60_000;

export interface S3Options {
  /** `https://host[:port]`, with a path where the store has one. */
  readonly endpoint: string;
  readonly bucket: string;
  readonly region: string;
  readonly accessKeyId: string;
  readonly secretAccessKey: string;
  /** Where bodies wait until they are whole. */
  readonly folder: string;
  readonly clock: Clock;
  /** What has waited there since before then was left behind; null: all of it. */
  readonly leftBeforeMs?: number | null;
}

interface Asking {
  readonly method: "GET" | "HEAD" | "PUT" | "DELETE";
  readonly headers?: Readonly<Record<string, string>>;
  readonly body?: Readable;
}

function unavailable(what: string): GatewayError {
  const detail = { detail: "The store of files does not answer as it should." };
  return new GatewayError("storage_unavailable", { detail, retryAfterSeconds: 5, cause: new Error(what) });
}

/** Signs what is asked of one bucket. Addresses have the bucket in their path, as every such store understands them. */
function createSigner({ endpoint, bucket, region, accessKeyId, secretAccessKey, clock }: S3Options) {
  const cache = new Map();
  return {
    urlOf: (id: string) => `${endpoint}/${encodeURIComponent(bucket)}/${id}`,
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

function createLinks(signer: ReturnType<typeof createSigner>): StoreLinks {
  async function link(method: string, id: string, query: Record<string, string>, headers: Record<string, string>) {
    const url = `${signer.urlOf(id)}?${new URLSearchParams(query)}`;
    const signed = await signer.sign({ method, url, headers, signQuery: true });
    // Not every store reads a plus as the blank that it stands for.
    return signed.url.href.replaceAll("+", "%20");
  }
  return {
    lateMsMax: LATE_MS_MAX,
    put: (id, sizeBytes, secondsMax) =>
      link("PUT", id, { "X-Amz-Expires": String(secondsMax) }, { "content-length": String(sizeBytes) }),
    get: (id, { filename, mime }, secondsMax) =>
      link(
        "GET",
        id,
        {
          "X-Amz-Expires": String(secondsMax),
          "response-content-disposition": attachment(filename),
          "response-content-type": safeMime(mime),
        },
        {},
      ),
  };
}

/** Makes the requests. Answers of 404 are answers; any other that is not good is our trouble. */
function createAsking(options: S3Options, signer: ReturnType<typeof createSigner>) {
  const secure = options.endpoint.startsWith("https:");
  const pool = { keepAlive: true, maxSockets: CONNECTIONS_MAX };
  const agent = secure ? new HttpsAgent(pool) : new HttpAgent(pool);
  return async (id: string, { method, headers = {}, body }: Asking): Promise<IncomingMessage> => {
    const signed = await signer.sign({ method, url: signer.urlOf(id), headers: { ...headers } });
    const request = (secure ? httpsRequest : httpRequest)(signed.url, {
      method,
      agent,
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
async function readPast(response: IncomingMessage): Promise<void> {
  for await (const _ of response);
}

/** Opens the store. Whether its address, bucket and keys are right shows at the first file. */
export async function openS3Store(options: S3Options): Promise<FileStore> {
  const incoming = await openIncoming(options.folder, options.leftBeforeMs ?? null);
  const signer = createSigner(options);
  const ask = createAsking(options, signer);

  return {
    links: createLinks(signer),

    async write(id, bytes) {
      // The protocol wants the length first, and a body that breaks off is best not begun.
      const waiting = join(incoming, `${id}.${randomUUID()}`);
      const size = await writeWhole(waiting, bytes);
      try {
        const headers = { "content-length": String(size) };
        const response = await ask(id, { method: "PUT", headers, body: createReadStream(waiting) });
        await readPast(response);
        if (response.statusCode === 404) throw unavailable("there is no such bucket");
        return size;
      } finally {
        await rm(waiting, { force: true });
      }
    },

    async sizeOf(id) {
      const response = await ask(id, { method: "HEAD" });
      await readPast(response);
      return response.statusCode === 404 ? null : Number(response.headers["content-length"]);
    },

    async read(id, range) {
      const headers = range === null ? {} : { range: `bytes=${range.from}-${range.to}` };
      const response = await ask(id, { method: "GET", headers });
      return response.statusCode === 404 ? null : response;
    },

    async delete(id) {
      await readPast(await ask(id, { method: "DELETE" }));
    },
  };
}
