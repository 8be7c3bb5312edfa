// Jobs over Redis, which several processes share.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { anyRedis } from "../../support/redis.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { rivalContract } from "../batches/rival.ts";
import { jobsContract } from "./jobs-contract.ts";

async function open() {
  const redis = await anyRedis();
  const folder = mkdtempSync(join(tmpdir(), "tollgate-jobs-"));
  const stores = await openStores(readConfig({ DATA_DIR: folder, REDIS_URL: redis.url, REDIS_COMMAND_MS: "10000" }), {
    onFatal(error) {
      throw error;
    },
  });
  return {
    ...stores,
    async close() {
      await stores.close();
      await redis.dispose();
      removeFolder(folder);
    },
  };
}

jobsContract("redis", open);
rivalContract("redis", open);
