// Stores files in an S3-compatible store. Signed links let bytes bypass the gateway.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { openIncoming, writeWhole } from "./disk-store.ts";
import { attachment, safeMime } from "./file-endpoints.ts";
import type { FileStore, StoreLinks } from "./file-store.ts";
import { createAsking, createSigner, noBucket, readPast, type S3Address, type S3Signer } from "./s3-bucket.ts";

/** The store checks a link's expiry when an upload begins, not when it ends. */
const LATE_MS_MAX = 15 * 60_000;

export interface S3Options extends S3Address {
  readonly folder: string;
  /** Older bodies were left behind by a dead process; null: all of them. */
  readonly leftBeforeMs?: number | null;
}

function createLinks(signer: S3Signer): StoreLinks {
  async function link(method: string, id: string, query: Record<string, string>, headers: Record<string, string>) {
    const url = `${signer.urlOf(id)}?${new URLSearchParams(query)}`;
    const signed = await signer.sign({ method, url, headers, signQuery: true });
    // Not every store reads a plus as a space.
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

/** Opens the store. A wrong address, bucket or key shows at the first file only. */
export async function openS3Store(options: S3Options): Promise<FileStore> {
  const incoming = await openIncoming(options.folder, options.leftBeforeMs ?? null);
  const signer = createSigner(options);
  const ask = createAsking(options, signer);

  return {
    links: createLinks(signer),

    async write(id, bytes) {
      // S3 needs the length first, so buffer the body: one that breaks off is then never sent.
      const waiting = join(incoming, `${id}.${randomUUID()}`);
      const size = await writeWhole(waiting, bytes);
      try {
        const headers = { "content-length": String(size) };
        const response = await ask(id, { method: "PUT", headers, body: createReadStream(waiting) });
        await readPast(response);
        if (response.statusCode === 404) throw noBucket();
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
