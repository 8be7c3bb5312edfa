// Cuts a list of messages to a size, such that the rest is valid JSON of the same form: keeps the newest.

/** If the newest message does not fit, its texts are cut to the first of these lengths, in characters, with which it does. */
const TEXT_CHARACTERS = [24 * 1024, 4 * 1024, 512];

export interface Cut {
  readonly kept: readonly object[];
  /** True if anything is missing. */
  readonly isCut: boolean;
}

/** The newest whole messages that fit into `charactersMax` of JSON. Does not produce any further ones. */
export function newestOf(newestFirst: Iterable<object>, charactersMax: number): Cut {
  const kept: object[] = [];
  let room = charactersMax - "[]".length;
  for (const message of newestFirst) {
    room -= JSON.stringify(message).length + ",".length;
    if (room < 0) return { kept: kept.toReversed(), isCut: true };
    kept.push(message);
  }
  return { kept: kept.toReversed(), isCut: false };
}

/** Never splits a surrogate pair. */
function beginning(text: string, characters: number): string {
  return text.length <= characters ? text : text.slice(0, characters).replace(/[\ud800-\udbff]$/, "");
}

function withTexts(message: object, characters: number): object {
  const cut = (_: string, value: unknown) => (typeof value === "string" ? beginning(value, characters) : value);
  return JSON.parse(JSON.stringify(message), cut) as object;
}

/** The same, but cuts texts of the newest message if it does not fit otherwise. */
export function cutTo(messages: readonly object[], charactersMax: number): Cut {
  const whole = newestOf(messages.toReversed(), charactersMax);
  const last = messages.at(-1);
  if (whole.kept.length > 0 || last === undefined) return whole;
  for (const characters of TEXT_CHARACTERS) {
    const { kept } = newestOf([withTexts(last, characters)], charactersMax);
    if (kept.length > 0) return { kept, isCut: true };
  }
  return { kept: [], isCut: true };
}
