import { runPage } from '../run-page.js';

runPage('docs/how-to/watch-a-server.md');
