// Thousands of simulated lives: the same ones every time, so that it is a change that breaks them, and some that nobody has lived yet.
import { simulationSuite } from "../simulation/suite.ts";

simulationSuite({ seeds: 4_000, first: 46_000_000 });
// SIMULATION_SEEDS says how many, SIMULATION_FROM repeats them.
if (process.env.SIMULATION_FROM === undefined) simulationSuite({ seeds: 800 });
