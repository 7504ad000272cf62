import type { ClusterStatus } from '../../live/observe/status/cluster-status.js';
import type { ActivityMessage, ServerSetup } from '../../live/observe/ui/live-page.js';

/** Receiver of a server's messages. */
interface Follower {
  /** The first message, and each that all before are void after. */
  began(message: ActivityMessage, setup: ServerSetup, status: ClusterStatus): void;
  rows(message: ActivityMessage): void;
  status(status: ClusterStatus): void;
  /** The server does not answer, and is asked again. */
  lost(problem: string): void;
  /** The token is missing or wrong; following ends. */
  refused(): void;
}

const ROWS_MS = 200;
/** A status costs more than rows do. */
const ROWS_PER_STATUS = 5;
const AGAIN_MS = 1000;

/**
 * Follows the page's server until the returned function is called. The token goes into a header: an address would be
 * kept in histories and logs.
 */
export function follow(token: string, follower: Follower): () => void {
  const stop = new AbortController();
  void keepAsking(token, follower, stop.signal);
  return () => stop.abort();
}

async function keepAsking(token: string, follower: Follower, signal: AbortSignal): Promise<void> {
  const headers: Record<string, string> = token === '' ? {} : { authorization: `Bearer ${token}` };
  const ask = async (path: string) => {
    const answer = await fetch(path, { headers, signal, cache: 'no-store' });
    if (answer.status === 401 || answer.status === 403) throw REFUSED;
    if (!answer.ok) throw new Error((await answer.text()).trim());
    return answer.json();
  };
  let since = '';
  for (let turn = 0; !signal.aborted; turn++) {
    try {
      const rows: ActivityMessage = await ask(`activity${since}`);
      since = `?start=${rows.start}&after=${rows.mark}`;
      if (rows.setup !== undefined) follower.began(rows, rows.setup, await ask('../status'));
      else follower.rows(rows);
      if (rows.setup === undefined && turn % ROWS_PER_STATUS === 0) follower.status(await ask('../status'));
      await pause(ROWS_MS);
    } catch (error) {
      if (signal.aborted) return;
      if (error === REFUSED) return follower.refused();
      since = '';
      follower.lost((error as Error).message);
      await pause(AGAIN_MS);
    }
  }
}

const REFUSED = new Error('the token is refused');

function pause(ms: number): Promise<void> {
  return new Promise((resolve) => setTimeout(resolve, ms));
}
