// No test file starts in the last half minute of a UTC day: ceilings, daily sums and prices would change while it runs. The runner loads
// this before every file.
const DAY_MS = 86_400_000;
const FILE_MS = 30_000;

const leftMs = DAY_MS - (Date.now() % DAY_MS);
if (leftMs < FILE_MS) await new Promise((resolve) => setTimeout(resolve, leftMs));
