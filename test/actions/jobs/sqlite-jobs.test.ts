// Jobs over a single process's file.
import { mkdtempSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { removeFolder } from "../../support/remove-folder.ts";
import { jobsContract } from "./jobs-contract.ts";

jobsContract("sqlite", async () => {
  const folder = mkdtempSync(join(tmpdir(), "tollgate-jobs-"));
  const stores = await openStores(readConfig({ DATA_DIR: folder }), {
    onFatal(error) {
      throw error;
    },
  });
  return {
    ...stores,
    async close() {
      await stores.close();
      removeFolder(folder);
    },
  };
});
