// A native batch keeps its money until its last line is paid, in a single process's file.
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";
import { folderForFile } from "../../support/for-file.ts";
import { rivalContract } from "./rival.ts";

rivalContract("sqlite", () =>
  openStores(readConfig({ DATA_DIR: folderForFile("tollgate-rival-") }), {
    onFatal(error) {
      throw error;
    },
  }),
);
