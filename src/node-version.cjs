// Runs before the npm scripts, on whatever Node there is, and first in both programs: says in one sentence what to do where it is
// the wrong one. Node 20 itself refuses to open a .ts file, so there only the scripts can say it.
const [major = 0, minor = 0, patch = 0] = process.versions.node.split(".").map(Number);

if (major !== 22 || minor < 23 || (minor === 23 && patch < 3)) {
  console.error(
    `tollgate: Node 22.23.3 or a later 22 is needed, and this is ${process.versions.node}; npm brings the right one ` +
      "unless told to leave it out: run `npm ci --include=optional --ignore-scripts=false`, or install Node 22.",
  );
  process.exit(1);
}
