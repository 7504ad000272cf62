import { runPage } from '../run-page.js';

runPage('docs/how-to/use-several-machines.md');
