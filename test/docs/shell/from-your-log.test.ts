import { runPage } from '../run-page.js';

runPage('docs/tutorials/from-your-log.md');
