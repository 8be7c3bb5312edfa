// The pages that sandbox accounts read where others read the internet: what a page is, its address says.
const WORDS =
  "A toll is paid where a road begins, and whoever has paid may pass. The keeper of the gate writes down who came, what was paid, and what is left of it.";

interface SandboxPage {
  readonly status: number;
  readonly type: string;
  readonly body: string;
  /** Milliseconds before it answers; null: it never does. */
  readonly afterMs: number | null;
}

/** By the first word of the path, or of the host: `https://example.com/wall`, `https://wall.example.com/`. */
export const SANDBOX_PAGES: Readonly<Record<string, { readonly does: string; readonly page: SandboxPage }>> = {
  wall: {
    does: "A wall that asks for proof of a person, with status 403.",
    page: html(
      "<title>Just a moment...</title>",
      "<h1>Checking your browser</h1><p>Verify you are human by completing the action below.</p>",
      { status: 403 },
    ),
  },
  shell: {
    does: "An empty shell that a script would fill.",
    page: html(
      "<title>App</title>",
      '<div id="root"></div><noscript>You need to enable JavaScript to run this app.</noscript><script src="/app.js"></script>',
    ),
  },
  thin: { does: "A short page.", page: html("<title>Thin</title>", "<p>Open from nine to five.</p>") },
  missing: { does: "Status 404.", page: html("<title>Not found</title>", "<p>Not found.</p>", { status: 404 }) },
  slow: { does: "A good page, after three seconds.", page: html("<title>Slow</title>", article(), { afterMs: 3_000 }) },
  hang: { does: "Never answers.", page: html("", "", { afterMs: null }) },
  document: {
    does: "A PDF, by what its server says.",
    page: { status: 200, type: "application/pdf", body: "%PDF-1.7", afterMs: 0 },
  },
};

function article(): string {
  return `<article><h1>At the gate</h1>${`<p>${WORDS}</p>`.repeat(10)}</article>`;
}

function html(head: string, body: string, more: Partial<SandboxPage> = {}): SandboxPage {
  const text = `<!doctype html><html lang="en"><head>${head}</head><body>${body}</body></html>`;
  return { status: 200, type: "text/html; charset=utf-8", body: text, afterMs: 0, ...more };
}

const SITE_PAGES = ["/", "/about", "/prices", "/blog/one", "/blog/two", "/wall"];

/** What the page at an address says. */
export function sandboxPage(url: URL): SandboxPage {
  const { pathname, hostname, origin } = url;
  if (pathname === "/robots.txt") {
    return { status: 200, type: "text/plain", body: "User-agent: *\nDisallow: /private\n", afterMs: 0 };
  }
  if (pathname === "/sitemap.xml") {
    const entries = SITE_PAGES.map((path) => `<url><loc>${origin}${path}</loc></url>`).join("");
    return { status: 200, type: "application/xml", body: `<urlset>${entries}</urlset>`, afterMs: 0 };
  }
  const names = [pathname.split("/")[1] ?? "", hostname.split(".")[0] ?? ""];
  const named = names.find((name) => Object.hasOwn(SANDBOX_PAGES, name));
  const links = SITE_PAGES.map((path) => `<a href="${path}">${path}</a>`).join(" ");
  return (
    SANDBOX_PAGES[named ?? ""]?.page ?? html(`<title>${hostname}${pathname}</title>`, `${article()}<p>${links}</p>`)
  );
}
