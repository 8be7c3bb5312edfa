import { modelSuite } from "../model/suite.ts";
import { sqliteStore } from "../store.ts";

modelSuite("sqlite", sqliteStore, 200);
