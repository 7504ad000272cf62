import { runPage } from '../run-page.js';

runPage('docs/how-to/compare-live-and-simulated.md');
