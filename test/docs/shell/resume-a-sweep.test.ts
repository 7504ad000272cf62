import { runPage } from '../run-page.js';

runPage('docs/how-to/resume-a-sweep.md');
