// Runs before the npm scripts, on any Node, and first in both programs: says in one sentence what to do if this Node is too old or unsupported.
// Node 20 refuses to open a .ts file, so there only the scripts can say it.
const { node } = process.versions;
const [major = 0, minor = 0, patch = 0] = node.split(".").map(Number);
/** The least release of each supported major; a later major than these is taken too. Same as `engines` in package.json. */
const LEAST = { 22: [23, 3], 24: [21, 0], 26: [9, 0] };
const [minorMin, patchMin] = LEAST[major] || [major > 26 ? 0 : Number.POSITIVE_INFINITY, 0];

if (minor < minorMin || (minor === minorMin && patch < patchMin)) {
  console.error(
    `tollgate: Node 22.23.3 or a later 22, 24.21 or a later 24, or 26.9 or later is needed, and this is ${node}; npm brings the right one ` +
      "unless told to leave it out: run `npm ci --include=optional --ignore-scripts=false`, or install Node 24.",
  );
  process.exit(1);
}
