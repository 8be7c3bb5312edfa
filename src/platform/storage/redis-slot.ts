// The cluster slot of a key: https://redis.io/docs/latest/operate/oss_and_stack/reference/cluster-spec/ (key distribution model).

export const SLOTS = 16_384;
const POLYNOMIAL = 0x1021;

/** The part of a key that determines its slot: the content of its first braces, or all of it. */
export function slotTag(key: string): string {
  const open = key.indexOf("{");
  const end = key.indexOf("}", open + 1);
  return open < 0 || end <= open + 1 ? key : key.slice(open + 1, end);
}

/** A key's slot: CRC-16 (XMODEM) of its tag. */
export function slotOf(key: string): number {
  let sum = 0;
  for (const byte of Buffer.from(slotTag(key))) {
    sum ^= byte << 8;
    for (let bit = 0; bit < 8; bit++) sum = (sum & 0x8000 ? (sum << 1) ^ POLYNOMIAL : sum << 1) & 0xffff;
  }
  return sum % SLOTS;
}
