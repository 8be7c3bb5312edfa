// The certificate of the public listener: its end is a metric, and a reload reads the files again.
import { X509Certificate } from "node:crypto";
import { copyFileSync, mkdirSync, readFileSync } from "node:fs";
import { join } from "node:path";
import { expect, test } from "vitest";
import { makeCertificate } from "../support/certificates.ts";
import { folderForFile, forFile } from "../support/for-file.ts";
import { startTestGateway } from "../support/gateway.ts";

test("its end is a metric, also after a reload, and a reload with the wrong key changes nothing", async () => {
  const folder = folderForFile("tollgate-certificate-");
  const made = async (name: string, ended: boolean) => {
    mkdirSync(join(folder, name));
    return makeCertificate(join(folder, name), { ended });
  };
  const [first, expired] = [await made("first", false), await made("expired", true)];
  const [TLS_CERT, TLS_KEY] = [join(folder, "used.pem"), join(folder, "used.key")];
  const use = (certificate: typeof first, key = certificate) => {
    copyFileSync(certificate.certificateFile, TLS_CERT);
    copyFileSync(key.keyFile, TLS_KEY);
  };
  use(first);
  const gateway = forFile(await startTestGateway({ TLS_CERT, TLS_KEY }));
  const end = async () => {
    const headers = { authorization: `Bearer ${gateway.adminToken}` };
    const text = await (await fetch(`${gateway.adminUrl}/metrics`, { headers })).text();
    return Number(/^tollgate_tls_certificate_end_timestamp_seconds (\S+)$/m.exec(text)?.[1]);
  };
  const endOf = ({ certificateFile }: typeof first) =>
    Date.parse(new X509Certificate(readFileSync(certificateFile)).validTo) / 1_000;
  expect(await end()).toBe(endOf(first));
  use(expired, first);
  await expect(gateway.reload()).rejects.toThrow("TLS_KEY");
  expect(await end()).toBe(endOf(first));
  use(expired);
  await gateway.reload();
  expect(await end()).toBe(endOf(expired));
});
