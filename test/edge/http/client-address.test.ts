// The caller's address, from the socket and from the proxies in front.
import { describe, expect, test } from "vitest";
import { addressText, clientAddress } from "../../../src/edge/http/client-address.ts";

function bytes(...values: number[]): ArrayBuffer {
  return new Uint8Array(values).buffer;
}

describe("the socket's address", () => {
  test("is written in one way only", () => {
    expect(addressText(bytes(203, 0, 113, 9))).toBe("203.0.113.9");
    expect(addressText(bytes(0x20, 1, 0xd, 0xb8, 0, 0, 0, 7, 0, 0, 0, 0, 0, 0, 0, 1))).toBe("2001:db8:0:7:0:0:0:1");
    expect(addressText(bytes(0, 0, 0, 0, 0, 0, 0, 0, 0, 0, 255, 255, 203, 0, 113, 9))).toBe("203.0.113.9");
    expect(addressText(bytes())).toBe("");
  });
});

describe("X-Forwarded-For", () => {
  test.each([
    ["6.6.6.6, 203.0.113.9", 0, "10.0.0.1"],
    ["6.6.6.6, 203.0.113.9", 1, "203.0.113.9"],
    ["6.6.6.6, 203.0.113.9, 10.0.0.2", 2, "203.0.113.9"],
    ["203.0.113.9", 2, "10.0.0.1"],
    ["", 1, "10.0.0.1"],
    ["6.6.6.6,unknown", 1, "10.0.0.1"],
    ["6.6.6.6,", 1, "10.0.0.1"],
    ["203.0.113.9:51234", 1, "203.0.113.9"],
    ["[2001:DB8::7]:443", 1, "2001:db8:0:0:0:0:0:7"],
    ["2001:db8:0:0::7", 1, "2001:db8:0:0:0:0:0:7"],
    ["::1", 1, "0:0:0:0:0:0:0:1"],
    ["1::", 1, "1:0:0:0:0:0:0:0"],
    ["::ffff:203.0.113.9", 1, "203.0.113.9"],
    ["::ffff:cb00:7109", 1, "203.0.113.9"],
    ["fe80::1%eth0", 1, "10.0.0.1"],
    ["203.0.113.999", 1, "10.0.0.1"],
  ])("%j behind %i proxies is %s", (header, proxies, address) => {
    expect(clientAddress("10.0.0.1", header, proxies)).toBe(address);
  });
});
