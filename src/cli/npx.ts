/** How often a command under npx checks that npx still runs. */
const CHECK_MS = 250;

/**
 * Ends a command with its npx. npx passes SIGTERM on to a shell in between, and the shell dies of it without notifying the
 * command, which would run on unnoticed: `kill $!` after `npx escapement serve &` would leave the server
 * running. So a command that npx started sends itself SIGTERM when that shell is gone. Commands started in any other way
 * outlive their parents, as daemons must.
 */
export function endWithNpx(environment: Readonly<Record<string, string | undefined>>): void {
  if (!isFromNpx(environment)) return;
  const parent = process.ppid;
  const timer = setInterval(() => {
    if (process.ppid === parent) return;
    clearInterval(timer);
    process.kill(process.pid, 'SIGTERM');
  }, CHECK_MS);
  timer.unref();
}

/** Children inherit the variables of npx, so they must name this very command, not some other one above it. */
function isFromNpx(environment: Readonly<Record<string, string | undefined>>): boolean {
  return (
    environment.npm_lifecycle_event === 'npx' &&
    /^'?escapement'?$/.test(environment.npm_lifecycle_script ?? '')
  );
}
