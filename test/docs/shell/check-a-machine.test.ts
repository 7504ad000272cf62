import { runPage } from '../run-page.js';

runPage('docs/how-to/check-a-machine.md');
