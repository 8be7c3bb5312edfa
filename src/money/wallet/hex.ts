// Hexadecimal strings with a 0x prefix, as chains write bytes.

export type Hex = `0x${string}`;

/** True for an address of 20 bytes. */
export function isAddress(text: unknown): text is Hex {
  return typeof text === "string" && /^0x[0-9a-fA-F]{40}$/.test(text);
}

export function bytesOf(hex: string): Uint8Array {
  return Buffer.from(hex.slice(2), "hex");
}

export function hexOf(bytes: Uint8Array): Hex {
  return `0x${Buffer.from(bytes.buffer, bytes.byteOffset, bytes.byteLength).toString("hex")}`;
}

/** Encodes a whole number or bytes as a 32-byte word. Throws RangeError where the value does not fit. */
export function word(value: bigint | string): Uint8Array {
  const digits = typeof value === "string" ? value.slice(2) : value.toString(16);
  if (digits.length > 64) throw new RangeError("more than 32 bytes");
  return Buffer.from(digits.padStart(64, "0"), "hex");
}
