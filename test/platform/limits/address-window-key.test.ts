// The key under which an address's requests are counted.
import { expect, test } from "vitest";
import { addressWindowKey } from "../../../src/platform/limits/request-windows.ts";

test("an IPv4 address counts by itself, IPv6 addresses by the 64 bits that one customer has", () => {
  expect(addressWindowKey("203.0.113.9")).toBe("203.0.113.9");
  expect(addressWindowKey("2001:db8:0:7:0:0:0:1")).toBe("2001:db8:0:7::/64");
  expect(addressWindowKey("2001:db8:0:7:ffff:1:2:3")).toBe(addressWindowKey("2001:db8:0:7:0:0:0:1"));
  expect(addressWindowKey("2001:db8:0:8:0:0:0:1")).not.toBe(addressWindowKey("2001:db8:0:7:0:0:0:1"));
});
