// Defuddle with its recommended DOM for servers, installed into bench/.peers.
import { pathToFileURL } from "node:url";
import { installWithNpm } from "./npm.ts";

const WANTED = { dependencies: { defuddle: "0.19.4", linkedom: "0.18.15", turndown: "7.2.5" } };

interface Entry {
  Defuddle(html: string, url: string, options: object): Promise<{ readonly content: string }>;
}

export async function openDefuddle(): Promise<(html: string, url: string) => Promise<string>> {
  const entry = installWithNpm("extraction", "defuddle/dist/node.js", WANTED);
  const { Defuddle } = (await import(pathToFileURL(entry).href)) as Entry;
  return async (html, url) => (await Defuddle(html, url, { markdown: true, useAsync: false })).content;
}
