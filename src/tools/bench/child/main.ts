// Entry of the child processes of a benchmark: a server, a worker, or a device by itself.
import { EscapementError } from '../../../base/errors.js';
import type { Answer, Order } from './messages.js';
import { play } from './roles.js';

const tell = (answer: Answer) => process.send?.(answer);
let answer: ((order: Order) => Promise<Answer>) | null = null;

// A terminal sends Ctrl-C to the whole group: the parent ends its children itself.
process.on('SIGINT', () => {});
// The parent has ended.
process.on('disconnect', () => process.exit());
process.on('message', (order: Order) => {
  void handle(order);
});

async function handle(order: Order): Promise<void> {
  try {
    if (order.kind === 'start') {
      const started = await play(order.role);
      answer = started.answer;
      tell({ kind: 'ready', ports: started.ports });
    } else if (answer !== null) tell(await answer(order));
  } catch (error) {
    if (!(error instanceof EscapementError)) throw error;
    tell({ kind: 'failed', code: error.code, message: error.message });
  }
}
