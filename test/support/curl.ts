// curl, which commands in the docs call.
import { existsSync } from "node:fs";
import { installed } from "./apt-install.ts";

const PLACES = ["/usr/bin/curl", "/bin/curl", "/usr/local/bin/curl"];

export const needCurl = () => installed(() => PLACES.find((place) => existsSync(place)), "curl", "curl");
