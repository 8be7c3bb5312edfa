// What a stored file is said to be when it is opened: something to be saved, never something to be shown or run.

const UNKNOWN = "application/octet-stream";
/** Types that a browser would run or draw as a page of ours. */
const RUNS =
  /^(text\/(html|xml|javascript|ecmascript|xsl)|application\/(.*[+/])?(xml|xhtml|javascript|ecmascript)|image\/svg)\b/i;

/** The content type of a file: as its owner said, unless a browser could run it. */
export function safeMime(mime: string | null): string {
  return mime === null || RUNS.test(mime) ? UNKNOWN : mime;
}

/** The Content-Disposition of a file (RFC 6266): the name in plain ASCII, and where that is not all of it also as it is. */
export function attachment(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  if (plain === filename) return `attachment; filename="${plain}"`;
  const exact = encodeURIComponent(filename).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

/** Headers of every answer with a file in it. Whatever a browser makes of it, it is nothing of this address. */
export const CONTENT_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
  "cross-origin-resource-policy": "cross-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "private, no-transform",
};
