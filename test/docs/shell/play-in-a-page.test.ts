import { runPage } from '../run-page.js';

runPage('docs/how-to/play-in-a-page.md');
