// The text format of calls in Redis, generated from the table of fields for the scripts and for TypeScript.
import { HOLD_LINES, type HoldLine, NUMBER_LINES, POSTING_LINES, type PostingLine } from "../model/fields.ts";

type Line = HoldLine | PostingLine;

/** A text's lines by name; null where its first line is not `state`. Lines missing at the end are empty. */
function read<Name extends Line>(state: string, names: readonly Name[], text: string | null) {
  const [first, ...lines] = (text ?? "").split("\n");
  if (first !== state) return null;
  return Object.fromEntries(names.map((name, at) => [name, lines[at] ?? ""])) as Readonly<Record<Name, string>>;
}

export function holdLines(text: string | null) {
  return read("held", HOLD_LINES, text);
}

export function postingLines(text: string | null) {
  return read("posted", POSTING_LINES, text);
}

/** The text of a posting of which only these lines are known. */
export function postingText(lines: Partial<Record<PostingLine, string | number>>): string {
  return ["posted", ...POSTING_LINES.map((name) => lines[name] ?? "")].join("\n");
}

/** A Lua pattern that captures the `wanted` lines, up to the last of them. */
function pattern(state: string, names: readonly Line[], wanted: readonly Line[]): string {
  const last = names.findLastIndex((name) => wanted.includes(name));
  const captures = names.slice(0, last + 1).map((name, at) => {
    const line = at === names.length - 1 ? ".*" : "[^\\n]*";
    return wanted.includes(name) ? `(${line})` : line;
  });
  return `'^${[state, ...captures].join("\\n")}'`;
}

/** Generates a Lua function that writes a table as text, such as `local function hold_text(hold)`. */
function writer(state: string, names: readonly Line[], what: string): string {
  const values = names.map((name) => (NUMBER_LINES.includes(name) ? `line(${what}.${name})` : `${what}.${name} or ''`));
  return `local function ${what}_text(${what})
  return table.concat({ '${state}', ${values.join(", ")} }, '\\n')
end
`;
}

/** The Lua functions that the scripts need. They use `int` and `num`. */
export function linesLua(): string {
  const values = HOLD_LINES.map((name) => `${name} = ${NUMBER_LINES.includes(name) ? `num(${name})` : name}`);
  return `
local function line(n)
  return n and int(n) or ''
end
local HOLD = ${pattern("held", HOLD_LINES, HOLD_LINES)}
${writer("held", HOLD_LINES, "hold")}
local function hold_in(text)
  if not text then return nil end
  local ${HOLD_LINES.join(", ")} = string.match(text, HOLD)
  if not ${HOLD_LINES[0]} then return nil end
  return { ${values.join(", ")} }
end
local CREATED = ${pattern("posted", POSTING_LINES, ["at"])}
local POSTED = ${pattern("posted", POSTING_LINES, ["kind", "amount", "cents", "absorbed"])}
${writer("posted", POSTING_LINES, "posting")}`;
}
