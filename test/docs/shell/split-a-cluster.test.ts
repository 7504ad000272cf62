import { runPage } from '../run-page.js';

runPage('docs/how-to/split-a-cluster.md');
