// A local S3-compatible store with its own bucket.
import { mkdtempSync, readdirSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import S3rver from "@20minutes/s3rver";
import { removeFolder } from "../../support/remove-folder.ts";

export const BUCKET = "tollgate-files";
/** The only key pair that the server accepts. */
export const KEYS = { accessKeyId: "S3RVER", secretAccessKey: "S3RVER" };

export interface TestS3 {
  readonly endpoint: string;
  /** Names of all objects in the bucket. */
  objects(): string[];
  close(): Promise<void>;
}

export async function startS3(): Promise<TestS3> {
  const directory = mkdtempSync(join(tmpdir(), "tollgate-s3-"));
  const configureBuckets = [{ name: BUCKET, configs: [] }];
  const server = new S3rver({ port: 0, address: "127.0.0.1", silent: true, directory, configureBuckets });
  const { port } = await server.run();
  return {
    endpoint: `http://127.0.0.1:${port}`,
    objects: () =>
      readdirSync(join(directory, BUCKET))
        .filter((name) => name.endsWith("._S3rver_object"))
        .map((name) => name.replace("._S3rver_object", ""))
        .toSorted(),
    async close() {
      await server.close();
      removeFolder(directory);
    },
  };
}
