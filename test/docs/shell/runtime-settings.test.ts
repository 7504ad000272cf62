import { runPage } from '../run-page.js';

runPage('docs/reference/runtime-settings.md');
