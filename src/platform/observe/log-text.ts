// Formats a log line for a terminal: time, level, message, then the remaining fields.
import { type Nano, usdText } from "../../core/money.ts";

type Fields = Readonly<Record<string, unknown>>;

/** Fields that a request's text already contains, or that are of no use on a terminal. */
const TOLD_OF_REQUEST = new Set(
  (
    "level time msg err method endpoint status ms asked served provider charged_nano_usd operation held_nano_usd " +
    "upstream_nano_usd bytes_in bytes_out streamed usage attempts transaction_id outcome first_token_ms account_id key_id"
  ).split(" "),
);
const TOLD_OF_NOTICE = new Set(["level", "time", "msg", "err"]);

/** Control characters, which a terminal would obey: callers can put them into names. */
const CONTROL = /[\p{Cc}\p{Cf}]/gu;

function shown(value: unknown): string {
  const text = typeof value === "string" ? value : (JSON.stringify(value) ?? "");
  return text.replace(CONTROL, "?");
}

/** `POST /api/llm/v1/chat/completions 200 812.3 ms, core/cheap by groq, 0.000012 USD` */
function requestText(line: Fields): string {
  const { method, endpoint, status, ms, asked, served, provider, charged_nano_usd: charged, attempts } = line;
  const by = provider === undefined ? "" : ` by ${shown(provider)}${served === asked ? "" : ` as ${shown(served)}`}`;
  const tried = Array.isArray(attempts) && attempts.length > 1 ? ` after ${attempts.slice(0, -1).join(", ")}` : "";
  const cost = typeof charged === "number" && charged > 0 ? `, ${usdText(charged as Nano)} USD` : "";
  return `${method} ${endpoint} ${status} ${ms} ms${asked === undefined ? "" : `, ${shown(asked)}`}${by}${tried}${cost}`;
}

function errorText(err: unknown): string {
  if (typeof err !== "object" || err === null) return "";
  const { stack, message } = err as Fields;
  const lines = String(stack ?? message).split("\n");
  return lines.map((one) => `\n  ${shown(one)}`).join("");
}

/** The text of a JSON line, with its line end; other lines stay unchanged. */
export function logText(json: string, levels: Readonly<Record<number, string>>): string {
  let line: Fields;
  try {
    line = JSON.parse(json) as Fields;
  } catch {
    return json;
  }
  const isRequest = line.msg === "request" && line.endpoint !== undefined;
  const words = isRequest ? requestText(line) : shown(line.msg ?? "");
  const told = isRequest ? TOLD_OF_REQUEST : TOLD_OF_NOTICE;
  const rest = Object.entries(line)
    .filter(([name, value]) => value !== undefined && !told.has(name))
    .map(([name, value]) => ` ${name}=${shown(value)}`);
  const level = (levels[Number(line.level)] ?? "").toUpperCase().padEnd(5);
  return `${shown(line.time)} ${level} ${words}${rest.join("")}${errorText(line.err)}\n`;
}
