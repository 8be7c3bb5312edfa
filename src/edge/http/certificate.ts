// The certificate and key of the public listener, read from files at the start and at every reload.
import { createPrivateKey, X509Certificate } from "node:crypto";
import { readFileSync } from "node:fs";

export interface Certificate {
  readonly certFile: string;
  readonly keyFile: string;
  readonly cert: Buffer;
  readonly key: Buffer;
  readonly endMs: number;
}

/** Throws a sentence for the operator if a file is unreadable or the key does not match the certificate. */
export function readCertificate(certFile: string, keyFile: string): Certificate {
  const [cert, key] = [readFileOf("TLS_CERT", certFile), readFileOf("TLS_KEY", keyFile)];
  const leaf = parsed("TLS_CERT", certFile, () => new X509Certificate(cert));
  const privateKey = parsed("TLS_KEY", keyFile, () => createPrivateKey(key));
  if (!leaf.checkPrivateKey(privateKey)) throw new Error(`TLS_KEY: ${keyFile} is not the key of ${certFile}`);
  return { certFile, keyFile, cert, key, endMs: Date.parse(leaf.validTo) };
}

function readFileOf(setting: string, file: string): Buffer {
  return parsed(setting, file, () => readFileSync(file));
}

function parsed<T>(setting: string, file: string, read: () => T): T {
  try {
    return read();
  } catch (error) {
    throw new Error(`${setting}: ${file} cannot be read: ${(error as Error).message}`);
  }
}
