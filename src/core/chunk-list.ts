// Collects byte chunks that are needed as one buffer.

const NOTHING = Buffer.alloc(0);

/** Chunks in order, joined once. There is nearly always just one: it is kept as it is, without a list. */
export class ChunkList<Piece extends Uint8Array = Buffer> {
  /** Total bytes. */
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

/** Reads a body to its end; null where it exceeds `bytesMax`, and the rest is not read. */
export async function wholeWithin(body: AsyncIterable<Uint8Array>, bytesMax: number): Promise<Buffer | null> {
  const pieces = new ChunkList<Uint8Array>();
  for await (const piece of body) {
    pieces.push(piece);
    if (pieces.length > bytesMax) return null;
  }
  return Buffer.from(pieces.take());
}

export async function wholeOf(body: AsyncIterable<Uint8Array>): Promise<Buffer> {
  return (await wholeWithin(body, Number.POSITIVE_INFINITY)) ?? NOTHING;
}
