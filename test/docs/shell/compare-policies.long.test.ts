import { runPage } from '../run-page.js';

runPage('docs/how-to/compare-policies.md');
