// How many pages a document of a caller's has, before anybody is paid by the page for it: fetched as links of requests are, and counted.
import { GatewayError } from "../errors.ts";
import type { FailureKind } from "../failures.ts";
import type { MediaFetcher } from "./fetch-media.ts";
import { pagesOfPdf } from "./pdf-pages.ts";
import { failureOfKind, VendorFailure } from "./vendor-failure.ts";

/** Whose document it is, and where. */
export interface PdfAsked {
  /** The caller's param that names it, and what stands there: its public address. */
  readonly param: string;
  readonly url: string;
  /** More pages than these are the caller's fault. */
  readonly most: number;
  /** Whose links count; null: of no account. */
  readonly account: string | null;
  readonly sandbox: boolean;
  readonly signal: AbortSignal;
}

/** Throws VendorFailure, which tells the caller what is wrong with the document. */
export type CountPdf = (asked: PdfAsked) => Promise<number>;

function failed(told: GatewayError): VendorFailure {
  const kinds: Partial<Record<GatewayError["code"], FailureKind>> = {
    bad_request: "caller_invalid",
    bad_url: "caller_invalid",
    upstream_error: "caller_invalid",
    upstream_busy: "provider_busy",
  };
  const kind = kinds[told.code] ?? "gateway_internal";
  return new VendorFailure({ ...failureOfKind(kind, told.message), told, mayHaveRun: false });
}

export function createCountPdf(fetcher: MediaFetcher): CountPdf {
  async function pagesAt({ url, account, sandbox, signal }: PdfAsked): Promise<number | GatewayError | null> {
    const asked = {};
    try {
      const fetched = await fetcher.fetch([{ url, kind: "file" }], { asked, account, sandbox, signal });
      if (fetched instanceof GatewayError) return fetched;
      const media = fetched.get(url);
      if (media?.mediaType !== "application/pdf") return null;
      return await pagesOfPdf(Buffer.from(media.base64, "base64"), signal);
    } finally {
      // Not before: the bytes are held until they are counted. An account's links count whatever becomes of them, as each costs us that.
      fetcher.release(asked, account, false);
    }
  }

  return async (asked) => {
    const { param, most } = asked;
    const wrong = (detail: string) => failed(new GatewayError("bad_request", { param, detail: { detail } }));
    const pages = await pagesAt(asked);
    if (pages instanceof GatewayError)
      throw failed(pages.code === "bad_url" ? new GatewayError("bad_url", { ...pages.options, param }) : pages);
    if (pages === null)
      throw wrong(`${param}: must be the address of a PDF that says how many pages it has, and is not encrypted`);
    if (pages > most) throw wrong(`${param}: the document has ${pages} pages, and must have at most ${most}`);
    return pages;
  };
}
