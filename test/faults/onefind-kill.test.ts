// A gateway killed repeatedly while it looks people up: every job ends, no row is paid twice, and nothing is held.
import { expect, it } from "vitest";
import { deepKillLoop } from "../support/deep-kill-loop.ts";

const ROWS = 40;
const ROW_CENTS = 10;
const emails = (job: number) => Array.from({ length: ROWS }, (_, at) => `p${at}x${job}@gmail.com`);

it("ten kills while three jobs of forty rows run", () =>
  deepKillLoop({
    kills: 10,
    killMsMax: 400,
    jobs: 3,
    rows: ROWS,
    rowCents: ROW_CENTS,
    action: "core/onefind-deep",
    params: (job) => ({ rows: emails(job), budgetCents: ROWS * ROW_CENTS }),
    settings: (vendor) => ({ CONTACTOUT_API_KEY: "key", CONTACTOUT_BASE_URL: vendor }),
    answer({ url }) {
      const email = new URL(url, "http://vendor").searchParams.get("email");
      return { status_code: 200, profile: { fullName: email } };
    },
    expectRows(rows, job) {
      expect(rows.map(({ input, name }) => [input, name])).toEqual(emails(job).map((email) => [email, email]));
    },
  }));
