import { runPage } from '../run-page.js';

// Stands in for the download that the page asks for.
runPage('docs/how-to/replay-traces.md', async (run) => {
  await run(
    'mkdir azure && npx escapement trace generate --functions 200 --minutes 1440 --rate 20/s azure/invocations_per_function_md.anon.d01.csv',
  );
});
