import { runPage } from '../run-page.js';

runPage('docs/tutorials/size-your-server.md');
