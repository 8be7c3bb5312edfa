// A form with files in it (RFC 7578), as the sandbox reads it: fields by name, files by what they are and how large.

/** A file of a form. */
export interface FormFile {
  readonly name: string;
  readonly type: string;
  readonly bytes: number;
  /** Its beginning. */
  readonly head: string;
}

const HEAD_BYTES = 64;

/** The values of one field of a header, such as `name` of `content-disposition`. */
function paramOf(headers: string, name: string): string | null {
  return new RegExp(`[;\\s]${name}="([^"]*)"`, "i").exec(headers)?.[1] ?? null;
}

function addTo(form: Record<string, unknown>, key: string, value: unknown): void {
  const list = form[key];
  if (Array.isArray(list)) list.push(value);
  else form[key] = [value];
}

/** Lists where a name ends in `[]` or belongs to files; null: it is no whole form. */
export function readForm(body: Buffer, contentType: string): Record<string, unknown> | null {
  const boundary = /boundary="?([^";]+)"?/i.exec(contentType)?.[1];
  if (boundary === undefined) return null;
  const form: Record<string, unknown> = {};
  const mark = Buffer.from(`--${boundary}`);
  let at = body.indexOf(mark);
  for (;;) {
    if (at < 0) return null;
    const start = at + mark.length;
    if (body.toString("latin1", start, start + 2) === "--") return form;
    const headEnd = body.indexOf("\r\n\r\n", start);
    const next = body.indexOf(Buffer.concat([Buffer.from("\r\n"), mark]), start);
    if (headEnd < 0 || next < headEnd) return null;
    const headers = body.toString("utf8", start, headEnd);
    const content = body.subarray(headEnd + 4, next);
    const name = paramOf(headers, "name") ?? "";
    const file = paramOf(headers, "filename");
    const key = name.replace(/\[\]$/, "");
    if (file !== null) {
      const type = /content-type:\s*([^\r\n]+)/i.exec(headers)?.[1] ?? "";
      const read: FormFile = {
        name: file,
        type,
        bytes: content.length,
        head: content.toString("latin1", 0, HEAD_BYTES),
      };
      addTo(form, key, read);
    } else {
      const value = content.toString("utf8");
      if (name.endsWith("[]")) addTo(form, key, value);
      else form[key] = value;
    }
    at = next + 2;
  }
}
