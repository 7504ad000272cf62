import { runPage } from '../run-page.js';

runPage('docs/how-to/scale-automatically.md');
