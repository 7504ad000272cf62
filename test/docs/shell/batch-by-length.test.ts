import { runPage } from '../run-page.js';

runPage('docs/how-to/batch-by-length.md');
