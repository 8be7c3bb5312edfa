// The addresses from which a key may be used: parses addresses and ranges, and checks a call against them.
import { BlockList, isIP } from "node:net";
import { z } from "zod";

const ENTRIES_MAX = 100;
/** The longest spelling of an IPv6 address, with a prefix. */
const CHARACTERS_MAX = 49;
const MESSAGE = "must be an address such as 203.0.113.7, or a range such as 203.0.113.0/24 or 2001:db8::/32";

interface Range {
  readonly address: string;
  readonly family: "ipv4" | "ipv6";
  readonly bits: number;
}

/** Null: neither an address nor a range. */
function rangeOf(text: string): Range | null {
  const [address = "", prefix, more] = text.split("/", 3);
  const version = isIP(address);
  if (version === 0 || more !== undefined || address.includes("%")) return null;
  const bitsMax = version === 4 ? 32 : 128;
  const bits = prefix === undefined ? bitsMax : /^\d{1,3}$/.test(prefix) ? Number(prefix) : Number.NaN;
  if (!(bits <= bitsMax)) return null;
  return { address, family: version === 4 ? "ipv4" : "ipv6", bits };
}

export const addressesSchema = z
  .array(
    z
      .string(MESSAGE)
      .max(CHARACTERS_MAX, MESSAGE)
      .refine((text) => rangeOf(text) !== null, MESSAGE),
    "must be a list or null",
  )
  .min(1, "must have an entry, or be null, which is every address")
  .max(ENTRIES_MAX, `must have at most ${ENTRIES_MAX} entries`)
  .transform((entries): readonly string[] => [...new Set(entries)]);

/** Whether an address lies in one of these ranges. The empty text, which a closed connection also has, lies in none. */
export function inRanges(ranges: readonly string[]): (address: string) => boolean {
  const list = new BlockList();
  for (const text of ranges) {
    const range = rangeOf(text);
    if (range !== null) list.addSubnet(range.address, range.bits, range.family);
  }
  return (address) => {
    const version = isIP(address);
    return version !== 0 && list.check(address, version === 4 ? "ipv4" : "ipv6");
  };
}
