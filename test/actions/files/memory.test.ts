// Many large concurrent uploads pass through a gateway without accumulating in its memory.
import { mkdtempSync, readFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { expect, test } from "vitest";
import { spawnGateway } from "../../support/gateway-process.ts";
import { removeFolder } from "../../support/remove-folder.ts";

const MIB = 1024 * 1024;
const UPLOADS = 24;
const FILE_BYTES = 8 * MIB;
/** What uploads may buffer altogether, plus the growth of a young heap meanwhile. */
const ADDED_BYTES_MAX = 64 * MIB;

/** The peak resident memory of a process, in bytes. */
function peakBytes(pid: number): number {
  const found = /^VmHWM:\s+(\d+) kB$/m.exec(readFileSync(`/proc/${pid}/status`, "utf8"));
  return Number(found?.[1]) * 1024;
}

test(`${UPLOADS} uploads of 8 MiB at once, and as many downloads, add less than a third of them to the gateway's memory`, async () => {
  const dataDir = mkdtempSync(join(tmpdir(), "tollgate-memory-"));
  const gateway = await spawnGateway({ DATA_DIR: dataDir, ADDRESS_REQUESTS_PER_MINUTE: "1000000", LOG_LEVEL: "error" });
  const account = await gateway.admin("POST", "/admin/v1/accounts", { name: "m", kind: "personal", credit_cents: 900 });
  const headers = { authorization: `Bearer ${account.api_key}`, "content-type": "application/json" };

  async function upload(bytes = FILE_BYTES): Promise<string> {
    const body = JSON.stringify({ filename: "large.bin", size_bytes: bytes });
    const made = await fetch(`${gateway.url}/api/run/files/upload`, { method: "POST", headers, body });
    const { data } = (await made.json()) as { data: { put_url: string; get_url: string } };
    const put = await fetch(data.put_url, { method: "PUT", body: Buffer.alloc(bytes, 1) });
    expect(put.status).toBe(200);
    return data.get_url;
  }

  async function download(url: string): Promise<number> {
    let bytes = 0;
    for await (const part of (await fetch(url)).body ?? []) bytes += part.length;
    return bytes;
  }

  // Warm up with small files, so that only the effect of large ones is measured.
  for (let times = 0; times < 100; times++) await download(await upload(1_024));
  await download(await upload());
  const before = peakBytes(gateway.pid);
  const urls = await Promise.all(Array.from({ length: UPLOADS }, () => upload()));
  const sizes = await Promise.all(urls.map(download));
  expect(new Set(sizes)).toEqual(new Set([FILE_BYTES]));
  const added = peakBytes(gateway.pid) - before;
  await gateway.kill();
  removeFolder(dataDir);
  expect(added).toBeLessThan(ADDED_BYTES_MAX);
});
