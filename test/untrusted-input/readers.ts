// Finds the files that parse text or bytes, by their code: character by character, by repeated searches, or with a parsing package.
import { readFileSync } from "node:fs";
import { nodesOf } from "./regexes.ts";

interface Called {
  readonly type: string;
  readonly source?: { readonly value?: string };
  readonly importKind?: string;
  readonly callee?: {
    readonly name?: string;
    readonly object?: { readonly name?: string };
    readonly property?: { readonly name?: string };
  };
  readonly arguments?: readonly unknown[];
}

const METHODS: ReadonlySet<string> = new Set(["charCodeAt", "codePointAt", "matchAll"]);
/** With a second argument they search from a position, as a loop does. */
const FROM_A_PLACE: ReadonlySet<string> = new Set(["indexOf", "lastIndexOf"]);
const NUMBERS = /^read(U?Int|BigU?Int|Float|Double)/;
const DECODERS = /^(Text|String)Decoder$/;
const PACKAGES = /^(@fastify\/busboy|htmlparser2|tiktoken|parse5)$/;

function takesApart({ type, source, importKind, callee, arguments: given }: Called): boolean {
  if (type === "ImportDeclaration") return importKind !== "type" && PACKAGES.test(source?.value ?? "");
  if (type === "NewExpression") return DECODERS.test(callee?.name ?? "");
  if (type !== "CallExpression") return false;
  if (callee?.name === "parsedJson") return true;
  const method = callee?.property?.name ?? "";
  if (method === "parse") return callee?.object?.name === "JSON";
  return METHODS.has(method) || NUMBERS.test(method) || (FROM_A_PLACE.has(method) && (given?.length ?? 0) > 1);
}

export function readersIn(files: readonly string[]): string[] {
  return files.filter((file) => [...nodesOf(readFileSync(file, "utf8"))].some((node) => takesApart(node as Called)));
}
