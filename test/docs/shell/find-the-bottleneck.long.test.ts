import { runPage } from '../run-page.js';

runPage('docs/how-to/find-the-bottleneck.md');
