// Cuts a list of messages to a size, so that what is left is JSON of the same form: the newest are kept.

/** Texts of the newest message are cut to the first of these lengths, in characters, with which it has room. */
const TEXT_CHARACTERS = [24 * 1024, 4 * 1024, 512];

/** What of messages has room. */
export interface Cut {
  readonly kept: readonly object[];
  /** Something is missing. */
  readonly isCut: boolean;
}

/** The newest messages that have room in so many characters of JSON, each whole. Those behind them are not even made. */
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

/** A character of two halves keeps both or neither. */
function beginning(text: string, characters: number): string {
  return text.length <= characters ? text : text.slice(0, characters).replace(/[\ud800-\udbff]$/, "");
}

function withTexts(message: object, characters: number): object {
  const cut = (_: string, value: unknown) => (typeof value === "string" ? beginning(value, characters) : value);
  return JSON.parse(JSON.stringify(message), cut) as object;
}

/** The same, where texts of the newest message lose their ends if it has no room otherwise. */
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
