import { runPage } from '../run-page.js';

runPage('docs/how-to/check-conformance.md');
