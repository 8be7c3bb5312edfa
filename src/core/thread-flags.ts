// What every thread of ours is started with: not the process's own flags, of which some are not for threads.

/** It takes the sources from what an earlier start has kept of them, as the process does; a thread inherits no such hook. */
const KEPT_SOURCES = new URL("./kept-sources.mjs", import.meta.url).href;

export const THREAD_FLAGS = ["--disable-warning=ExperimentalWarning", `--import=${KEPT_SOURCES}`];
