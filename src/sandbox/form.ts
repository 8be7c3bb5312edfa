// Reads a form with files for the sandbox: fields by name, files by what they are and how large.
import { Busboy } from "@fastify/busboy";

const HEAD_BYTES = 64;

/** Lists where a name ends in `[]` or belongs to files; undefined: the body is not a whole form. */
export function readForm(body: Buffer, contentType: string): Promise<Record<string, unknown> | undefined> {
  const form: Record<string, unknown> = {};
  const add = (field: string, value: unknown) => {
    const list = form[field];
    if (Array.isArray(list)) list.push(value);
    else form[field] = [value];
  };
  const whole = new Promise<typeof form>((resolve, reject) => {
    const busboy = new Busboy({ headers: { "content-type": contentType } });
    busboy.on("field", (name, value) => {
      if (name.endsWith("[]")) add(name.slice(0, -2), value);
      else form[name] = value;
    });
    busboy.on("file", (field, stream, name, ...[, type]) => {
      const chunks: Buffer[] = [];
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const bytes = Buffer.concat(chunks);
        const head = bytes.toString("latin1", 0, HEAD_BYTES);
        add(field.replace(/\[\]$/, ""), { name, type, bytes: bytes.length, head });
      });
    });
    busboy.on("error", reject);
    busboy.on("finish", () => resolve(form));
    busboy.end(body);
  });
  return whole.catch(() => undefined);
}
