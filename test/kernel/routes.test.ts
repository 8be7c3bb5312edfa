// Routes as values: what repeats, preference orders and candidate races do, and which legs they leave.
import { describe, expect, it } from "vitest";
import { systemClock } from "../../src/core/clock.ts";
import type { FailureKind } from "../../src/core/failures.ts";
import type {
  AnswerSink,
  AttemptFailure,
  Candidate,
  FinalPart,
  Route,
  RouteAttempt,
  Tries,
} from "../../src/core/route.ts";
import { ladder } from "../../src/kernel/routes/ladder.ts";
import { race } from "../../src/kernel/routes/race.ts";
import { retrying } from "../../src/kernel/routes/retrying.ts";

const FINAL: FinalPart = { kind: "body", body: { json: "1" } };

/** All events, in order. */
let heard: string[] = [];

interface Scripted extends Candidate {
  readonly sinks: AnswerSink[];
  fail(kind: FailureKind, more?: Partial<AttemptFailure>): void;
  done(): void;
  content(text: string): void;
}

function scripted(name: string, { accepted = true, longest = 1 } = {}): Scripted {
  const sinks: AnswerSink[] = [];
  const last = () => {
    const sink = sinks.at(-1);
    if (sink === undefined) throw new Error(`${name} was not asked`);
    return sink;
  };
  return {
    sinks,
    provider: name,
    model: `${name}/thing`,
    healthKey: name,
    firstTokenMsMax: 1_000,
    lastFirstTokenMsMax: 1_000,
    readOnMsMax: 0,
    pointlessAfter: (failed, kind) => kind === "caller_context_length" && longest < Number(failed.model.length),
    open(sink) {
      heard.push(`${name} asked`);
      sinks.push(sink);
      return {
        pause: () => void heard.push(`${name} paused`),
        resume: () => void heard.push(`${name} resumed`),
        abort: () => void heard.push(`${name} aborted`),
        reading: () => ({ usage: null, delivered: { text: name, bytes: 1 }, upstreamCostNano: null, skippedEvents: 0 }),
        accepted: () => accepted,
      };
    },
    fail: (kind, more = {}) => last().failed({ kind, status: 500, message: "", retryAfterMs: null, ...more }),
    done: () => last().done(FINAL),
    content: (text) => last().content(Buffer.from(text)),
  };
}

function run(route: Route, more: Partial<Tries> = {}): { tries: Tries; attempt: RouteAttempt } {
  heard = [];
  const tries: Tries = {
    clock: systemClock,
    health: { order: (routes) => routes, trying() {}, good() {}, bad() {}, unknown() {} },
    effect: "read",
    deadlineMs: systemClock.elapsedMs() + 10_000,
    committedMs: null,
    attemptsLeft: 10,
    legs: [],
    failures: [],
    failed: null,
    skippedEvents: 0,
    taken: [],
    empty: null,
    ...more,
  };
  const sink: AnswerSink = {
    content: (bytes) => {
      tries.committedMs ??= systemClock.elapsedMs();
      heard.push(`content ${Buffer.from(bytes)}`);
    },
    done: () => void heard.push("done"),
    failed: ({ kind }) => void heard.push(`failed ${kind}`),
  };
  return { tries, attempt: route.open(sink, tries, true) };
}

/** Each leg, and whether its vendor had accepted the request. */
const legs = ({ taken }: Tries) => taken.map(({ leg, accepted }) => [leg.provider, leg.failure, accepted]);

describe("a ladder", () => {
  it("goes on after a failure that another may mend, and keeps which of the vendors had taken the request", () => {
    const [a, b] = [scripted("a"), scripted("b", { accepted: false })];
    const { tries, attempt } = run(ladder([a, b].map(retrying)));
    a.fail("provider_overloaded");
    b.done();
    expect(heard).toEqual(["a asked", "b asked", "done"]);
    expect(legs(tries)).toEqual([
      ["a", "provider_overloaded", true],
      ["b", null, false],
    ]);
    expect(attempt.served().provider).toBe("b");
  });

  it.each(["policy_content", "gateway_internal"] as const)("ends at once after %s", (kind) => {
    const [a, b] = [scripted("a"), scripted("b")];
    run(ladder([a, b].map(retrying)));
    a.fail(kind);
    expect(heard).toEqual(["a asked", `failed ${kind}`]);
  });

  it("asks one other about what a vendor finds invalid, and no third", () => {
    const rungs = [scripted("a"), scripted("b"), scripted("c")];
    const { tries } = run(ladder(rungs.map(retrying)));
    rungs[0]?.fail("caller_invalid");
    rungs[1]?.fail("caller_invalid");
    expect(heard).toEqual(["a asked", "b asked", "failed caller_invalid"]);
    expect(legs(tries)).toHaveLength(2);
  });

  it("never sends a write twice that may have happened, and goes on where it has not", () => {
    const [a, b] = [scripted("a"), scripted("b")];
    run(ladder([a, b].map(retrying)), { effect: "write" });
    a.fail("provider_overloaded");
    expect(heard).toEqual(["a asked", "failed provider_overloaded"]);
    run(ladder([a, b].map(retrying)), { effect: "write" });
    a.fail("provider_overloaded", { mayHaveRun: false });
    expect(heard).toEqual(["a asked", "b asked"]);
  });

  it("leaves out what a failure has made pointless", () => {
    const [a, small, b] = [scripted("a"), scripted("b", { longest: 0 }), scripted("c", { longest: 100 })];
    run(ladder([a, small, b].map(retrying)));
    a.fail("caller_context_length");
    expect(heard).toEqual(["a asked", "c asked"]);
  });

  it("stops after content, after the last attempt that it may make, and after its last rung", () => {
    const [a, b] = [scripted("a"), scripted("b")];
    run(ladder([a, b].map(retrying)));
    a.content("x");
    a.fail("provider_cut");
    expect(heard).toEqual(["a asked", "content x", "failed provider_cut"]);
    run(ladder([a, b].map(retrying)), { attemptsLeft: 1 });
    a.fail("provider_overloaded");
    expect(heard).toEqual(["a asked", "failed provider_overloaded"]);
    run(ladder([a, b].map(retrying)));
    a.fail("provider_overloaded");
    b.fail("provider_malformed");
    expect(heard).toEqual(["a asked", "b asked", "failed provider_malformed"]);
  });

  it("that is aborted stops what runs, once, and hears nothing more", () => {
    const [a, b] = [scripted("a"), scripted("b")];
    const { tries, attempt } = run(ladder([a, b].map(retrying)));
    a.fail("provider_overloaded");
    attempt.abort("gateway_stopped");
    attempt.abort("gateway_stopped");
    b.done();
    b.fail("provider_cut");
    expect(heard).toEqual(["a asked", "b asked", "b aborted"]);
    expect(legs(tries).at(-1)).toEqual(["b", "gateway_stopped", true]);
  });
});

describe("a repeat", () => {
  it("asks again at once where another key is fit, and waits where the vendor says how long", async () => {
    const a = scripted("a");
    run(retrying(a));
    a.fail("provider_auth_failed", { spareKey: true });
    expect(heard).toEqual(["a asked", "a asked"]);
    a.fail("provider_rate_limited", { retryAfterMs: 1 });
    await expect.poll(() => heard).toEqual(["a asked", "a asked", "a asked"]);
  });

  it("a candidate that fails while it is opened is heard of when it is known", async () => {
    const broken: Candidate = {
      ...scripted("a"),
      open() {
        throw new Error("no request can be made");
      },
    };
    const b = scripted("b");
    const { tries } = run(ladder([broken, b].map(retrying)));
    expect(heard).toEqual([]);
    await expect.poll(() => heard).toEqual(["failed gateway_internal"]);
    expect(tries.failures[0]?.cause).toBeInstanceOf(Error);
  });
});

describe("a race", () => {
  it("is won by the first content: the others are stopped, cost what they may have cost, and say nothing more", () => {
    const [a, b, c] = [scripted("a"), scripted("b"), scripted("c", { accepted: false })];
    const { tries, attempt } = run(race([a, b, c].map(retrying)));
    b.content("x");
    a.content("y");
    a.done();
    c.fail("provider_cut");
    b.content("z");
    b.done();
    expect(heard).toEqual([
      "a asked",
      "b asked",
      "c asked",
      "a aborted",
      "c aborted",
      "content x",
      "content z",
      "done",
    ]);
    expect(attempt.served().provider).toBe("b");
    expect(legs(tries)).toEqual([
      ["a", "gateway_lost_race", true],
      ["c", "gateway_lost_race", false],
      ["b", null, true],
    ]);
  });

  it("is won by the first whole answer, where none speaks before", () => {
    const [a, b] = [scripted("a"), scripted("b")];
    run(race([a, b].map(retrying)));
    a.done();
    b.done();
    expect(heard).toEqual(["a asked", "b asked", "b aborted", "done"]);
  });

  it("goes on without those that fail, and fails with the last", () => {
    const [a, b] = [scripted("a"), scripted("b")];
    run(race([a, b].map(retrying)));
    a.fail("provider_malformed");
    expect(heard).toEqual(["a asked", "b asked"]);
    b.fail("provider_overloaded");
    expect(heard).toEqual(["a asked", "b asked", "failed provider_overloaded"]);
  });

  it("is paused, resumed and aborted as a whole", () => {
    const [a, b] = [scripted("a"), scripted("b")];
    const { attempt } = run(race([a, b].map(retrying)));
    attempt.pause();
    attempt.resume();
    attempt.abort("caller_cancelled");
    expect(heard.slice(2)).toEqual(["a paused", "b paused", "a resumed", "b resumed", "a aborted", "b aborted"]);
  });
});

describe("routes within routes", () => {
  it("a ladder whose second rung is a race", () => {
    const [a, b, c] = [scripted("a"), scripted("b"), scripted("c")];
    const { attempt } = run(ladder([retrying(a), race([b, c].map(retrying))]));
    a.fail("provider_overloaded");
    c.done();
    expect(heard).toEqual(["a asked", "b asked", "c asked", "b aborted", "done"]);
    expect(attempt.served().provider).toBe("c");
  });

  it("a race of two ladders: one goes on to its second rung while the other runs", () => {
    const [a, b, c] = [scripted("a"), scripted("b"), scripted("c")];
    const { attempt } = run(race([ladder([a, b].map(retrying)), retrying(c)]));
    a.fail("provider_overloaded");
    b.content("x");
    expect(heard).toEqual(["a asked", "c asked", "b asked", "c aborted", "content x"]);
    expect(attempt.served().provider).toBe("b");
  });

  it("of one are that one", () => {
    const route = retrying(scripted("a"));
    expect([ladder([route]), race([route])]).toEqual([route, route]);
  });
});
