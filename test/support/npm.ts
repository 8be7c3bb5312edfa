// What npm runs for `npm run -s tollgate`, without npm, whose start takes longer than most commands do.
import { readFileSync, writeFileSync } from "node:fs";
import { join } from "node:path";

const ROOT = join(import.meta.dirname, "../..");

/** Writes a program `npm` into a folder of PATH: it starts the command itself, and passes everything else to the next npm. */
export function writeNpm(folder: string): void {
  const { scripts } = JSON.parse(readFileSync(join(ROOT, "package.json"), "utf8")) as { scripts: { tollgate: string } };
  const program = `#!/bin/sh
PATH=\${PATH#*:}
[ "$1 $2 $3 $4" = "run -s tollgate --" ] || exec npm "$@"
shift 4
${scripts.tollgate} "$@"
`;
  writeFileSync(join(folder, "npm"), program, { mode: 0o755 });
}
