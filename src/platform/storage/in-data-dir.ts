// Adds the name of the responsible setting to file errors of the operating system or SQLite.
import { sqliteCode } from "./open-database.ts";

/** Network errors, which have nothing to do with the folder. */
const OF_NETWORK = /^(ECONN|EHOST|ENET|EAI_|ENOTFOUND|ETIMEDOUT|EPIPE|EADDR)/;

function isOfFile(error: Error): boolean {
  const { code, syscall } = error as NodeJS.ErrnoException;
  const fromSystem = typeof code === "string" && syscall !== undefined && !OF_NETWORK.test(code);
  return fromSystem || sqliteCode(error) !== 0;
}

/** Runs `work`; if it fails because of a file in `dataDir`, the error names DATA_DIR. */
export async function inDataDir<T>(dataDir: string, work: () => T | Promise<T>): Promise<T> {
  try {
    return await work();
  } catch (error) {
    if (!(error instanceof Error) || error.message.includes("DATA_DIR") || !isOfFile(error)) throw error;
    throw new Error(`DATA_DIR (${dataDir}) cannot be used: ${error.message}`, { cause: error });
  }
}
