import { runPage } from '../run-page.js';

runPage('docs/how-to/mix-gpus.md');
