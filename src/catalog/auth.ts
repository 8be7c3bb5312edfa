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
  /**
   * The request is signed by the parts of a key: its id, its secret, and the token of a session where it has one (AWS Signature
   * Version 4). `region` is one of the adapter's settings.
   */
  | { readonly kind: "sigv4"; readonly service: string; readonly region: string }
  /**
   * A bearer token that lives for a while, for the parts of a key: tenant, client id and secret (RFC 6749, 4.4). `origin` is one of the
   * adapter's origins; `{tenant}` in the path is the first part.
   */
  | { readonly kind: "client-credentials"; readonly origin: string; readonly path: string; readonly scope: string }
  /** A bearer token that lives for a while, for what a service account signs (RFC 7523); the key is the JSON of its key file, or that file's path. */
  | { readonly kind: "service-account"; readonly scope: string }
  /**
   * Scripts show tokens that they make (RFC 7519), signed by our private key, the PEM of a key of P-256. `issuer` is one of the adapter's
   * settings; `claims` are those of every token.
   */
  | {
      readonly kind: "jwt";
      readonly algorithm: "ES256";
      readonly issuer: string;
      readonly claims: Readonly<Record<string, string>>;
    }
  | { readonly kind: "none" };

export const bearer: Auth = { kind: "header", name: "authorization", prefix: "Bearer " };
export const noAuth: Auth = { kind: "none" };
export function keyHeader(name: string): Auth {
  return { kind: "header", name, prefix: "" };
}

/** Whether a request is made fit for the vendor by more than the key itself. */
export function isSigned({ kind }: Auth): boolean {
  return kind === "sigv4" || kind === "client-credentials" || kind === "service-account";
}
