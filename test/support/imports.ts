// A source file's imports, read from its text: for rules about layers, and for what a test file starts.
import { dirname, join, normalize } from "node:path";

export interface Import {
  /** A path from the root of the tree, or the name of a package. */
  readonly target: string;
  readonly typeOnly: boolean;
}

const STATEMENT = /^(?:import|export)\s+(type\s)?[^"';]*?from\s+"([^"]+)"|^import\s+"([^"]+)"|import\("([^"]+)"\)/gm;

/** Code without its comments. */
export function withoutComments(text: string): string {
  return text.replace(/\/\*[\s\S]*?\*\/|\/\/.*$/gm, "");
}

/** The imports in `code`, the text of `file`, a path from the root. */
export function importsOf(file: string, code: string): readonly Import[] {
  return [...code.matchAll(STATEMENT)].map((match) => {
    const name = match[2] ?? match[3] ?? match[4] ?? "";
    const target = name.startsWith(".") ? normalize(join(dirname(file), name)) : name;
    return { target, typeOnly: match[1] !== undefined };
  });
}
