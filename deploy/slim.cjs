// After npm ci --omit=dev: removes from node_modules what this machine cannot use. `npm ci` puts all of it back.
const { lstatSync, readdirSync, rmSync } = require("node:fs");
const { join } = require("node:path");

const PACKAGES = join(__dirname, "../node_modules");

/** All files below a folder. */
function filesOf(folder) {
  return readdirSync(folder, { recursive: true, withFileTypes: true })
    .filter((entry) => entry.isFile())
    .map((entry) => join(entry.parentPath, entry.name));
}

/** What a folder takes of the disk: a file of several names counts once. */
function megabytes(folder) {
  const sizes = new Map(
    filesOf(folder)
      .map((file) => lstatSync(file))
      .map(({ ino, size }) => [ino, size]),
  );
  return Math.round([...sizes.values()].reduce((sum, size) => sum + size, 0) / 1_000_000);
}

const own = `uws_${process.platform}_${process.arch}_${process.versions.modules}.node`;
/** From Node 24 on the gateway serves by node:http where uWebSockets.js has no binary. */
const needsBinary = Number(process.versions.node.split(".")[0]) < 24;

/** uWebSockets.js brings a binary for each system and each Node; at most one of them is loaded. */
function otherBinaries() {
  const all = filesOf(join(PACKAGES, "uWebSockets.js")).filter((file) => /uws_\w+\.node$/.test(file));
  if (needsBinary && !all.some((file) => file.endsWith(own)))
    throw new Error(`uWebSockets.js has no ${own}; nothing was removed`);
  return all.filter((file) => !file.endsWith(own));
}

/** Vocabularies for a reader of tiktoken that we do not load, and headers for building native packages. */
function unusedFolders() {
  const node = join(PACKAGES, "node/node_modules", `node-${process.platform}-${process.arch}`);
  return [
    join(PACKAGES, "tiktoken/encoders"),
    join(PACKAGES, "tiktoken/lite"),
    join(node, "include"),
    join(node, "share"),
  ];
}

/** What was left is loaded as the gateway loads it. */
async function check() {
  const { App } = needsBinary ? await import("uWebSockets.js") : { App: () => {} };
  const { get_encoding } = await import("tiktoken");
  if (typeof App !== "function" || get_encoding("o200k_base").encode("Hello").length !== 1)
    throw new Error("wrong answers");
}

async function slim() {
  const before = megabytes(PACKAGES);
  for (const path of [...otherBinaries(), ...unusedFolders()]) rmSync(path, { recursive: true, force: true });
  await check();
  console.log(`node_modules: ${before} MB before, ${megabytes(PACKAGES)} MB now`);
}

slim().catch((error) => {
  console.error(`slim: ${error.message}; npm ci --omit=dev puts back whatever is missing`);
  process.exit(1);
});
