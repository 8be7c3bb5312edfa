// Hundreds of simulated lives of several gateways over one store, each with failures of its own.
import { simulationSuite } from "./suite.ts";

simulationSuite({ seeds: 200 });
