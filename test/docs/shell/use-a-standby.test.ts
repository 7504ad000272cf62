import { runPage } from '../run-page.js';

runPage('docs/how-to/use-a-standby.md');
