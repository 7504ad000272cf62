import { runPage } from '../run-page.js';

runPage('docs/how-to/load-any-server.md');
