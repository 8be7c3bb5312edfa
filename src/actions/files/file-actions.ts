// The actions of service `files`: everything but the transfer of bytes.
import { z } from "zod";
import type { ActionFacts } from "../../catalog/action.ts";
import { type LocalAction, localAction } from "../../catalog/local-action.ts";
import { OPENED_URL } from "../../core/field-issues.ts";
import { type Files, keyOf } from "./files.ts";
import { keepFromUrl, type OpenPublic } from "./from-url.ts";
import { FILE_BYTES_MAX } from "./lifecycle.ts";

export interface FilesActionsParts {
  readonly files: Files;
  /** Fetches an address that a caller supplied, if it may be fetched. */
  readonly openPublic: OpenPublic;
}

/** Rejects names that could escape a folder, break a header, or disguise themselves. */
const FILENAME = /^(?!\.{1,2}$)[^\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}/\\]+$/u;
const filename = z
  .string()
  .min(1)
  .max(255)
  .regex(FILENAME, "must be a plain name without slashes or control characters")
  .regex(/^\S(.*\S)?$/u, "must not begin or end with a blank")
  .describe("Name of the file, as it will be saved by whoever downloads it");
const text = /^[^\p{Cs}\0]*$/u;
const tags = z
  .array(z.string().max(40).regex(/\S/u, "must not be blank").regex(text, "must be text").trim())
  .max(10)
  .transform((list) => [...new Set(list)])
  .default([])
  .describe("Up to 10 words to find the file by, each up to 40 characters");
const note = z.string().max(500).regex(text, "must be text").optional().describe("A remark, up to 500 characters");
const fileId = z
  .string()
  .regex(/^file_[0-9a-f]{32}$/, "must be the file_id of an upload")
  .describe("The file_id of an upload");
const mime = z
  .string()
  .max(127)
  .regex(/^[\w!#$&^.+-]+\/[\w!#$&^.+-]+(; ?[\w-]+=[\w.-]+)*$/, "must be a media type such as image/png")
  .optional()
  .describe("Media type of the file, such as image/png");

const EXAMPLE_ID = "file_00000000000000000000000000000000";
const ONE_CENT = { mode: "fixed", cents: 1 } as const;
const FREE = { mode: "fixed", cents: 0 } as const;

function facts<P>(params: z.ZodType<P>, more: Omit<ActionFacts<P>, "params" | "category">) {
  return { service: "files", category: "files", params, ...more } as const;
}

function uploads({ files, openPublic }: FilesActionsParts): LocalAction[] {
  const size = z.number().int().min(1).max(FILE_BYTES_MAX);
  return [
    localAction({
      action: "upload",
      asked:
        "save a file; store a document; upload a pdf; keep a report; share a file by link; put a picture online; backup; hang on to it for later; host a download",
      ...facts(z.strictObject({ filename, size_bytes: size.describe("Exact size of the file"), mime, tags, note }), {
        description:
          "Stores a file of up to 100 MB: returns a put_url, good for an hour, to which the raw bytes are sent with PUT, and the file_id and get_url under which they are found afterwards.",
        keywords: "store; save; host; attachment; put; host an image; keep a document; attachment for later",
        effect: "write",
        price: ONE_CENT,
      }),
      run({ filename, size_bytes: sizeBytes, mime = null, tags, note = null }, { payer }) {
        const file = { filename, sizeBytes, mime, tags, note, source: "upload" };
        return files.announce(payer.id, file, keyOf(payer));
      },
      example: { params: { filename: "report.pdf", size_bytes: 48_213, mime: "application/pdf", tags: ["reports"] } },
    }),
    localAction({
      action: "upload_from_url",
      asked:
        "save a file from a link; keep a copy of this pdf; download a picture from the web and store it; import from a url",
      ...facts(
        z.strictObject({
          url: z.string().min(1).max(2_048).meta(OPENED_URL).describe("A public http or https address"),
          filename: filename.optional(),
          tags,
          note,
        }),
        {
          description:
            "Fetches a public URL of up to 100 MB and stores what it answers as a file; returns file_id and get_url.",
          keywords: "store; save; fetch; import; download",
          effect: "write",
          price: ONE_CENT,
        },
      ),
      run: (params, { payer }) =>
        keepFromUrl(files, openPublic, payer, {
          url: params.url,
          filename: params.filename ?? null,
          tags: params.tags,
          note: params.note ?? null,
        }),
      example: { params: { url: "https://example.com/", filename: "example.html" } },
    }),
  ];
}

function lookups(files: Files): LocalAction[] {
  return [
    localAction({
      action: "get",
      asked: "download my file again; link to a file of mine; where is the report I saved; retrieve a stored document",
      ...facts(z.strictObject({ file_id: fileId }), {
        description: "Facts of a stored file, and a fresh get_url to download it, good for about an hour.",
        keywords: "download; link; read; metadata",
        effect: "read",
        price: FREE,
      }),
      run: ({ file_id }, { payer }) => files.get(payer.id, file_id, keyOf(payer)),
      example: { params: { file_id: EXAMPLE_ID } },
    }),
    localAction({
      action: "list",
      asked: "my files; what did I upload; stored documents; how much space is used",
      ...facts(
        z.strictObject({
          tags: tags.describe("Only files that have all of these tags"),
          query: z.string().max(255).default("").describe("Part of the filename, in upper or lower case"),
          limit: z.number().int().min(1).max(1_000).default(100),
          cursor: z
            .string()
            .regex(/^\d{1,15}$/, "must be the next_cursor of an earlier answer")
            .optional(),
        }),
        {
          description:
            "Stored files, newest first, with filename, tags, note, size, source and creation date. While next_cursor is not null there are more.",
          keywords: "find; browse; search files; which files are stored; my files",
          effect: "read",
          price: FREE,
        },
      ),
      async run(params, { payer }) {
        const { limit, cursor = null } = params;
        const { files: found, next } = await files.list(payer.id, params, limit, cursor);
        return { files: found, next_cursor: next };
      },
      example: { params: { tags: ["reports"], query: "report" } },
    }),
    localAction({
      action: "delete",
      asked: "delete a file; remove an upload; free up space",
      ...facts(z.strictObject({ file_id: fileId }), {
        description: "Deletes a stored file, or an upload that has not come yet, and frees its room.",
        keywords: "remove; free; quota; delete a file; delete my upload",
        effect: "write",
        price: FREE,
      }),
      async run({ file_id }, { payer }) {
        const gone = await files.delete(payer.id, file_id);
        return { file_id, deleted: true, freed_bytes: gone.size_bytes };
      },
      example: { params: { file_id: EXAMPLE_ID } },
    }),
  ];
}

export function filesActions(parts: FilesActionsParts): readonly LocalAction[] {
  return [...uploads(parts), ...lookups(parts.files)];
}
