import { runPage } from '../run-page.js';

runPage('docs/how-to/split-into-cells.md');
