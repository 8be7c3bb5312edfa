// Runs before the npm scripts, on any Node, and first in both programs: says in one sentence what to do if this Node is too old or unsupported.
// Node 20 refuses to open a .ts file, so there only the scripts can say it.
const { node } = process.versions;
const [major = 0, minor = 0, patch = 0] = node.split(".").map(Number);
const is22 = major === 22 && (minor > 23 || (minor === 23 && patch >= 3));

if (!is22 && major < 24) {
  console.error(
    `tollgate: Node 22.23.3 or a later 22, or Node 24 or later, is needed, and this is ${node}; npm brings the right one ` +
      "unless told to leave it out: run `npm ci --include=optional --ignore-scripts=false`, or install Node 24.",
  );
  process.exit(1);
}
