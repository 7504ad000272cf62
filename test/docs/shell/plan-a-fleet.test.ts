import { runPage } from '../run-page.js';

runPage('docs/tutorials/plan-a-fleet.md');
