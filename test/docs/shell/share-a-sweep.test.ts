import { runPage } from '../run-page.js';

runPage('docs/how-to/share-a-sweep.md');
