// Thousands of simulated lives: the same ones in every run, so that only a change can break them, and some new ones.
import { simulationSuite } from "../simulation/suite.ts";

simulationSuite({ seeds: 4_000, first: 46_000_000 });
// SIMULATION_SEEDS says how many, SIMULATION_FROM repeats them.
if (process.env.SIMULATION_FROM === undefined) simulationSuite({ seeds: 800 });
