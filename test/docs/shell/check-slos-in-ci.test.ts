import { runPage } from '../run-page.js';

runPage('docs/how-to/check-slos-in-ci.md');
