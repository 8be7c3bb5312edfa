// Stored files: search by name, download by a fresh link, delete.
import { html } from "../html.ts";
import { nothingElse } from "../kit/ask.ts";
import { buttonForm, field } from "../kit/forms.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, nextPage, rowsOf, table, time } from "../kit/shown.ts";

interface FileShown {
  readonly file_id: string;
  readonly filename: string;
  readonly mime: string | null;
  readonly size_bytes: number;
  readonly source: string;
  readonly created_at: string;
}
interface Envelope<Data> {
  readonly data: Data;
}
type FilesShown = Envelope<{ readonly files: readonly FileShown[]; readonly next_cursor: string | null }>;

const PATH = "/account/files";
const PAGE = 50;

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${count(Math.round(bytes / 1_000))} kB` : `${count(Math.round(bytes / 100_000) / 10)} MB`;
}

export const filesSection: Section = {
  path: PATH,
  place: PATH,
  acts: {
    link: {
      told: "A link to the file",
      async run({ ask, fields }) {
        const found = await ask<Envelope<FileShown & { get_url: string }>>("POST", "/api/run/files/get", {
          file_id: fields.id,
        });
        return html`<p><a class="button" href="${found.data.get_url}">Download ${found.data.filename}</a> <a class="button plain" href="${PATH}">Back</a></p><p class="soft">The link works for about an hour, for anyone who has it.</p>`;
      },
    },
    delete: {
      told: "The file was deleted",
      run: ({ ask, fields }) => nothingElse(ask("POST", "/api/run/files/delete", { file_id: fields.id })),
    },
  },
  async show({ ask, csrf, request }) {
    const query = (request.query.get("q") ?? "").slice(0, 255);
    const cursor = request.query.get("cursor");
    const found = await ask<FilesShown>("POST", "/api/run/files/list", {
      query,
      limit: PAGE,
      ...(cursor === null ? {} : { cursor }),
    });
    const { files, next_cursor } = found.data;
    const form = { action: PATH, csrf };
    const columns = ["File", "Stored (UTC)|large", "From|large", "Size|num", "Do|acts"];
    const rows = rowsOf(files, ({ file_id: id, filename, mime, source, size_bytes, created_at }) => [
      html`<strong class="name">${filename}</strong><br><span class="soft">${mime ?? ""}</span>`,
      time(created_at),
      html`<span class="name">${source}</span>`,
      sizeOf(size_bytes),
      html`${buttonForm({ ...form, act: "link", hidden: { id } }, "Link", { label: filename })} ${buttonForm({ ...form, act: "delete", hidden: { id } }, "Delete", { label: filename, kind: "danger small" })}`,
    ]);
    const none =
      query === ""
        ? "Nothing is stored. Send a file, or have a program call files/upload; what actions make is stored here too."
        : "No file is called so.";
    const search = html`<form method="get" action="${PATH}"><div class="fields">${field({ name: "q", label: "Part of the name", value: query })}<div><button>Search</button></div></div></form>`;
    return {
      title: "Files",
      body: html`${search}<p><a class="button plain" href="/try?action=files%2Fupload&amp;live=1">Send a file</a></p>${card("Stored files", html`${table("Files", columns, { rows, none })}${nextPage(PATH, { q: query }, next_cursor)}`)}`,
    };
  },
};
