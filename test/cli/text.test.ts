import { describe, expect, test } from "vitest";
import { pairs, table } from "../../src/cli/text.ts";

const HEADING = ["KEY", "LABEL", "SPENT", "SERVICES", "EXPIRES"];
const ROWS = [
  ["key_1", "primary", "0.50", "all", "never"],
  ["key_2", "bot", "12.00", "files/get, files/list", "2027-01-31T12:00:00Z"],
];

describe("a table", () => {
  test("without a terminal has a line a row", () => {
    expect(table(HEADING, ROWS)).toBe(
      [
        "KEY    LABEL    SPENT  SERVICES               EXPIRES",
        "key_1  primary   0.50  all                    never",
        "key_2  bot      12.00  files/get, files/list  2027-01-31T12:00:00Z",
      ].join("\n"),
    );
  });

  test("tells below its row what has no room beside it, by its title", () => {
    expect(table(HEADING, ROWS, 40)).toBe(
      [
        "KEY    LABEL    SPENT",
        "key_1  primary   0.50",
        "    services all; expires never",
        "key_2  bot      12.00",
        "    services files/get, files/list;",
        "    expires 2027-01-31T12:00:00Z",
      ].join("\n"),
    );
  });

  test("wraps a last column that has room", () => {
    expect(table(["NAME", "MEANING"], [["PORT", "Where the public listener is"]], 28)).toBe(
      ["NAME  MEANING", "PORT  Where the public", "      listener is"].join("\n"),
    );
  });

  test("moves a narrow last column below only where a row needs it", () => {
    expect(
      table(
        ["MODEL", "BY"],
        [
          ["maker/model", "a"],
          ["maker/other", "fireworks, together"],
        ],
        20,
      ),
    ).toBe(["MODEL        BY", "maker/model  a", "maker/other", "    by fireworks,", "    together"].join("\n"));
  });
});

test("pairs wrap their values", () => {
  expect(
    pairs(
      [
        ["help", "lists all of the commands"],
        ["x", "y"],
      ],
      28,
    ),
  ).toBe(["help  lists all of the", "      commands", "x     y"].join("\n"));
});
