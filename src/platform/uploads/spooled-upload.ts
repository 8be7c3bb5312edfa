// Receives a form with files: keeps fields in memory and files on disk, so that a thousand uploads at once take no memory.
import { createHash } from "node:crypto";
import { Busboy, type BusboyInstance } from "@fastify/busboy";
import type { IncomingBody } from "../../core/endpoint.ts";
import { GatewayError } from "../../core/errors.ts";
import type { BodyShare } from "../limits/body-bytes.ts";
import { NamelessFile } from "../storage/nameless-file.ts";
import type { UploadedFile } from "./form-body.ts";

const BLOCK_BYTES = 64 * 1024;
const BLOCKS_MAX = 16;
const FIELD_BYTES_MAX = 256 * 1024;
const FIELDS_MAX = 64;
const HEADERS_PER_PART_MAX = 16;

export interface FormRules {
  /** The limits of one file, and of the whole body. */
  readonly fileBytesMax: number;
  readonly bodyBytesMax: number;
  readonly filesMax: number;
  readonly folder: string;
}

export interface SpooledForm {
  /** Values by name; a name that ends in `[]` or is repeated has a list. */
  readonly fields: Readonly<Record<string, unknown>>;
  readonly files: readonly SpooledFile[];
  close(): void;
}

export interface SpooledFile extends UploadedFile {
  /** The hex SHA-256 of its bytes. */
  readonly sha256: string;
  /** With a block, every part is in its memory, and valid only until the next is requested. */
  bytes(block?: Buffer): AsyncIterable<Uint8Array>;
}

async function* piecesOf(
  spool: NamelessFile,
  size: number,
  block?: Buffer,
): AsyncGenerator<Uint8Array, void, undefined> {
  for (let at = 0; at < size; ) {
    const part = block ?? Buffer.allocUnsafe(Math.min(BLOCK_BYTES, size - at));
    const bytes = await spool.read(part, at);
    if (bytes === 0) throw new Error("the form has been closed");
    at += bytes;
    yield part.subarray(0, bytes);
  }
}

function wrong(detail: string): GatewayError {
  return new GatewayError("bad_request", { detail: `body: ${detail}` });
}

function tooLarge(bytesMax: number): GatewayError {
  return new GatewayError("body_too_large", { detail: { limit_mib: Math.round(bytesMax / 1_048_576) } });
}

/** Adds a value to a form's fields. The object has no prototype, so that every name is safe. */
function addField(fields: Record<string, unknown>, name: string, value: string): void {
  const isList = name.endsWith("[]");
  const key = isList ? name.slice(0, -2) : name;
  const before = fields[key];
  if (before === undefined) fields[key] = isList ? [value] : value;
  else fields[key] = Array.isArray(before) ? [...before, value] : [before, value];
}

/** Parses a form; keeps the first failure for the loop that writes into it. */
class FormIntake {
  readonly fields: Record<string, unknown> = Object.create(null) as Record<string, unknown>;
  readonly files: SpooledFile[] = [];
  failure: unknown = null;
  readonly #busboy: BusboyInstance;
  readonly #ended: Promise<void>;
  /** Blocks that the parser may still use, oldest first, and blocks that it no longer uses. */
  readonly #given: Buffer[] = [];
  readonly #free: Buffer[] = [];
  /** One for each file: the parser reports a file before it has delivered all bytes of the one before. */
  readonly #spools: NamelessFile[] = [];

  constructor(contentType: string, rules: FormRules) {
    const { fileBytesMax, filesMax } = rules;
    const limits = {
      fileSize: fileBytesMax,
      files: filesMax,
      fields: FIELDS_MAX,
      fieldSize: FIELD_BYTES_MAX,
      // Counts all parts: fields, files, and those without a name.
      parts: FIELDS_MAX + filesMax,
      headerPairs: HEADERS_PER_PART_MAX,
    };
    this.#busboy = new Busboy({ headers: { "content-type": contentType }, limits });
    const { promise, resolve } = Promise.withResolvers<void>();
    this.#ended = promise;
    const fail = (cause: unknown): void => {
      this.failure ??= cause;
      resolve();
    };
    this.#busboy.on("field", (name: string | undefined, value, nameTruncated, valueTruncated) => {
      // Despite its type, the name is undefined for a part without one; an exception here would not be caught.
      if (name === undefined) fail(wrong("a part of the form has no name"));
      else if (nameTruncated || valueTruncated) fail(tooLarge(FIELD_BYTES_MAX));
      else addField(this.fields, name, value);
    });
    this.#busboy.on("file", (field: string | undefined, stream, ...[filename, , contentTypeOf]) => {
      if (field === undefined) {
        stream.resume();
        fail(wrong("a part of the form has no name"));
        return;
      }
      const spool = new NamelessFile(rules.folder);
      this.#spools.push(spool);
      const hash = createHash("sha256");
      stream.on("data", (part: Buffer) => {
        if (this.failure !== null) return;
        this.#reached(part);
        try {
          spool.put(part);
          hash.update(part);
        } catch (cause) {
          const detail = "There is no room for more at the moment.";
          fail(new GatewayError("storage_unavailable", { detail, retryAfterSeconds: 60, cause }));
        }
      });
      stream.on("limit", () => fail(tooLarge(fileBytesMax)));
      stream.on("error", fail);
      stream.on("end", () => {
        const size = spool.end;
        const bytes = (block?: Buffer) => piecesOf(spool, size, block);
        const name = filename === undefined || filename === "" ? "file" : filename;
        this.files.push({ field, filename: name, contentType: contentTypeOf, size, bytes, sha256: hash.digest("hex") });
      });
    });
    this.#busboy.on("filesLimit", () => fail(wrong(`more than ${filesMax} files`)));
    this.#busboy.on("fieldsLimit", () => fail(wrong(`more than ${FIELDS_MAX} fields`)));
    this.#busboy.on("partsLimit", () => fail(wrong(`more than ${FIELDS_MAX + filesMax} parts`)));
    this.#busboy.on("error", (cause) => fail(wrong(`not a whole form: ${String(cause).slice(0, 200)}`)));
    this.#busboy.on("finish", resolve);
  }

  /** False after a failure: send no more. */
  async write(part: Uint8Array): Promise<boolean> {
    for (let at = 0; at < part.length && this.failure === null; at += BLOCK_BYTES) {
      const copy = this.#copied(part.subarray(at, at + BLOCK_BYTES));
      await new Promise<void>((resolve) => {
        this.#busboy.write(copy, () => resolve());
        void this.#ended.then(resolve);
      });
    }
    return this.failure === null;
  }

  /** The part's memory is reused, so it is copied. New memory for each copy would pile up faster than it is collected. */
  #copied(part: Uint8Array): Buffer {
    const block = this.#free.pop() ?? Buffer.allocUnsafeSlow(BLOCK_BYTES);
    this.#given.push(block);
    // Only files report what they have reached.
    if (this.#given.length > BLOCKS_MAX) this.#given.shift();
    block.set(part);
    return block.subarray(0, part.length);
  }

  /** The parser delivers bytes in order: once a file has reached one block, those before it are free. */
  #reached(part: Buffer): void {
    const at = this.#given.findIndex(({ buffer }) => buffer === part.buffer);
    if (at > 0) this.#free.push(...this.#given.splice(0, at));
  }

  async end(): Promise<void> {
    this.#busboy.end();
    await this.#ended;
  }

  close(): void {
    // What the parser still delivers opens no file.
    this.failure ??= wrong("the form has been closed");
    for (const spool of this.#spools) spool.close();
  }
}

/** Parses a form while it arrives. Throws: no form, truncated, too large, too many at once. `share` bounds what is spooled. */
export async function spooledForm(
  incoming: IncomingBody | undefined,
  contentType: string,
  rules: FormRules,
  share: BodyShare,
): Promise<SpooledForm> {
  if (!/^multipart\/form-data\s*;.*boundary=/i.test(contentType)) {
    const detail = "This endpoint takes a form: send Content-Type: multipart/form-data, as your client does for files.";
    throw new GatewayError("unsupported_media", { detail });
  }
  if (incoming === undefined) throw wrong("is empty, must be a form");
  let intake: FormIntake | null = null;
  const close = (): void => {
    intake?.close();
    share.close();
  };
  try {
    intake = new FormIntake(contentType, rules);
    let size = 0;
    for await (const part of incoming) {
      size += part.length;
      const full = size > rules.bodyBytesMax ? tooLarge(rules.bodyBytesMax) : share.grow(part.length);
      if (full !== null) throw full;
      if (!(await intake.write(part))) throw intake.failure;
    }
    await intake.end();
    if (intake.failure !== null) throw intake.failure;
    return { fields: intake.fields, files: intake.files, close };
  } catch (cause) {
    close();
    throw cause instanceof GatewayError ? cause : wrong("not a form that can be read");
  }
}
