// A pool of memory blocks for streamed bodies: without reuse they would pile up faster than the garbage collector frees them.

export const BLOCK_BYTES = 128 * 1024;
/** The pool keeps this many free blocks; further ones are left to the garbage collector. */
const KEPT_MAX = 128;

export interface BlockPool {
  /** A block of `BLOCK_BYTES` with arbitrary content. */
  take(): Uint8Array;
  /** The caller must not read the block afterwards. */
  give(block: Uint8Array): void;
}

export function createBlockPool(): BlockPool {
  const kept: Uint8Array[] = [];
  return {
    take: () => kept.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES),
    give(block) {
      if (kept.length < KEPT_MAX) kept.push(block);
    },
  };
}
