// Certificates that openssl makes at run time: the tree contains none of their keys.
import { execFile } from "node:child_process";
import { writeFileSync } from "node:fs";
import { join } from "node:path";
import { promisify } from "node:util";

const run = promisify(execFile);

export interface CertificateFiles {
  readonly keyFile: string;
  /** Self-signed, and so its own authority too. */
  readonly certificateFile: string;
}

export interface CertificateOptions {
  /** In OpenSSL's notation; default: this machine. */
  readonly names?: string;
  /** It expired years ago. */
  readonly ended?: boolean;
}

/** Made in `folder`, which is empty. */
export async function makeCertificate(
  folder: string,
  { names = "DNS:localhost,IP:127.0.0.1", ended = false }: CertificateOptions = {},
): Promise<CertificateFiles> {
  const [keyFile, certificateFile] = [join(folder, "key.pem"), join(folder, "certificate.pem")];
  const key = ["-newkey", "ec", "-pkeyopt", "ec_paramgen_curve:prime256v1", "-nodes", "-keyout", keyFile];
  const subject = ["-subj", "/CN=upstream", "-addext", `subjectAltName=${names}`];
  if (!ended) {
    await run("openssl", ["req", "-x509", ...key, "-out", certificateFile, "-days", "2", ...subject]);
    return { keyFile, certificateFile };
  }
  // `openssl req` can only start validity now.
  const [request, configuration] = [join(folder, "request.pem"), join(folder, "ca.conf")];
  const lines = [
    "[ca]\ndefault_ca=own\n[own]\ndatabase=index.txt\nserial=serial\nnew_certs_dir=.\ndefault_md=sha256\npolicy=any",
    `x509_extensions=names\n[any]\ncommonName=supplied\n[names]\nsubjectAltName=${names}\n`,
  ];
  writeFileSync(configuration, lines.join("\n"));
  writeFileSync(join(folder, "index.txt"), "");
  writeFileSync(join(folder, "serial"), "01");
  await run("openssl", ["req", "-new", ...key, "-out", request, ...subject]);
  const times = ["-startdate", "20200101000000Z", "-enddate", "20200102000000Z"];
  const files = ["-config", configuration, "-keyfile", keyFile, "-in", request, "-out", certificateFile];
  await run("openssl", ["ca", "-batch", "-selfsign", "-notext", ...files, ...times], { cwd: folder });
  return { keyFile, certificateFile };
}
