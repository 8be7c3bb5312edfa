// Facts from vendors' own specifications, each with a date: the requests that exist, and what each accepts.
import { readdirSync, readFileSync } from "node:fs";
import { Ajv2020, type ValidateFunction } from "ajv/dist/2020.js";
import formats from "ajv-formats";
import type { Sent } from "./adapter-wire.ts";

/** A specification's entry for one operation; `{name}` in its path matches anything but a slash. */
interface Operation {
  readonly query?: object;
  readonly body?: object;
  readonly bodyRequired?: boolean;
}

interface VendorRequests {
  readonly source: string;
  readonly date: string;
  /** Facts from other sources, because the specification lags behind the vendor. */
  readonly beyond?: readonly string[];
  /** By method and path. */
  readonly operations: Readonly<Record<string, Operation>>;
}

const folder = new URL("../fixtures/vendor-requests/", import.meta.url);
/** The adapters whose vendors have a specification here. */
export const toldVendors = readdirSync(folder).map((file) => file.replace(/\.json$/, ""));

const [inBody, inQuery] = [
  new Ajv2020({ strict: false, allErrors: true }),
  // All query values are text.
  new Ajv2020({ strict: false, allErrors: true, coerceTypes: "array" }),
];
for (const ajv of [inBody, inQuery]) formats.default(ajv);

/** One request that a vendor accepts, and the errors of an actual one. */
export interface Checked {
  readonly method: string;
  readonly path: RegExp;
  readonly check: (sent: Sent) => readonly string[];
}

function errorsOf(validate: ValidateFunction | null, value: unknown): readonly string[] {
  if (validate === null || validate(value) === true) return [];
  return (validate.errors ?? []).map(({ instancePath, message, params }) => {
    return `${instancePath} ${message} ${JSON.stringify(params)}`;
  });
}

function checkedOf([name, { query, body, bodyRequired }]: [string, Operation]): Checked {
  const [method = "", path = ""] = name.split(" ");
  const source = path.replace(/[.*+?^$()|[\]\\]/g, "\\$&").replace(/\{[^}]+\}/g, "[^/]+");
  const [ofQuery, ofBody] = [
    query === undefined ? null : inQuery.compile(query),
    body === undefined ? null : inBody.compile(body),
  ];
  return {
    method,
    path: new RegExp(`^${source}$`),
    check(sent) {
      const asked = Object.fromEntries(new URL(sent.url).searchParams);
      const unknownQuery = query === undefined && Object.keys(asked).length > 0 ? ["it takes no query"] : [];
      const noBody = sent.body === null && bodyRequired === true ? ["it needs a body"] : [];
      const extraBody = sent.body !== null && body === undefined ? ["it takes no body"] : [];
      const inside = sent.body === null ? [] : errorsOf(ofBody, sent.body);
      return [...unknownQuery, ...noBody, ...extraBody, ...errorsOf(ofQuery, asked), ...inside];
    },
  };
}

interface Told {
  readonly date: string;
  readonly operations: readonly Checked[];
}
const read = new Map<string, Told>();

/** A vendor's specification, with each request ready to check. */
export function toldOf(vendor: string): Told {
  const known = read.get(vendor);
  if (known !== undefined) return known;
  const { date, operations } = JSON.parse(readFileSync(new URL(`${vendor}.json`, folder), "utf8")) as VendorRequests;
  const told = { date, operations: Object.entries(operations).map(checkedOf) };
  read.set(vendor, told);
  return told;
}

/** The operation that matches a sent request. */
export function operationOf({ method: sentBy, url }: Sent, operations: readonly Checked[]): Checked | undefined {
  const { pathname } = new URL(url);
  return operations.find(({ method, path }) => method === sentBy && path.test(pathname));
}
