// Which addresses are public: the edges of ranges, and every IPv4 address inside the IPv6 addresses that can carry one.
import fc from "fast-check";
import { describe, expect, it } from "vitest";
import { isPublicAddress } from "../../src/upstream/public-addresses.ts";

const PUBLIC = [
  "1.1.1.1",
  "9.255.255.255",
  "11.0.0.0",
  "100.63.255.255",
  "100.128.0.0",
  "126.255.255.255",
  "128.0.0.0",
  "169.253.255.255",
  "169.255.0.0",
  "172.15.255.255",
  "172.32.0.0",
  "192.167.255.255",
  "192.169.0.0",
  "198.17.255.255",
  "198.20.0.0",
  "223.255.255.255",
  "168.63.129.15",
  "2606:4700:4700::1111",
  "2a00:1450:4001:80b::200e",
  "2001:4860:4860::8888",
  "2001:200::1",
];

/** First and last address of each range that is not public. */
const NOT_PUBLIC = [
  ["0.0.0.0", "0.255.255.255"],
  ["10.0.0.0", "10.255.255.255"],
  ["100.64.0.0", "100.127.255.255"],
  ["127.0.0.0", "127.255.255.255"],
  ["169.254.0.0", "169.254.255.255"],
  ["172.16.0.0", "172.31.255.255"],
  ["192.0.0.0", "192.0.0.255"],
  ["192.0.2.0", "192.0.2.255"],
  ["192.88.99.0", "192.88.99.255"],
  ["192.168.0.0", "192.168.255.255"],
  ["198.18.0.0", "198.19.255.255"],
  ["198.51.100.0", "198.51.100.255"],
  ["203.0.113.0", "203.0.113.255"],
  ["224.0.0.0", "255.255.255.255"],
  ["::", "1fff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001::", "2001:1ff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2001:db8::", "2001:db8:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["2002::", "2002:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["3fff::", "3fff:fff:ffff:ffff:ffff:ffff:ffff:ffff"],
  ["4000::", "ffff:ffff:ffff:ffff:ffff:ffff:ffff:ffff"],
];

const octets = fc.tuple(...Array.from({ length: 4 }, () => fc.nat(255)));

describe("an address", () => {
  it.each(PUBLIC)("%s is public", (address) => expect(isPublicAddress(address)).toBe(true));

  it.each(NOT_PUBLIC)("from %s to %s it is not", (first, last) => {
    expect([first, last].map((address) => isPublicAddress(address ?? ""))).toEqual([false, false]);
  });

  it.each([
    "",
    "localhost",
    "1.1.1",
    "16843009",
    "0x1.1.1.1",
    "01.1.1.1",
    "1.1.1.1 ",
    "2606:4700::1%eth0",
    "[2606:4700::1]",
  ])("%j is none", (text) => expect(isPublicAddress(text)).toBe(false));

  it("that carries an IPv4 address inside is never public, whatever it carries", () => {
    const hex = (a: number, b: number) => (a * 256 + b).toString(16);
    fc.assert(
      fc.property(octets, ([a, b, c, d]) => {
        const [high, low] = [hex(a ?? 0, b ?? 0), hex(c ?? 0, d ?? 0)];
        const carriers = [
          `::ffff:${a}.${b}.${c}.${d}`,
          `::${a}.${b}.${c}.${d}`,
          `::ffff:0:${a}.${b}.${c}.${d}`,
          `64:ff9b::${high}:${low}`,
          `64:ff9b:1::${high}:${low}`,
          `2002:${high}:${low}::1`,
          `2001:0:${high}:${low}::1`,
        ];
        expect(carriers.filter(isPublicAddress)).toEqual([]);
      }),
    );
  });

  it("is public or not, and nothing a program can write makes the question throw", () => {
    fc.assert(
      fc.property(fc.oneof(fc.string(), fc.ipV4(), fc.ipV4Extended(), fc.ipV6()), (text) => {
        expect(typeof isPublicAddress(text)).toBe("boolean");
      }),
    );
  });
});
