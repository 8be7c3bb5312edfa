// A description of everything the sandbox can do: the text at its root URL, and the source of the same list in the docs.
import { ACTION_FAULTS } from "./action-faults.ts";
import { BATCH_FAULTS } from "./batches.ts";
import { FAULTS } from "./faults.ts";

export const DIRECTIVES: readonly (readonly [string, string])[] = [
  ["[[say: text]]", "Answers with exactly that text."],
  ["[[words: 500]]", "Answers with this many words; each word is one token and one event."],
  ["[[width: 100]]", "Pads every word to this many characters."],
  ["[[pace: 50]]", "Tokens per second."],
  ["[[cached: 100]]", "Reports this many prompt tokens as read from a cache, at most all of them."],
  ["[[cache-write: 100]]", "Reports this many prompt tokens as written to a cache."],
  ["[[parallel]]", "Calls two tools at once."],
  ["[[call: name {...}]]", "Calls that tool with that input, once."],
  ["[[id: name]]", "Names the conversation, for faults that strike only its first attempt."],
];

function table(rows: readonly (readonly [string, string])[]): string {
  const width = Math.max(...rows.map(([name]) => name.length));
  return rows.map(([name, does]) => `  ${name.padEnd(width)}  ${does}\n`).join("");
}

export function guide(): string {
  return [
    "Tollgate's sandbox: an upstream that answers in vendors' stead.\n\n",
    "Models (any other name is a healthy vendor's, at 400 tokens a second; `-at-50` after a name sets its tokens per second):\n",
    table(FAULTS.map(({ name, does }) => [name, does])),
    "\nIn the last user message:\n",
    table(DIRECTIVES),
    "\nActions, as the header x-tollgate-sandbox-fault (`@1` after a value strikes the first step alone, `@0` the request):\n",
    table(ACTION_FAULTS.map(({ name, does }) => [name, does])),
    "\nBatches, as the same header of the request that creates one:\n",
    table(BATCH_FAULTS.map(({ name, does }) => [name, does])),
    "\nGET /_sandbox/books: what was served. POST /_sandbox/reset: forget it.\n",
  ].join("");
}
