// Walks an audio container: a walk requests bytes and returns the most seconds that the file can last.

/** Yields the number of bytes it needs, and receives that many, or fewer at the end; a negative number skips bytes. */
export type Walk = Generator<number, number, Uint8Array>;

/** The lowest rate at which unknown container data could hide audio. */
export const HIDDEN_BYTES_PER_SECOND = 16;

/** Adds the most seconds that the rest of a file could hide. */
export function* hidden(already: number): Walk {
  let bytes = already;
  for (;;) {
    const piece = yield 4_096;
    bytes += piece.length;
    if (piece.length === 0) return bytes / HIDDEN_BYTES_PER_SECOND;
  }
}

/** Runs a walk over a file's pieces, whatever their sizes. */
export async function walked(walk: Walk, pieces: AsyncIterable<Uint8Array>): Promise<number> {
  let wanted = walk.next();
  let rest: Uint8Array = new Uint8Array(0);
  let skip = 0;
  const feed = (atEnd: boolean): void => {
    while (!wanted.done) {
      const count = wanted.value;
      if (count < 0) {
        skip = -count;
        wanted = walk.next(new Uint8Array(0));
      }
      const past = Math.min(skip, rest.length);
      rest = rest.subarray(past);
      skip -= past;
      if (wanted.done === true || wanted.value < 0) continue;
      if (!atEnd && (skip > 0 || rest.length < wanted.value)) return;
      const given = rest.subarray(0, wanted.value);
      rest = rest.subarray(given.length);
      wanted = walk.next(given);
    }
  };
  for await (const piece of pieces) {
    rest = rest.length === 0 ? piece : Buffer.concat([rest, piece]);
    feed(false);
    if (wanted.done === true) return wanted.value;
  }
  feed(true);
  return wanted.done === true ? wanted.value : 0;
}
