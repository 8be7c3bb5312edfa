// Bytes that come in pieces and are wanted as one, which is what nearly every part of a stream's way does with its chunks.

const NOTHING = Buffer.alloc(0);

/**
 * Pieces in the order they came; however many there are, they are joined once. Nearly always there is one: it is kept as it is, and no list
 * is made for it.
 */
export class Pieces<Piece extends Uint8Array = Buffer> {
  /** Of all pieces together, in bytes. */
  length = 0;
  #first: Piece | null = null;
  #more: Piece[] | null = null;

  push(piece: Piece): void {
    if (piece.length === 0) return;
    this.length += piece.length;
    if (this.#first === null) this.#first = piece;
    else if (this.#more === null) this.#more = [piece];
    else this.#more.push(piece);
  }

  /** All of them as one, and none is here any more. */
  take(): Piece | Buffer {
    const first = this.#first;
    const more = this.#more;
    const { length } = this;
    this.#first = null;
    this.#more = null;
    this.length = 0;
    if (first === null) return NOTHING;
    return more === null ? first : Buffer.concat([first, ...more], length);
  }
}

/** A body that is read to its end; null: it is longer than `bytesMax`, and not read further. */
export async function wholeWithin(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | null> {
  const pieces = new Pieces<Uint8Array>();
  for await (const piece of body) {
    pieces.push(piece);
    if (pieces.length > bytesMax) return null;
  }
  return Buffer.from(pieces.take());
}

/** A body that is bounded where it comes from. */
export async function wholeOf(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return (await wholeWithin(body, Number.POSITIVE_INFINITY)) ?? NOTHING;
}
