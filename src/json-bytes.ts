// Reads JSON as the bytes it came in, where writing it anew would change it: numbers, the order of keys, a key that is there twice.

const QUOTE = 0x22;
const BACKSLASH = 0x5c;
const COLON = 0x3a;
const COMMA = 0x2c;
const [OPEN_LIST, CLOSE_LIST, OPEN_OBJECT, CLOSE_OBJECT] = [0x5b, 0x5d, 0x7b, 0x7d];

/** The position behind the string that begins at `at`; the end of the bytes where it never ends. */
export function behindString(bytes: Buffer, at: number): number {
  for (let end = bytes.indexOf(QUOTE, at + 1); end >= 0; end = bytes.indexOf(QUOTE, end + 1)) {
    let slashes = 0;
    while (bytes[end - 1 - slashes] === BACKSLASH) slashes++;
    if (slashes % 2 === 0) return end + 1;
  }
  return bytes.length;
}

/** How many keys all objects of a valid JSON text have together, those that are there twice counted twice. */
export function keysIn(bytes: Buffer): number {
  let keys = 0;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at];
    if (byte === QUOTE) at = behindString(bytes, at);
    else {
      if (byte === COLON) keys++;
      at++;
    }
  }
  return keys;
}

/** Where a member of the outermost object lies: from its key to the end of its value. */
export interface Member {
  readonly name: string;
  readonly start: number;
  readonly end: number;
}

/** The members of a valid JSON text that is an object, in order. */
export function membersOf(bytes: Buffer): readonly Member[] {
  const members: Member[] = [];
  let depth = 0;
  let start = -1;
  let name = "";
  let end = -1;
  for (let at = 0; at < bytes.length; ) {
    const byte = bytes[at] ?? 0;
    if (byte === QUOTE) {
      const behind = behindString(bytes, at);
      if (depth === 1 && start < 0) {
        start = at;
        name = String(JSON.parse(bytes.toString("utf8", at, behind)));
      }
      at = end = behind;
      continue;
    }
    if (depth === 1 && start >= 0 && (byte === COMMA || byte === CLOSE_OBJECT)) {
      members.push({ name, start, end });
      start = -1;
    }
    if (byte === OPEN_LIST || byte === OPEN_OBJECT) depth++;
    else if (byte === CLOSE_LIST || byte === CLOSE_OBJECT) depth--;
    at++;
    if (byte > 0x20) end = at;
  }
  return members;
}

/**
 * A valid JSON object with other values for some of its members, and without those whose value is undefined; every other
 * member as it came, to the byte, and in its place. New members stand behind the others.
 */
export function withMembers(bytes: Buffer, changes: Readonly<Record<string, unknown>>): Buffer {
  const written = new Set<string>();
  const parts: Buffer[] = [];
  const put = (part: Buffer) => parts.push(Buffer.from(parts.length === 0 ? "{" : ","), part);
  const changed = (name: string) => {
    written.add(name);
    const value = changes[name];
    if (value !== undefined) put(Buffer.from(`${JSON.stringify(name)}:${JSON.stringify(value)}`));
  };
  for (const { name, start, end } of membersOf(bytes)) {
    if (Object.hasOwn(changes, name)) changed(name);
    else put(bytes.subarray(start, end));
  }
  for (const name of Object.keys(changes)) if (!written.has(name)) changed(name);
  if (parts.length === 0) parts.push(Buffer.from("{"));
  return Buffer.concat([...parts, Buffer.from("}")]);
}
