// Headers of a stored file, so that browsers save it and never render or run it.

const UNKNOWN = "application/octet-stream";
/** Types that a browser would run or render as a page of ours. */
const RUNS =
  /^(text\/(html|xml|javascript|ecmascript|xsl)|application\/(.*[+/])?(xml|xhtml|javascript|ecmascript)|image\/svg)\b/i;

/** A file's content type: the owner's, unless a browser could run it. */
export function safeMime(mime: string | null): string {
  return mime === null || RUNS.test(mime) ? UNKNOWN : mime;
}

/** A file's Content-Disposition (RFC 6266): the name in ASCII, and the exact name too where that differs. */
export function attachment(filename: string): string {
  const plain = filename.replace(/[^\x20-\x7e]|["\\%]/g, "_");
  if (plain === filename) return `attachment; filename="${plain}"`;
  const exact = encodeURIComponent(filename).replace(/[!'()*]/g, (char) => `%${char.charCodeAt(0).toString(16)}`);
  return `attachment; filename="${plain}"; filename*=UTF-8''${exact}`;
}

/** Headers of every answer with a file in it. A browser that renders it anyway must not treat it as part of our origin. */
export const CONTENT_HEADERS: Readonly<Record<string, string>> = {
  "content-security-policy": "default-src 'none'; sandbox; frame-ancestors 'none'",
  "cross-origin-resource-policy": "cross-origin",
  "referrer-policy": "no-referrer",
  "cache-control": "private, no-transform",
};
