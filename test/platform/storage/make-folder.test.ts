// The data folder, on a file system where the operator has none.
import { existsSync } from "node:fs";
import { expect, it } from "vitest";
import { openStores } from "../../../src/gateway/stores.ts";
import { readConfig } from "../../../src/platform/config.ts";

it.runIf(existsSync("/proc/self"))(
  "a DATA_DIR that cannot be made is refused by its name, and not tried for ever",
  async () => {
    const opening = openStores(readConfig({ DATA_DIR: "/proc/nope/deep" }), { onFatal() {} });
    await expect(opening).rejects.toThrow("DATA_DIR (/proc/nope/deep) cannot be used");
  },
);
