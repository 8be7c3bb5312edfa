// Runs before the npm scripts, on whatever Node there is, and first in both programs: says in one sentence what to do where it is
// the wrong one. Node 20 itself refuses to open a .ts file, so there only the scripts can say it.
const { existsSync } = require("node:fs");
const { join } = require("node:path");

const { node, modules } = process.versions;
const [major = 0, minor = 0, patch = 0] = node.split(".").map(Number);
const is22 = major === 22 && (minor > 23 || (minor === 23 && patch >= 3));

// A later Node runs where the installed uWebSockets.js brings a binary for it: its authors' own package does, in its folder itself.
const server = join(__dirname, "../../node_modules/uWebSockets.js");
const binary = `uws_${process.platform}_${process.arch}_${modules}.node`;
const isServed = major >= 24 && [server, join(server, "dist/bin")].some((folder) => existsSync(join(folder, binary)));

if (!is22 && !isServed) {
  const later =
    major >= 24 ? ` The installed uWebSockets.js has no ${binary}: docs/guides/production.md says which one has.` : "";
  console.error(
    `tollgate: Node 22.23.3 or a later 22 is needed, and this is ${node}; npm brings the right one ` +
      `unless told to leave it out: run \`npm ci --include=optional --ignore-scripts=false\`, or install Node 22.${later}`,
  );
  process.exit(1);
}
