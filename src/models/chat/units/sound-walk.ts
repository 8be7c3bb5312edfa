// How a container of sound is walked: a walk asks for bytes and ends with the seconds that the file can last.

/** Asks for so many bytes, and is given as many, or fewer at the end; a negative number leaves that many out. */
export type Walk = Generator<number, number, Uint8Array>;

/** Of a container whose walk has come to something that it does not know: no less than what could be hidden in it. */
export const HIDDEN_BYTES_PER_SECOND = 16;

/** The seconds that the rest of a file could hide. */
export function* hidden(already: number): Walk {
  let bytes = already;
  for (;;) {
    const piece = yield 4_096;
    bytes += piece.length;
    if (piece.length === 0) return bytes / HIDDEN_BYTES_PER_SECOND;
  }
}

/** Gives a walk its bytes, whatever pieces they come in. */
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
