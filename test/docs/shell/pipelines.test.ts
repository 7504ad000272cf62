import { runPage } from '../run-page.js';

runPage('docs/how-to/pipelines.md');
