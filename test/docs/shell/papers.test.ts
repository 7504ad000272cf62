import { runPage } from '../run-page.js';

runPage('docs/validation/papers.md');
