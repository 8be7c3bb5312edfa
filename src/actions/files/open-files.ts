// Opens files as configured: the store of their bytes, their endpoints and their actions.
import { join } from "node:path";
import type { LocalAction } from "../../catalog/local-action.ts";
import type { Clock } from "../../core/clock.ts";
import type { EndpointSpec } from "../../core/endpoint.ts";
import type { Books } from "../../money/accounts/books.ts";
import { type Config, doesWork } from "../../platform/config.ts";
import type { Records } from "../../platform/records/records.ts";
import { type BatchFiles, createBatchFiles } from "./batch-files.ts";
import { openDiskStore } from "./disk-store.ts";
import { filesActions } from "./file-actions.ts";
import { fileEndpoints } from "./file-endpoints.ts";
import type { FileStore } from "./file-store.ts";
import { createFiles, type Files, type StampOf } from "./files.ts";
import type { OpenPublic } from "./from-url.ts";
import { openS3Store } from "./s3-store.ts";
import { signingSecrets } from "./signed-links.ts";

const LEFT_MS = 600_000;

export interface OpenFilesOptions {
  readonly config: Config;
  readonly records: Records;
  readonly clock: Clock;
  /** Our public address; read for each link. */
  readonly baseUrl: () => string;
  readonly openPublic: OpenPublic;
  readonly books: Pick<Books, "account" | "key">;
  readonly onBroken: (error: unknown) => void;
}

export interface OpenFiles {
  readonly files: Files;
  readonly batchFiles: BatchFiles;
  readonly actions: readonly LocalAction[];
  readonly endpoints: readonly EndpointSpec[];
}

function openStore(config: Config, clock: Clock): Promise<FileStore> {
  const folder = join(config.dataDir, "files");
  const { filesS3Endpoint, filesS3Bucket, filesS3AccessKeyId, filesS3SecretAccessKey } = config;
  // With other processes, delete only what none of them can still be writing.
  const leftBeforeMs = config.workers > 1 ? clock.epochMs() - LEFT_MS : null;
  if (filesS3Endpoint === null) return openDiskStore(folder, undefined, leftBeforeMs);
  return openS3Store({
    endpoint: filesS3Endpoint,
    bucket: filesS3Bucket ?? "",
    region: config.filesS3Region,
    accessKeyId: filesS3AccessKeyId ?? "",
    secretAccessKey: filesS3SecretAccessKey ?? "",
    folder,
    clock,
    proxies: config.proxies,
    leftBeforeMs,
  });
}

/** A key's stamp is the hint of its secret, as in a session: a new secret ends the links that were made under the old one. */
function stamps({ books, clock }: Pick<OpenFilesOptions, "books" | "clock">): StampOf {
  return async (payer, keyId) => {
    const accountId = payer.slice("acct:".length);
    const [key, account] = await Promise.all([books.key(accountId, keyId), books.account(accountId)]);
    if (key === null || account === null || key.paused || account.frozen) return null;
    return key.expiresAtMs !== null && key.expiresAtMs <= clock.epochMs() ? null : key.hint;
  };
}

/** Rejects where the files' folder cannot be made. */
export async function openFiles(options: OpenFilesOptions): Promise<OpenFiles> {
  const { config, clock, openPublic } = options;
  const secrets = signingSecrets(config.signingSecret, config.dataDir);
  const [secret] = secrets;
  const store = await openStore(config, clock);
  const files = createFiles({ ...options, store, secret, stampOf: stamps(options), sweeps: doesWork(config) });
  return {
    files,
    batchFiles: createBatchFiles({ records: options.records, store, clock }),
    actions: filesActions({ files, openPublic }),
    endpoints: fileEndpoints({ files, secrets, clock }),
  };
}
