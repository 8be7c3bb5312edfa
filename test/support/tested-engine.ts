// The HTTP engine that the gateways of tests run on: `HTTP_ENGINE=node npm run test:clients` runs a lane on node:http.

const { HTTP_ENGINE } = process.env;

/** Settings for a gateway; empty where the environment chooses no engine. */
export const TESTED_ENGINE: Readonly<Record<string, string>> = HTTP_ENGINE === undefined ? {} : { HTTP_ENGINE };
