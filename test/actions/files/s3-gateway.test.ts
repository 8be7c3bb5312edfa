// A gateway with files in an S3-compatible store: their bytes do not pass through it.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { ConfigError, effectiveSettings, readConfig } from "../../../src/platform/config.ts";
import { forFile } from "../../support/for-file.ts";
import { startTestGateway } from "../../support/gateway.ts";
import { callerOf } from "./calling.ts";
import { BUCKET, KEYS, startS3 } from "./s3.ts";

const settings = (): Record<string, string> => ({
  FILES_S3_ENDPOINT: s3.endpoint,
  FILES_S3_BUCKET: BUCKET,
  FILES_S3_ACCESS_KEY_ID: KEYS.accessKeyId,
  FILES_S3_SECRET_ACCESS_KEY: KEYS.secretAccessKey,
});

const s3 = forFile(await startS3());
const gateway = forFile(await startTestGateway(settings()));

test("links lead into the store, and what is sent there is found by get, list and delete", async () => {
  const caller = callerOf(gateway, await gateway.account({ kind: "personal" }));
  const { file_id, put_url, get_url } = await caller.store({ filename: "a.txt", mime: "text/plain" }, "hello");
  expect([new URL(put_url).origin, new URL(get_url).origin]).toEqual([s3.endpoint, s3.endpoint]);
  expect(s3.objects()).toEqual([file_id]);
  const { json } = await caller.call("get", { file_id });
  expect(json.data).toMatchObject({ status: "stored", size_bytes: 5 });
  const response = await fetch(String(json.data?.get_url));
  expect([await response.text(), response.headers.get("content-disposition")]).toEqual([
    "hello",
    'attachment; filename="a.txt"',
  ]);
  expect((await caller.call("list", {})).json.data?.files).toHaveLength(1);
  expect((await caller.call("delete", { file_id })).json.ok).toBe(true);
  expect(s3.objects()).toEqual([]);
  expect(existsSync(join(gateway.dataDir, "files", file_id.slice(5, 7)))).toBe(false);
});

test("a setting that is missing stops the start by its name, and no key is ever shown", () => {
  for (const missing of ["FILES_S3_BUCKET", "FILES_S3_ACCESS_KEY_ID", "FILES_S3_SECRET_ACCESS_KEY"]) {
    const { [missing]: _, ...rest } = settings();
    expect(() => readConfig(rest)).toThrow(new ConfigError(`${missing}: is needed with FILES_S3_ENDPOINT`));
  }
  const vendor = { ACME_SECRET_KEY: "hidden-1", ACME_PASSWORD: "hidden-2", ACME_API_TOKEN: "hidden-3" };
  const shown = JSON.stringify(effectiveSettings({ ...settings(), FILES_S3_SECRET_ACCESS_KEY: "hidden-0", ...vendor }));
  expect(shown).not.toMatch(/hidden-\d/);
  expect(readConfig({ ...settings(), ...vendor }).vendorEnv).toEqual(vendor);
});
