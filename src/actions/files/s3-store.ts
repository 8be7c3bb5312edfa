// Files in any store that speaks S3's protocol, and signed links with which bytes come and go without us.
import { randomUUID } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { attachment, safeMime } from "./content-headers.ts";
import { openIncoming, writeWhole } from "./disk-store.ts";
import type { FileStore, StoreLinks } from "./file-store.ts";
import { createAsking, createSigner, noBucket, readPast, type S3Address, type S3Signer } from "./s3-bucket.ts";

/** The store looks at a link's age when an upload begins, not when it ends. */
const LATE_MS_MAX = 15 * 60_000;

export interface S3Options extends S3Address {
  /** Where bodies wait until they are whole. */
  readonly folder: string;
  /** What has waited there since before then was left behind; null: all of it. */
  readonly leftBeforeMs?: number | null;
}

function createLinks(signer: S3Signer): StoreLinks {
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
