// Reads a multipart form in the sandbox: fields by name, and files by type and size.
import { Busboy } from "@fastify/busboy";

const HEAD_BYTES = 64;

/** Fields are lists if their name ends in `[]` or they are files. Undefined if the body is not a complete form. */
export function readForm(
  body: Buffer,
  contentType: string,
  keepsFiles = false,
): Promise<Record<string, unknown> | undefined> {
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
      stream.on("error", reject);
      stream.on("data", (chunk: Buffer) => chunks.push(chunk));
      stream.on("end", () => {
        const bytes = Buffer.concat(chunks);
        const head = bytes.toString("latin1", 0, HEAD_BYTES);
        const content = keepsFiles ? { content: bytes } : {};
        add(field.replace(/\[\]$/, ""), { name, type, bytes: bytes.length, head, ...content });
      });
    });
    busboy.on("error", reject);
    busboy.on("finish", () => resolve(form));
    busboy.end(body);
  });
  return whole.catch(() => undefined);
}
