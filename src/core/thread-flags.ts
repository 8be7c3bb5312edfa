// The flags of our worker threads; some of the process's own flags do not apply to threads.

/** Loads sources from the compile cache, as the process does; threads do not inherit that hook. */
const KEPT_SOURCES = new URL("./kept-sources.mjs", import.meta.url).href;

export const THREAD_FLAGS = ["--disable-warning=ExperimentalWarning", `--import=${KEPT_SOURCES}`];
