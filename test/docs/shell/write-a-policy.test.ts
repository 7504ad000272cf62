import { runPage } from '../run-page.js';

runPage('docs/how-to/write-a-policy.md');
