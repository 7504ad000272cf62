import { runPage } from '../run-page.js';

runPage('docs/how-to/size-a-cluster.md');
