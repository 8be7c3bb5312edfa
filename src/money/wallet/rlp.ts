// Recursive Length Prefix (RLP): Ethereum's serialization of a transaction's fields.

export type Item = Uint8Array | readonly Item[];

export const NOTHING = new Uint8Array(0);
/** Big-endian without leading zeros; zero is empty. */
export const number = (value: bigint): Uint8Array => {
  if (value === 0n) return NOTHING;
  const digits = value.toString(16);
  return Buffer.from(digits.length % 2 === 0 ? digits : `0${digits}`, "hex");
};

function head(short: number, length: number): Uint8Array {
  if (length < 56) return Buffer.of(short + length);
  const size = number(BigInt(length));
  return Buffer.concat([Buffer.of(short + 55 + size.length), size]);
}

export function rlp(item: Item): Uint8Array {
  if (item instanceof Uint8Array) {
    if (item.length === 1 && (item[0] ?? 0) < 0x80) return item;
    return Buffer.concat([head(0x80, item.length), item]);
  }
  const whole = Buffer.concat(item.map(rlp));
  return Buffer.concat([head(0xc0, whole.length), whole]);
}
