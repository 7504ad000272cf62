import { runPage } from '../run-page.js';

runPage('docs/tutorials/rent-gpus.md');
