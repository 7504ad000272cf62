import { runPage } from '../run-page.js';

runPage('README.md');
