// Simulated lives of several gateways over one store, each with its own failures; the fault tests run thousands more.
import { runs } from "../support/runs.ts";
import { simulationSuite } from "./suite.ts";

simulationSuite({ seeds: runs(60, 200), first: 1 });
