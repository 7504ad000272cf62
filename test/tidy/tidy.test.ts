// The guard of the house, as one test file: TypeScript is loaded, and all of src and test parsed, only once.
import './check-browser.js';
import './check-budget.js';
import './check-exports.js';
import './check-files.js';
import './check-imports.js';
import './check-outlets.js';
import './check-purity.js';
import './check-tests.js';
import './check-words.js';
import './check-world.js';
