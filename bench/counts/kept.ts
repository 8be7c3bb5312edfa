// The saved counts in counts.json, and a check that finds a call that got a twentieth more expensive.
import { readFileSync, writeFileSync } from "node:fs";
import {
  type Asked,
  type CountedGateway,
  eachChunk,
  type Figures,
  least,
  MEASURES,
  type Measure,
} from "./counted-gateway.ts";

const FILE = new URL("../counts.json", import.meta.url);
export const KEEP = "npm run bench -- counts --keep";

/** What the figures measure. */
export const UNITS = ["chat call", "action", "joined stream", "streamed call", "chunk"] as const;
export type Unit = (typeof UNITS)[number];
export type Counts = Readonly<Record<Unit, Figures>>;

export interface Kept {
  /** The date of the counts. */
  readonly taken: string;
  /** Node's version: others have other internals. */
  readonly node: string;
  readonly counts: Counts;
}

/** A measure and its tolerance. */
interface About {
  readonly what: string;
  /** Relative to the saved count. */
  readonly share: number;
  /** Absolute. */
  readonly floor: number;
}

// Exact counts that are the same in every round: half a unit means one more in some calls.
const WHOLE = { share: 0, floor: 0.5 };
// On a busy machine two pieces may be read at once.
const MOSTLY_WHOLE = { share: 0, floor: 0.9 };
const SHARE = { share: 0.05, floor: 0 };
export const ABOUT: Readonly<Record<Measure, About>> = {
  bytes: { what: "bytes allocated on the event loop's heap", ...SHARE },
  functions: { what: "calls of functions, ours and packages'", ...SHARE },
  nodeFunctions: { what: "calls of Node's own functions", ...SHARE },
  promises: { what: "promises", ...WHOLE },
  timers: { what: "timers and immediates", ...WHOLE },
  messages: { what: "messages to other threads", ...WHOLE },
  reads: { what: "reads of sockets and files", ...MOSTLY_WHOLE },
  writes: { what: "writes to sockets and files", ...MOSTLY_WHOLE },
  syncs: { what: "syncs of the disk", ...WHOLE },
};

/** Share of a read or write that is timer work. */
const READ_NOISE = 0.1;

export interface Change {
  readonly unit: Unit;
  readonly measure: Measure;
  readonly kept: number;
  readonly found: number;
}

export function readKept(): Kept {
  return JSON.parse(readFileSync(FILE, "utf8")) as Kept;
}

export function keep(counts: Counts): void {
  const rounded = (name: string, value: unknown) => {
    if (typeof value !== "number") return value;
    // On a quiet machine each call reads this often; fewer reads mean that some were merged.
    return name === "reads" || name === "writes" ? Math.ceil(value - READ_NOISE) : Number(value.toFixed(2));
  };
  const kept: Kept = { taken: new Date().toISOString().slice(0, 10), node: process.version, counts };
  writeFileSync(FILE, `${JSON.stringify(kept, rounded, 2)}\n`);
}

/** The tolerance around the saved count. */
function allowed(measure: Measure, kept: number): number {
  const { share, floor } = ABOUT[measure];
  return Math.max(share * kept, floor);
}

function changes(kept: Counts, found: Counts, isChange: (by: number, most: number) => boolean): readonly Change[] {
  return UNITS.flatMap((unit) =>
    MEASURES.map((measure) => ({ unit, measure, kept: kept[unit][measure], found: found[unit][measure] })),
  ).filter((one) => isChange(one.found - one.kept, allowed(one.measure, one.kept)));
}

export function dearer(kept: Counts, found: Counts): readonly Change[] {
  return changes(kept, found, (by, most) => by > most);
}

export function cheaper(kept: Counts, found: Counts): readonly Change[] {
  return changes(kept, found, (by, most) => by < -most);
}

export function told({ unit, measure, kept, found }: Change): string {
  const times = kept > 0 ? ` (${(found / kept).toFixed(3)}x)` : "";
  return `a ${unit}: ${found.toFixed(2)} ${ABOUT[measure].what}, ${kept.toFixed(2)} were kept${times}`;
}

const ROUNDS_AT_ONCE = 4;

/** Counts everything until `isEnough`, at most `times` times: more rounds only lower a figure towards its true value. */
export async function takeCounts(
  gateway: CountedGateway,
  times: number,
  isEnough: (counts: Counts) => boolean = () => false,
): Promise<Counts> {
  const taken = new Map<Asked, Figures>();
  const of = async (asked: Asked) => {
    const before = taken.get(asked);
    const found = await gateway.count(asked, ROUNDS_AT_ONCE);
    const figures = before === undefined ? found : least([before, found]);
    taken.set(asked, figures);
    return figures;
  };
  for (let time = 1; ; time++) {
    const [chat, action, joined] = [await of("chat call"), await of("action"), await of("joined stream")];
    const [short, long] = [await of("short stream"), await of("long stream")];
    const counts = {
      "chat call": chat,
      action,
      "joined stream": joined,
      "streamed call": short,
      chunk: eachChunk(short, long),
    };
    if (time >= times || isEnough(counts)) return counts;
  }
}
