// Protobuf allows two spellings of each field; both are read under the name in the table.
import { isRecord } from "../../../core/json.ts";
import { type Field, fieldFor } from "../field-table.ts";

function camel(name: string): string {
  return name.replace(/_([a-z])/g, (_, letter: string) => letter.toUpperCase());
}

function listedName(key: string, object: Readonly<Record<string, unknown>>, field: Field): string {
  if (!key.includes("_") || field.fields?.has(key) === true) return key;
  const other = camel(key);
  return field.fields?.has(other) === true && object[other] === undefined ? other : key;
}

/** Renames fields to the names in the table; arbitrary JSON stays as it is. */
export function withListedNames(value: unknown, field: Field): unknown {
  if (field.free || field.refused !== null) return value;
  if (Array.isArray(value)) {
    const { items } = field;
    return items === null ? value : value.map((one) => withListedNames(one, items));
  }
  const at = isRecord(value) ? fieldFor(value, field) : "unknown";
  if (!isRecord(value) || at === "unknown" || at.fields === null) return value;
  const named: Record<string, unknown> = {};
  for (const key of Object.keys(value)) {
    if (key === "__proto__") continue;
    const name = listedName(key, value, at);
    const inner = at.fields.get(name);
    named[name] = inner === undefined ? value[key] : withListedNames(value[key], inner);
  }
  return named;
}
