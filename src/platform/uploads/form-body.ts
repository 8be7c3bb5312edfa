// A multipart form with files (RFC 7578), written while it is sent: reads each file's bytes when it is that file's turn.
import { randomUUID } from "node:crypto";

/** An uploaded file that may be sent on, once per attempt. */
export interface UploadedFile {
  readonly field: string;
  readonly filename: string;
  readonly contentType: string;
  readonly size: number;
  bytes(): AsyncIterable<Uint8Array>;
}

const LINE_END = "\r\n";

/** Escapes text for a quoted string in a header, as browsers do. */
function quoted(text: string): string {
  return text.replaceAll('"', "%22").replaceAll("\r", "%0D").replaceAll("\n", "%0A");
}

/** Restricts text to what a header line may contain. */
function typeOf(text: string): string {
  return /^[\w.+-]+\/[\w.+-]+(?:;[\x20-\x7e]*)?$/.test(text) ? text : "application/octet-stream";
}

export class FormBody {
  readonly #boundary = `----tollgate${randomUUID()}`;
  readonly #fields: readonly (readonly [name: string, value: string])[];
  readonly #files: readonly UploadedFile[];

  constructor(fields: readonly (readonly [name: string, value: string])[], files: readonly UploadedFile[]) {
    this.#fields = fields;
    this.#files = files;
  }

  get headers(): Readonly<Record<string, string>> {
    const heads = this.#files.map((file) => this.#head(file));
    const sizes = [this.#before().length, this.#end().length, ...heads.map((head) => head.length + LINE_END.length)];
    const length = [...sizes, ...this.#files.map(({ size }) => size)].reduce((sum, bytes) => sum + bytes, 0);
    return { "content-type": `multipart/form-data; boundary=${this.#boundary}`, "content-length": String(length) };
  }

  async *bytes(): AsyncGenerator<Uint8Array, void, undefined> {
    yield this.#before();
    for (const file of this.#files) {
      yield this.#head(file);
      yield* file.bytes();
      yield Buffer.from(LINE_END);
    }
    yield this.#end();
  }

  #before(): Buffer {
    const parts = this.#fields.map(
      ([name, value]) =>
        `--${this.#boundary}${LINE_END}content-disposition: form-data; name="${quoted(name)}"${LINE_END}${LINE_END}${value}${LINE_END}`,
    );
    return Buffer.from(parts.join(""));
  }

  #head({ field, filename, contentType }: UploadedFile): Buffer {
    const disposition = `form-data; name="${quoted(field)}"; filename="${quoted(filename)}"`;
    const lines = [
      `--${this.#boundary}`,
      `content-disposition: ${disposition}`,
      `content-type: ${typeOf(contentType)}`,
    ];
    return Buffer.from(lines.join(LINE_END) + LINE_END + LINE_END);
  }

  #end(): Buffer {
    return Buffer.from(`--${this.#boundary}--${LINE_END}`);
  }
}
