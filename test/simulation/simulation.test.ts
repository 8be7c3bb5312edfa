// Hundreds of simulated lives of several gateways over one store, each with failures of its own; other ones are lived among the fault tests.
import { simulationSuite } from "./suite.ts";

simulationSuite({ seeds: 200, first: 1 });
