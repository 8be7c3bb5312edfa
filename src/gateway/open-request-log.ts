// The request log: where it lies, and with which secret it is sealed.
import { randomUUID } from "node:crypto";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { openS3Objects } from "../actions/files/s3-bucket.ts";
import { signingSecrets } from "../actions/files/signed-links.ts";
import { systemClock } from "../core/clock.ts";
import { requestTimeMs } from "../edge/http/request-id.ts";
import { type Config, doesWork } from "../platform/config.ts";
import { LogBucket } from "../platform/observe/log-bucket.ts";
import { LogFolder } from "../platform/observe/log-folder.ts";
import type { LogStore } from "../platform/observe/log-lines.ts";
import { createRedactor } from "../platform/observe/redactor.ts";
import { createRequestLog, type RequestLog } from "../platform/observe/request-log.ts";
import { diskBounds, diskRoom } from "../platform/storage/disk-guard.ts";
import { openText, sealText } from "../platform/storage/sealed-text.ts";
import type { Foundation } from "./open-foundation.ts";

const PURPOSE = "request log";

function openFolder(config: Config): LogStore {
  const { dataDir, requestLogDays: days, requestLogBytesMax: bytesMax } = config;
  const folder = config.requestLogDir ?? join(dataDir, "request-log");
  const hasRoom = async (bytes: number) => {
    const { freeBytes, freeBytesMin } = await diskRoom(folder, diskBounds(config.diskFreeMibMin));
    const [ours, books] = await Promise.all([stat(folder), stat(dataDir)]);
    // On the disk of the books it never takes what these need to go on; a disk of its own may be full.
    return freeBytes - bytes > (ours.dev === books.dev ? 2 * freeBytesMin : 0);
  };
  return new LogFolder({ folder, owner: randomUUID(), days, bytesMax, hasRoom });
}

function openBucket(config: Config, endpoint: string, onBroken: (error: unknown) => void): LogStore {
  const objects = openS3Objects({
    endpoint,
    bucket: config.requestLogS3Bucket ?? "",
    region: config.requestLogS3Region,
    accessKeyId: config.requestLogS3AccessKeyId ?? "",
    secretAccessKey: config.requestLogS3SecretAccessKey ?? "",
    clock: systemClock,
    proxies: config.proxies,
  });
  const days = config.requestLogDays;
  const bucket = new LogBucket({ objects, owner: randomUUID(), days, clock: systemClock, onBroken });
  if (doesWork(config)) void bucket.keepSwept();
  return bucket;
}

/** Nothing is opened or written before a call is kept; a bucket is asked for what is old. */
export function openRequestLog({
  config,
  observer,
  broken,
}: Pick<Foundation, "config" | "observer" | "broken">): RequestLog {
  const { dataDir, signingSecret, requestLogS3Endpoint: endpoint } = config;
  let known: readonly string[] | null = null;
  const secrets = () => {
    known ??= signingSecrets(signingSecret, dataDir);
    return known;
  };
  const onBroken = (error: unknown) => broken(error, "the request log was not written");
  return createRequestLog({
    store: endpoint === null ? openFolder(config) : openBucket(config, endpoint, onBroken),
    clock: systemClock,
    beganMs: requestTimeMs,
    redact: createRedactor(config.requestLogRedact),
    seal: (text) => sealText(secrets()[0] ?? "", PURPOSE, text),
    unseal: (sealed) => openText(secrets(), PURPOSE, sealed),
    onOutcome: observer.callLogged,
    onBroken,
  });
}
