import { runs } from "../../../support/runs.ts";
import { modelSuite } from "../model/suite.ts";
import { sqliteStore } from "../store.ts";

modelSuite("sqlite", sqliteStore, runs(60, 200));
