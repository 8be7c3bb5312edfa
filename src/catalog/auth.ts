// How our key is shown to a vendor.

/** `none` is for servers that need no key. */
export type Auth =
  | { readonly kind: "header"; readonly name: string; readonly prefix: string }
  /** The parts of a key (`keyParts`), one in each header. */
  | { readonly kind: "headers"; readonly names: readonly string[]; readonly fixed?: Readonly<Record<string, string>> }
  /** The two parts of a key as user and password (RFC 7617). */
  | { readonly kind: "basic" }
  | { readonly kind: "query"; readonly name: string }
  /** A field of the JSON body. */
  | { readonly kind: "body"; readonly field: string }
  | { readonly kind: "none" };

export const bearer: Auth = { kind: "header", name: "authorization", prefix: "Bearer " };
export const noAuth: Auth = { kind: "none" };
export function keyHeader(name: string): Auth {
  return { kind: "header", name, prefix: "" };
}
