// The sandbox's machines: they keep files and variables, and imitate a few commands and one-line programs. They execute nothing.
import { randomUUID } from "node:crypto";
import type { BoxCommand, BoxOutput } from "../catalog/session.ts";
import { getOrMake, putLast } from "../core/maps.ts";
import type { VendorWords } from "./action-body.ts";
import { ACTION_FAULTS, actionConductOf, USUAL } from "./action-faults.ts";
import { addressOf, hasKey } from "./action-request.ts";
import { type ActionScenario, refused } from "./action-scenario.ts";
import type { Vendors } from "./action-vendors.ts";
import { type Arrival, jsonOf } from "./scenario.ts";
import type { Machine, Machines, StandIn } from "./stand-in.ts";

const MACHINES_MAX = 10_000;
const FILES_MAX = 1_000;
/** All files of a machine together. An account may have several machines at each vendor. */
const FILES_CHARS_MAX = 400_000;
const YES_CHARS = 300_000;
/** The machine's memory: a command that would write or expand more is killed, because the sandbox may run in the gateway's own process. */
const MEMORY_CHARS_MAX = 4_000_000;
const KILLED = 137;
const NOT_FOUND = 127;

interface Ran {
  readonly out?: string;
  readonly err?: string;
  readonly code?: number;
  readonly ms?: number;
  /** Characters written to a file, which count as output does. */
  readonly written?: number;
}

/** Quotes do not change a word; `$NAME` is replaced by a variable's value, except in single quotes. */
function unquoted(word: string, envs: Machine["envs"]): string {
  const [, single] = /^'(.*)'$/s.exec(word) ?? [];
  if (single !== undefined) return single;
  const text = /^"(.*)"$/s.exec(word)?.[1] ?? word;
  let room = MEMORY_CHARS_MAX;
  return text.replace(/\$\{?([A-Za-z_][A-Za-z0-9_]*)\}?/g, (_, name: string) => {
    const value = (Object.hasOwn(envs, name) ? (envs[name] ?? "") : "").slice(0, room);
    room -= value.length;
    return value;
  });
}

/** Splits a line into its command and the file for its output: at the first `>` with a single word after it. */
function redirected(line: string): readonly [command: string, path: string | undefined] {
  const wordAt = Math.max(0, line.search(/(?<!\S)\S+$/));
  const head = line.slice(0, wordAt).trimEnd();
  if (head.endsWith(">")) return [head.slice(0, -1), line.slice(wordAt)];
  const at = line.indexOf(">", wordAt);
  return at < 0 || at === line.length - 1 ? [line, undefined] : [line.slice(0, at), line.slice(at + 1)];
}

function shellLine(line: string, { envs, files }: Machine): Ran {
  const [before, path] = redirected(line.trim());
  const [name = "", ...rest] = before.trim().split(/\s+/);
  const words = before.trim().slice(name.length).trim();
  const ran = ((): Ran => {
    switch (name) {
      case "echo":
        return { out: `${unquoted(words, envs)}\n` };
      case "printf":
        return { out: unquoted(words, envs) };
      case "cat": {
        const text = files.get(rest[0] ?? "");
        return text === undefined ? { err: `cat: ${rest[0]}: No such file or directory\n`, code: 1 } : { out: text };
      }
      case "exit":
        return { code: Number(rest[0] ?? 0) % 256 };
      case "sleep":
        return { ms: Number(rest[0]) * 1_000 };
      case "yes":
        return { out: "y\n".repeat(YES_CHARS / 2) };
      case "true":
      case "":
        return {};
      case "false":
        return { code: 1 };
      default:
        return { err: `bash: ${name}: command not found\n`, code: NOT_FOUND };
    }
  })();
  if (path === undefined || ran.out === undefined) return ran;
  const { out } = ran;
  const others = [...files].reduce((sum, [other, { length }]) => (other === path ? sum : sum + length), 0);
  if (others + out.length > FILES_CHARS_MAX) return { err: `bash: ${path}: No space left on device\n`, code: 1 };
  if (files.size < FILES_MAX || files.has(path)) files.set(path, out);
  return { ...ran, out: "", written: out.length };
}

const PRINTED = /^(?:print|console\.log)\((.*)\);?$/s;
const SUM = /^(-?\d{1,9})\s*([-+*])\s*(-?\d{1,9})$/;

function programLine(line: string, { envs }: Machine): Ran {
  const [, printed] = PRINTED.exec(line.trim()) ?? [];
  if (line.trim() === "") return {};
  if (printed === undefined) return { err: `SyntaxError: the sandbox runs no ${line.trim().slice(0, 40)}\n`, code: 1 };
  const [, a, sign, b] = SUM.exec(printed.trim()) ?? [];
  if (sign === undefined) return { out: `${unquoted(printed.trim(), envs)}\n` };
  const [x, y] = [Number(a), Number(b)];
  return { out: `${sign === "+" ? x + y : sign === "-" ? x - y : x * y}\n` };
}

function run(machine: Machine, { language, text, timeoutMs }: BoxCommand): BoxOutput {
  const isShell = language === null || language === "bash";
  const lines = isShell ? text.split(/\n|;|&&/) : text.split("\n");
  let [stdout, stderr, ms, written] = ["", "", 0, 0];
  for (const line of lines) {
    const ran = isShell ? shellLine(line, machine) : programLine(line, machine);
    stdout += ran.out ?? "";
    stderr += ran.err ?? "";
    ms += ran.ms ?? 0;
    written += ran.written ?? 0;
    if (stdout.length + stderr.length + written > MEMORY_CHARS_MAX)
      return { stdout: stdout.slice(0, MEMORY_CHARS_MAX), stderr: "Killed\n", exit_code: KILLED };
    if (ms > timeoutMs) return { stdout, stderr, exit_code: 124, timed_out: true };
    if (ran.code !== undefined && (ran.code !== 0 || line.trim().startsWith("exit")))
      return { stdout, stderr, exit_code: ran.code };
  }
  return { stdout, stderr, exit_code: 0 };
}

export interface MachineRoom {
  of(adapter: string): Machines;
  reset(): void;
}

export function createMachineRoom(): MachineRoom {
  const rooms = new Map<string, Map<string, Machine>>();
  return {
    of(adapter) {
      const known = getOrMake(rooms, adapter, () => new Map<string, Machine>());
      return {
        make(given) {
          const machine = { ...given, id: randomUUID(), files: new Map<string, string>() };
          putLast(known, machine.id, machine, MACHINES_MAX);
          return machine;
        },
        find: (idOrName) => known.get(idOrName) ?? [...known.values()].find(({ name }) => name === idOrName) ?? null,
        all: () => [...known.values()],
        end: ({ id }) => void known.delete(id),
        run,
      };
    },
    reset: () => rooms.clear(),
  };
}

/** The value that marks session requests in the header that otherwise names an action. */
const SESSIONS = "sessions";

interface SessionDeps {
  readonly vendors: Vendors;
  readonly standIn: StandIn;
  readonly room: MachineRoom;
}

export function isSessionArrival({ target }: Arrival): boolean {
  return target.headers["x-tollgate-sandbox-action"] === SESSIONS;
}

function wordsOf(arrival: Arrival, { vendors, standIn, room }: SessionDeps): VendorWords {
  const { method, target, body, said } = arrival;
  const { adapter, origin, path } = addressOf(target.url.pathname);
  const spec = vendors.get(adapter)?.spec;
  if (spec === undefined || standIn.sessions === undefined) return refused(404, `${adapter} has no sessions.`);
  if (body === null) return refused(413, "The request body is too large.");
  const keyless = origin !== undefined && spec.keylessOrigins?.includes(origin) === true;
  if (!keyless && !hasKey(spec.auth, target.headers, target.url.searchParams, {}))
    return refused(401, "The API key is missing.");
  const { headers, url } = target;
  const request = { method, origin, path, query: url.searchParams, headers, body, json: jsonOf(body) };
  const answer = standIn.sessions(said === undefined ? request : { ...request, said }, room.of(adapter));
  const { status, headers: told = {}, body: words, messages } = answer;
  if (messages !== undefined) return { status, headers: told, body: "", isText: true, messages };
  if (words instanceof Uint8Array) return { status, headers: told, body: "", isText: true, bytes: Buffer.from(words) };
  return { status, headers: told, body: words ?? "", isText: words === undefined };
}

/** Decides the answer. Refuses an invalid request, whatever fault it names. */
export function sessionScenarioOf(arrival: Arrival, deps: SessionDeps): ActionScenario {
  const { headers, url } = arrival.target;
  const { adapter } = addressOf(url.pathname);
  const at = Number(headers["x-tollgate-sandbox-step"] ?? 0);
  const fault = String(headers["x-tollgate-sandbox-fault"] ?? "");
  const conduct = actionConductOf(fault, { action: `${adapter}/${SESSIONS}`, isVendor: (id) => deps.vendors.has(id) });
  const says = (words: VendorWords, script = USUAL.script, delayMs = 0): ActionScenario => {
    return { adapter, action: SESSIONS, at, words, script, delayMs };
  };
  if (conduct === null) {
    const names = ACTION_FAULTS.map(({ name }) => name).join(", ");
    return says(refused(400, `There is no fault ${fault}; there are ${names}.`));
  }
  const applies = conduct.step === null || conduct.step === at;
  const script = applies && !(conduct.once && at > 0) ? conduct.script : USUAL.script;
  const delayMs = applies ? conduct.delayMs : 0;
  if (script.kind === "refuse") return says(refused(script.status), script, delayMs);
  return says(wordsOf(arrival, deps), script, delayMs);
}
