import { runPage } from '../run-page.js';

runPage('docs/tutorials/operate-a-cluster.md');
