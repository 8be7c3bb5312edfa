// Vendors get a caller's file as a link: the caller sends the file's id, never an address.
import type { ActionOffer } from "../../catalog/catalog.ts";
import type { Params } from "../../catalog/said.ts";
import { GatewayError } from "../../core/errors.ts";
import type { Payer } from "../../core/plan.ts";
import { isPublicAddress } from "../../upstream/public-addresses.ts";

/** A link to one of the payer's files, valid for an hour. Throws where there is none. */
export type LinkFile = (payer: Payer, id: string) => Promise<string>;

const NO_ADDRESS =
  "The vendor could not fetch the file: this gateway has no public address. Its operator sets PUBLIC_URL, or keeps files in S3.";

/** Whether the host is unreachable from outside. Does not resolve names. */
function isOurOwn({ hostname }: URL): boolean {
  const host = hostname.replace(/^\[|\]$/g, "");
  const isAddress = /^[\d.]+$|:/.test(host);
  return isAddress ? !isPublicAddress(host) : host === "localhost" || host.endsWith(".localhost");
}

export async function withLinks(
  { spec }: ActionOffer,
  params: Params,
  { payer, linkFile }: { readonly payer: Payer; readonly linkFile: LinkFile },
): Promise<Params> {
  if (spec.files === undefined) return params;
  const linked: Record<string, unknown> = { ...params };
  for (const name of spec.files) {
    const id = params[name];
    if (typeof id !== "string") continue;
    const link = await linkFile(payer, id);
    // The sandbox opens no links.
    if (!payer.sandbox && isOurOwn(new URL(link)))
      throw new GatewayError("upstream_not_configured", { detail: name, data: { reason: NO_ADDRESS } });
    linked[name] = link;
  }
  return linked;
}
