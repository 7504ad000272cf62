import { runPage } from '../run-page.js';

runPage('docs/tutorials/first-simulation.md');
