// Thousands of simulated lives; SIMULATION_SEEDS says how many, SIMULATION_FROM repeats them.
import { simulationSuite } from "../simulation/suite.ts";

simulationSuite({ seeds: 5_000 });
