// Memory for bodies on their way through, used over and over: left to the garbage collector it would pile up faster than it is collected.

export const BLOCK_BYTES = 128 * 1024;
/** So many are kept for later; more than that are given up when they come back. */
const KEPT_MAX = 128;

export interface BlockPool {
  /** A block of `BLOCK_BYTES`, with whatever was in it before. */
  take(): Uint8Array;
  /** It may not be read afterwards. */
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
