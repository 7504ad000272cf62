import { runPage } from '../run-page.js';

runPage('docs/how-to/use-your-models.md');
