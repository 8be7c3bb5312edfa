// The TLS certificate of the public listener: read at the start and at each reload, and exported as a metric.
import { readCertificate } from "../edge/http/certificate.ts";
import type { HttpServer } from "../edge/http/server.ts";
import type { Foundation } from "./open-foundation.ts";

export type PublicCertificate = ReturnType<typeof openCertificate>;

/** Throws a sentence for the operator if the files do not make a certificate. */
export function openCertificate({ config, observer }: Foundation) {
  const { tlsCert, tlsKey } = config;
  const read = () => (tlsCert === null || tlsKey === null ? null : readCertificate(tlsCert, tlsKey));
  let current = read();
  observer.onScrape(({ certificateEnd }) => certificateEnd.set((current?.endMs ?? 0) / 1_000));
  return {
    current: () => current,
    /** Reads the files again. On an error the old certificate stays in use. */
    async reload(server: HttpServer | null) {
      const next = read();
      if (next === null) return;
      await server?.setCertificate(next);
      current = next;
    },
  };
}
