// Stored files: search by name, download by a fresh link, delete.
import type { FileView, LinkedView } from "../../../actions/files/files.ts";
import { html } from "../html.ts";
import type { Paged } from "../kit/ask.ts";
import { buttonForm, searchForm } from "../kit/forms.ts";
import type { Section } from "../kit/sections.ts";
import { card, count, nextPage, tableOf, time } from "../kit/shown.ts";

interface Envelope<Data> {
  readonly data: Data;
}

const PATH = "/account/files";
const PAGE = 50;

function sizeOf(bytes: number): string {
  if (bytes < 1_000) return `${bytes} B`;
  return bytes < 1_000_000 ? `${count(Math.round(bytes / 1_000))} kB` : `${count(Math.round(bytes / 100_000) / 10)} MB`;
}

export const filesSection: Section = {
  path: PATH,
  acts: {
    link: {
      told: "A link to the file",
      async run({ ask, fields }) {
        const asked = { file_id: fields.id };
        const { data } = await ask<Envelope<LinkedView>>("POST", "/api/run/files/get", asked);
        return html`<p><a class="button" href="${data.get_url}">Download ${data.filename}</a> <a class="button plain" href="${PATH}">Back</a></p><p class="soft">The link works for about an hour, for anyone who has it.</p>`;
      },
    },
    delete: {
      told: "The file was deleted",
      run: ({ ask, fields }) => ask("POST", "/api/run/files/delete", { file_id: fields.id }),
    },
  },
  async show({ ask, csrf, request }) {
    const query = (request.query.get("q") ?? "").slice(0, 255);
    const cursor = request.query.get("cursor") ?? undefined;
    const { data } = await ask<Envelope<Paged<"files", FileView>>>("POST", "/api/run/files/list", {
      query,
      limit: PAGE,
      cursor,
    });
    const form = { action: PATH, csrf };
    const none =
      query === ""
        ? "No file is stored yet. Send one, or call files/upload; files that actions make are stored here too."
        : "No file has this name. Search for another part of it.";
    const files = tableOf("Files", data.files, none, {
      File: ({ filename, mime }) =>
        html`<strong class="name">${filename}</strong><br><span class="soft">${mime ?? ""}</span>`,
      "Stored (UTC)|large": (file) => time(file.created_at),
      "From|large": (file) => html`<span class="name">${file.source}</span>`,
      "Size|num": (file) => sizeOf(file.size_bytes),
      "Actions|acts": ({ file_id: id, filename: label }) =>
        html`${buttonForm({ ...form, act: "link", hidden: { id } }, "Link", { label })} ${buttonForm({ ...form, act: "delete", hidden: { id } }, "Delete", { label, kind: "danger small" })}`,
    });
    return {
      title: "Files",
      body: html`${searchForm(PATH, [{ name: "q", label: "Part of the name", value: query }])}<p><a class="button" href="/try?action=files%2Fupload&amp;live=1">Send a file</a></p>${card("Stored files", html`${files}${nextPage(PATH, { q: query }, data.next_cursor)}`)}`,
    };
  },
};
